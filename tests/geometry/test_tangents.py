"""The tangent kernel against closed forms, Jacobians written out, and the geometry of outputs."""

import numpy as np
import pytest
import torch
from scipy.stats import t as student
from torch import nn

from sads.comparison import compare
from sads.directions import FOLDS
from sads.errors import InputError, NetworkError
from sads.geometry import Gaussian, Point, estimate_geometry, load_geometry
from sads.inspection.readout import readout_of
from sads.inspection.tangents import PRODUCTS
from sads.networks import CNN, ScoreFamily

from .families import FAMILIES, SHORT
from .test_agreement import forms

WIDTH, SIZE = 24, 6
PHI = np.random.default_rng(2).standard_normal((SIZE, SIZE)) * np.arange(1, SIZE + 1)
X = np.random.default_rng(3).standard_normal(SIZE)
FIRST, LAST = 0.7, 1.3  # standard deviations


class TwoLayers(nn.Module):
    """eps = Phi V relu(U x)."""

    def __init__(self, *, zero: bool = False):
        super().__init__()
        self.u = nn.Parameter(FIRST * torch.randn(WIDTH, SIZE))
        self.v = nn.Parameter((0.0 if zero else LAST) * torch.randn(SIZE, WIDTH))
        self.register_buffer("phi", torch.from_numpy(PHI).float())

    def forward(self, x, t):
        return torch.relu(x @ self.u.T) @ self.v.T @ self.phi.T


def family(make=TwoLayers) -> ScoreFamily:
    return ScoreFamily(make, (SIZE,), SHORT, "two layers")


def kernel(last: float = LAST) -> np.ndarray:
    """K = E[w_t] Phi (|relu(U x)|^2 I + |x|^2 V diag(U x > 0) V^T) Phi^T, averaged.

    U x has independent entries of variance FIRST^2 |x|^2, and half of them are positive.
    """
    scale = WIDTH / 2 * float(X @ X) * (FIRST**2 + last**2)
    return SHORT.score_weights.mean() * scale * PHI @ PHI.T


def deviation(found, truth: np.ndarray) -> float:
    """The largest deviation of a quadratic form over its limit; below one with high confidence."""
    vectors = np.linalg.eigh(truth)[1]
    expected = np.einsum("ij,ik,kj->j", vectors, truth, vectors)
    values, errors = forms(found, vectors)
    return float(np.max(np.abs(values - expected) / errors)) / student.ppf(1 - 1e-5, FOLDS - 1)


def estimate(of: ScoreFamily, **options):
    return estimate_geometry(of, of="tangent", **{"probe": Point(X), "networks": 960} | options)


@pytest.mark.parametrize("drawn", [True, False])
def test_two_layers_have_their_closed_form(drawn):
    if drawn:
        geometry = estimate(family())
    else:  # a factory whose distributions cannot be seen
        hidden = family(lambda: _changed(TwoLayers()))
        geometry = estimate(hidden, networks=480)
    assert geometry.plan.drawn == drawn
    assert geometry.plan.readout.rank == min(PRODUCTS, SIZE)
    assert deviation(geometry, kernel()) < 1
    assert deviation(geometry, 1.3 * kernel()) > 1


def _changed(network: TwoLayers) -> TwoLayers:
    with torch.no_grad():
        network.u.copy_(torch.flip(network.u, (0,)))
        network.v.copy_(torch.flip(network.v, (0,)))
    return network


def test_networks_that_output_zero_have_a_tangent_kernel():
    """G is zero where the last layer is; its own block of K is not."""
    silent = family(lambda: TwoLayers(zero=True))
    geometry = estimate(silent)
    assert geometry.plan.redrawn == ()
    assert deviation(geometry, kernel(last=0.0)) < 1


def test_parameters_that_training_does_not_move_do_not_count():
    def frozen():
        network = TwoLayers()
        network.u.requires_grad_(False)
        return network

    truth = kernel() * FIRST**2 / (FIRST**2 + LAST**2)
    assert deviation(estimate(family(frozen)), truth) < 1


