"""Zero-cost scores against what can be computed by hand."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn

from sads.errors import NetworkError
from sads.networks import CNN, Linear, ScoreFamily, UNet
from sads.networks.isolation import seeded
from sads.ranking.zero_cost import (
    FLOOR,
    INPUTS,
    input_jacobians,
    jacobian_covariance,
    synflow,
    zero_cost_scores,
)


class Deep(nn.Module):
    """Linear layers in a row, with or without biases and norms in between."""

    def __init__(self, *widths: int, bias: bool = False, normed: bool = False):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Linear(a, b, bias=bias) for a, b in itertools.pairwise(widths)
        )
        self.norm = nn.LayerNorm(widths[1]) if normed else nn.Identity()

    def forward(self, x, t):
        h = x.flatten(1)
        for layer in self.layers:
            h = self.norm(layer(h)) if layer is self.layers[0] else layer(h)
        return h.view(x.shape)


def test_synflow_of_a_linear_network_is_its_total_flow():
    network = seeded(lambda: Linear((6,), rotation=3), 1, "test").double()
    phi, theta = network.phi.numpy(), network.get_parameter("head.weight").detach().numpy()
    by_hand = np.ones(6) @ phi @ np.abs(theta) @ np.ones(6)
    assert synflow(network, (6,)) == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize("normed", [False, True])
def test_synflow_counts_the_flow_once_for_each_layer_and_ignores_norms(normed):
    network = seeded(lambda: Deep(6, 5, 4, 6, normed=normed), 2, "test").double()
    a, b, c = (layer.weight.detach().abs().numpy() for layer in network.layers)
    by_hand = 3 * float(np.ones(6) @ c @ b @ a @ np.ones(6))
    assert synflow(network, (6,)) == pytest.approx(by_hand, rel=1e-12)
    assert all(not m._forward_hooks for m in network.modules())


def test_synflow_with_biases():
    network = seeded(lambda: Deep(4, 3, 4, bias=True), 3, "test").double()
    (a, p), (b, q) = (
        (m.weight.detach().abs().numpy(), m.bias.detach().abs().numpy()) for m in network.layers
    )
    ones = np.ones(4)
    hidden = a @ ones + p
    # Weight and bias of the first layer carry the same hidden flow, the last layer all of it.
    by_hand = ones @ b @ hidden + ones @ (b @ hidden + q)
    assert synflow(network, (4,)) == pytest.approx(float(by_hand), rel=1e-12)


def test_synflow_of_a_deep_network_does_not_overflow():
    network = seeded(lambda: Deep(*[400] * 80), 0, "test").double()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(200)  # 80 layers of a gain above 1000: beyond float32
    score = synflow(network, (400,))
    assert 1e40 < score < math.inf


def test_jacobians_of_a_linear_network_are_all_the_same():
    network = seeded(lambda: Linear((6,), rotation=3), 1, "test").double()
    x = torch.randn(9, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    jacobians = input_jacobians(network, x, torch.zeros(9, dtype=torch.int64))
    theta = network.get_parameter("head.weight").detach().numpy()
    np.testing.assert_allclose(jacobians, np.tile(np.ones(6) @ network.phi.numpy() @ theta, (9, 1)))
    # Perfectly correlated rows: one eigenvalue 9, eight of zero.
    by_hand = -(math.log(9 + FLOOR) + 1 / (9 + FLOOR)) - 8 * (math.log(FLOOR) + 1 / FLOOR)
    assert jacobian_covariance(jacobians) == pytest.approx(by_hand, rel=1e-6)


def test_jacobians_agree_with_finite_differences():
    network = seeded(lambda: CNN((1, 4, 4), width=8, depth=2), 0, "test").double()
    rng = np.random.default_rng(0)
    x, t = torch.from_numpy(rng.standard_normal((3, 1, 4, 4))), torch.tensor([0, 5, 900])
    jacobians = input_jacobians(network, x, t)
    step = 1e-6
    for i, j in ((0, 3), (1, 10), (2, 15)):
        shift = torch.zeros_like(x).view(3, 16)
        shift[i, j] = step
        up, down = (network(x + s * shift.view(x.shape), t).sum().item() for s in (1, -1))
        assert jacobians[i, j] == pytest.approx((up - down) / (2 * step), rel=1e-5)


def test_uncorrelated_jacobians_score_highest():
    orthogonal = np.kron(np.eye(4), [1.0, -1.0])
    by_hand = -4 * (math.log(1 + FLOOR) + 1 / (1 + FLOOR))
    assert jacobian_covariance(orthogonal) == pytest.approx(by_hand)
    mixed = orthogonal + 0.5 * orthogonal.sum(axis=0)
    assert jacobian_covariance(mixed) < by_hand
    values = np.linalg.eigvalsh(np.corrcoef(mixed))
    brute = -sum(math.log(v + FLOOR) + 1 / (v + FLOOR) for v in values)
    assert jacobian_covariance(mixed) == pytest.approx(brute)


def test_constant_jacobians_have_no_score():
    assert jacobian_covariance(np.ones((3, 5))) is None


def test_all_baselines_of_a_family():
    shape = (1, 8, 8)
    fields = {"channels": 8, "groups": 4, "mults": (1, 1)}
    family = ScoreFamily(lambda: UNet(shape, **fields), shape, name="unet")
    data = np.random.default_rng(0).uniform(-1, 1, (40, *shape)).astype(np.float32)
    state = torch.random.get_rng_state()
    scores = zero_cost_scores(family, data)
    assert torch.equal(state, torch.random.get_rng_state())
    assert scores.parameters == sum(p.numel() for p in UNet(shape, **fields).parameters())
    assert scores.synflow is not None
    assert scores.jacobian is not None
    assert scores.jacobian < -INPUTS * 0.99  # the maximum, for uncorrelated Jacobians
    assert scores == zero_cost_scores(family, data)
    assert scores != zero_cost_scores(family, data, seed=1)


def test_networks_without_gradients_are_refused():
    class Frozen(Deep):
        def forward(self, x, t):
            return super().forward(x, t).detach()

    family = ScoreFamily(lambda: Frozen(4, 4), (4,), name="frozen")
    with pytest.raises(NetworkError, match="frozen cannot be differentiated"):
        zero_cost_scores(family, np.ones((2, 4), dtype=np.float32))


def test_a_network_that_ignores_its_input_has_no_jacobian():
    class Blind(nn.Module):
        def __init__(self):
            super().__init__()
            self.bias = nn.Parameter(-torch.ones(4))

        def forward(self, x, t):
            return 0 * x + self.bias

    scores = zero_cost_scores(
        ScoreFamily(Blind, (4,), name="blind"), np.ones((2, 4), dtype=np.float32)
    )
    assert scores.parameters == 4
    assert scores.jacobian is None
    assert scores.synflow == pytest.approx(math.log(4))