@pytest.mark.parametrize("name", ["cnn", "unet", "dit"])
def test_the_estimate_is_the_mean_of_jacobians_written_out(name):
    """Against J J^T of 240 networks of other seeds, by reverse-mode Jacobians."""
    networks, x = FAMILIES[name], Gaussian(1.0)
    geometry = estimate(networks, probe=x, weighting="noise", timesteps=(7, 8))
    rng = np.random.default_rng(0)
    each = []
    for seed in range(240):
        member = networks.member(seed).eval()
        at = x.draw(np.array([7]), networks.shape, SHORT, rng), torch.tensor([7])
        jacobian = torch.func.jacrev(
            lambda p, member=member, at=at: torch.func.functional_call(member, p, at).flatten()
        )(dict(member.named_parameters()))
        flat = torch.cat([j.detach().flatten(1) for j in jacobian.values()], dim=1).double()
        each.append((flat @ flat.T).numpy())
    truth = np.mean(each, axis=0)
    vectors = np.linalg.eigh(truth)[1]
    ours, our_errors = forms(geometry, vectors)
    theirs = np.einsum("ij,nik,kj->nj", vectors, np.stack(each), vectors)
    errors = np.hypot(our_errors, theirs.std(0, ddof=1) / np.sqrt(len(each)))
    assert np.max(np.abs(ours - theirs.mean(0)) / errors) < student.ppf(1 - 1e-5, FOLDS - 1)


@pytest.mark.parametrize("name", ["cnn", "unet", "unet-rgb", "unet-1d", "dit", "vit", "mlp", "ssm"])
def test_the_integrated_last_layer_is_its_weighted_block_of_the_tangent_kernel(name):
    """E[eps eps^T | h] = J_L diag(s^2) J_L^T at the same input, s^2 the initial variances."""
    network = FAMILIES[name].member(4).eval().double().requires_grad_(False)
    x = torch.randn(1, *network.shape, generator=torch.Generator().manual_seed(1)).double()
    t = torch.tensor([7])
    head = {n: p.detach() for n, p in network.named_parameters() if n.startswith("head.")}
    jacobian = torch.func.jacrev(
        lambda p: torch.func.functional_call(network, p, (x, t)).flatten()
    )(head)
    known = network.distributions()
    block = sum(
        known[n].variance * j.flatten(1) @ j.flatten(1).T for n, j in jacobian.items()
    ).numpy()
    readout = readout_of(network)
    with torch.no_grad():
        factor = readout.factor(readout.moment(network.features(x, t)).numpy())
    np.testing.assert_allclose(readout.structure.expand(factor), block, atol=1e-9 * block.max())


def test_it_is_stored_continued_and_told_apart(tmp_path):
    networks = FAMILIES["cnn"]
    options = {"probe": Gaussian(1.0), "seed": 1}
    first = estimate(networks, networks=120, out=tmp_path, **options)
    assert load_geometry(tmp_path).plan == first.plan
    assert first.plan.of == "tangent"
    more = estimate(networks, networks=240, out=tmp_path, **options)
    whole = estimate(networks, networks=240, **options)
    np.testing.assert_array_equal(more.state.counts, whole.state.counts)
    outputs = estimate_geometry(networks, networks=240, **options)
    assert '"of"' not in outputs.plan.model_dump_json()
    with pytest.raises(InputError, match="geometry of tangent and the second one of outputs"):
        compare(more, outputs)
    other = estimate(networks, networks=240, probe=Gaussian(1.0), seed=2)
    assert not compare(more, other).different
    wider = ScoreFamily(lambda: CNN((2, 4, 4), width=16, depth=2), (2, 4, 4), SHORT, "wider")
    assert compare(more, estimate(wider, networks=240, probe=Gaussian(1.0))).different


def test_what_has_no_tangent_kernel_is_refused():
    with pytest.raises(NetworkError, match="tangent kernel there is zero: choose another probe"):
        estimate(family(), probe=Point(np.zeros(SIZE)))
    with pytest.raises(NetworkError, match="no parameters that need gradients"):
        estimate(family(lambda: TwoLayers().requires_grad_(False)))
    with pytest.raises(InputError, match="unknown estimator 'naive' of tangent"):
        estimate(family(), estimator="naive")
