"""Which layer is the last one, what follows it, and how its weights start."""

import numpy as np
import pytest
import torch
from torch import nn

import sads
from sads.inspection.last_layer import find_last_layer, scales_at
from sads.inspection.last_layer_moments import (
    LastValues,
    check_moments,
    check_not_copied,
    exact_variance,
    last_layer_variances,
)
from sads.inspection.tracing import NoLastLayer, count_calls, read
from sads.inspection.zero_outputs import redrawing
from sads.networks import ScoreFamily
from sads.networks.adapters import adapt
from sads.networks.initialisation import Normal
from sads.path import Schedule
from tests.networks.zoo import AdaLNZero, Conv, Flat, Gained, Labelled, Preconditioned, Trunk

T = torch.tensor([3, 700])


def look(make, shape=(2, 6, 6), prediction=None):
    networks = [
        adapt(make(), "mine", Schedule(), prediction).eval().requires_grad_(False) for _ in range(2)
    ]
    x = torch.randn(2, *shape, generator=torch.Generator().manual_seed(1))
    return networks, x, find_last_layer(networks, x, T)


FOUND = {
    "plain": (Conv, (2, 6, 6), "network.out.weight"),
    "a later layer without effect": (lambda: Conv("head after"), (2, 6, 6), "network.out.weight"),
    "residual": (lambda: Conv("residual"), (2, 6, 6), "network.out.weight"),
    "one dimension": (lambda: Conv(dims=1), (2, 9), "network.out.weight"),
    "flat": (Flat, (12,), "network.outer.weight"),
    "patches and variances": (lambda: AdaLNZero(zero=False), (1, 8, 8), "network.final.weight"),
    "labels": (Labelled, (2, 6, 6), "network.out.weight"),
    "preconditioned": (Preconditioned, (2, 6, 6), "network.model.out.weight"),
    "normalised weight": (redrawing(Gained, ("out_gain",)), (2, 6, 6), None),
}


@pytest.mark.parametrize("case", FOUND)
@pytest.mark.parametrize("prediction", [None, "v", "x0"])
def test_the_output_is_rebuilt_from_the_last_layer(case, prediction):
    """Eps = a + s_t u[selection], with u recomputed from the call, at fresh inputs."""
    make, shape, name = FOUND[case]
    networks, _, layer = look(make, shape, prediction)
    assert name is None or layer.weight == {name}
    x, t = torch.randn(2, *shape), torch.tensor([10, 400])
    scales = scales_at(networks[1], x, t, layer)
    for i in range(2):
        one, step = x[i : i + 1], t[i : i + 1]
        with torch.no_grad():
            constant, call = read(networks[1], one, step, layer.index)
            u = call.function(call.h, call.weight, call.bias, **call.options).flatten()
            expected = constant + scales[i] * u[layer.selection].view(1, *shape)
            torch.testing.assert_close(
                networks[1](one, step), expected.float(), rtol=1e-4, atol=1e-5
            )


def test_calls_are_counted_and_a_missing_one_is_told():
    x, t = torch.randn(1, 2, 6, 6), torch.tensor([3])
    assert count_calls(Conv(), x, t) == 4
    with pytest.raises(NoLastLayer, match="change from pass to pass"):
        read(Conv(), x, t, 4)


def test_scales_that_vary_with_time_are_noticed():
    assert look(lambda: Conv("scaled"))[2].varies
    assert look(Preconditioned)[2].varies
    assert not look(Conv, prediction="v")[2].varies  # the conversion explains all of it


class Tied(Conv):
    def __init__(self):
        super().__init__(channels=8)
        self.out.weight = self.trunk.mix.weight


class SharedBias(Conv):
    """The bias of the last layer shifts the input too."""

    def forward(self, x, t):
        return super().forward(x + self.out.bias.view(1, -1, 1, 1), t)


class SelfScaled(Conv):
    """What follows the last layer is one number made of its weight."""

    def forward(self, x, t):
        return super().forward(x, t) / self.out.weight.norm()


class Gated(Conv):
    """What follows the last layer depends on parameters."""

    def __init__(self):
        super().__init__()
        self.gate = nn.Parameter(torch.randn(2, 6, 6))

    def forward(self, x, t):
        return self.gate * super().forward(x, t)


class Louder(Conv):
    """What follows the last layer is one number, of the parameters or of the input."""

    def __init__(self, how):
        super().__init__()
        self.gain = nn.Parameter(torch.randn(()).abs() + 0.1)
        self.own = how

    def forward(self, x, t):
        loud = self.gain if self.own == "gain" else x.abs().mean(dim=(1, 2, 3), keepdim=True)
        return loud * super().forward(x, t)


class Bare(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2, 6, 6))

    def forward(self, x, t):
        return self.weight * x


@pytest.mark.parametrize(
    ("make", "shape", "why"),
    [
        (lambda: Conv("tanh"), (2, 6, 6), "not an affine function"),
        (Tied, (8, 6, 6), "trunk.mix.weight of its last layer is used elsewhere"),
        (SharedBias, (2, 6, 6), "out.bias of its last layer is used elsewhere"),
        (SelfScaled, (2, 6, 6), "out.weight of its last layer is used elsewhere"),
        (Gated, (2, 6, 6), "not the same for all networks"),
        (Bare, (2, 6, 6), "calls no linear"),
    ],
)
def test_why_a_last_layer_cannot_be_integrated(make, shape, why):
    with pytest.raises(NoLastLayer, match=why):
        look(make, shape)


def test_a_map_that_mixes_entries_is_no_selection():
    assert look(lambda: Conv("smooth"))[2].selection is None


@pytest.mark.parametrize("how", ["gain", "input"])
def test_a_number_of_parameters_or_input_is_a_scale_that_is_not_steady(how):
    layer = look(lambda: Louder(how))[2]
    assert not layer.steady
    assert layer.selection is not None


def test_factors_for_each_entry_are_found():
    class Layered(Conv):
        def forward(self, x, t):
            return torch.tensor([1.0, -3.0]).view(2, 1, 1) * super().forward(x, t)

    layer = look(Layered)[2]
    expected = torch.tensor([1.0, -3.0]).repeat_interleave(36) / 5**0.5
    torch.testing.assert_close(layer.gains, expected, rtol=1e-4, atol=0)
    assert layer.steady


def test_a_computed_weight_is_traced_to_its_parameters():
    assert look(redrawing(Gained, ("out_gain",)))[2].weight == {
        "network.out_conv.weight",
        "network.out_gain",
    }


class Late(nn.Module):
    """EDM's convolution: parameters are cast to the input, the bias is added afterwards."""

    def __init__(self, shared=False):
        super().__init__()
        self.trunk = Trunk(2)
        self.weight = nn.Parameter(torch.randn(2, 8, 3, 3, dtype=torch.float64))
        self.bias = nn.Parameter(torch.randn(2, dtype=torch.float64))
        self.shared = shared

    def forward(self, x, t):
        if self.shared:
            x = x + self.bias.view(1, -1, 1, 1).to(x)
        u = nn.functional.conv2d(self.trunk(x, t), self.weight.to(x.dtype), padding=1)
        return u.add_(self.bias.to(x.dtype).reshape(1, -1, 1, 1))


def test_a_bias_that_is_added_afterwards_belongs_to_the_layer():
    networks, x, layer = look(Late)
    assert (layer.weight, layer.late_bias) == ({"network.weight"}, "network.bias")
    values = [LastValues.of(n, layer, x[:1], T[:1]) for n in networks]
    for network, own in zip(networks, values, strict=True):
        torch.testing.assert_close(own.bias, network.network.bias)
    known = {"network.weight": Normal(2.0)}
    weights = [own.weight for own in values]
    assert exact_variance(networks, weights, layer.weight, known) == pytest.approx(4, rel=1e-5)


def test_a_later_bias_that_acts_elsewhere_is_a_constant_part():
    assert look(lambda: Late(shared=True))[2].late_bias is None


DRAWS = {
    "default": lambda w: nn.init.kaiming_uniform_(w, a=5**0.5),
    "xavier": nn.init.xavier_uniform_,
    "normal": lambda w: nn.init.normal_(w, std=0.02),
    "truncated": lambda w: nn.init.trunc_normal_(w, std=0.02),
    "orthogonal": nn.init.orthogonal_,
}


@pytest.mark.parametrize("name", DRAWS)
def test_usual_initialisations_pass(name):
    for seed in range(20):
        torch.manual_seed(seed)
        check_moments(torch.stack([DRAWS[name](torch.empty(4, 16, 3, 3)) for _ in range(4)]), "w")


BAD = {
    "a positive mean": lambda w: w.uniform_(0, 1),
    "a fixed pattern": lambda w: nn.init.dirac_(w) + 0.1 * torch.randn_like(w),
    "one kernel for all positions": lambda w: torch.randn(4, 16, 1, 1).expand(4, 16, 3, 3),
    "mirrored kernels": lambda w: _mirror(w),
    "equal rows": lambda w: torch.randn(1, 16, 3, 3).expand(4, 16, 3, 3),
    "a louder channel": lambda w: torch.randn_like(w) * torch.ones(4, 1, 1, 1).cumsum(0),
    "a louder centre": lambda w: torch.randn_like(w) * (1 + 2 * _centre()),
}


def _mirror(w):
    half = torch.randn_like(w)
    return half + half.flip(3)


def _centre():
    centre = torch.zeros(3, 3)
    centre[1, 1] = 1
    return centre


@pytest.mark.parametrize("name", BAD)
def test_unusual_initialisations_are_noticed(name):
    torch.manual_seed(0)
    values = torch.stack([BAD[name](torch.zeros(4, 16, 3, 3)) for _ in range(8)])
    with pytest.raises(NoLastLayer):
        check_moments(values, "weights")


def last_values(make, count: int, bias=None) -> list[LastValues]:
    x, t = torch.randn(1, 2, 6, 6), torch.tensor([3])
    calls = [read(make(), x, t, 3)[1] for _ in range(count)]
    return [
        LastValues(c.weight.detach(), c.bias.detach() if bias is None else bias()) for c in calls
    ]


def test_a_variance_is_exact_or_each_network_s_own():
    torch.manual_seed(0)
    values = last_values(Conv, 120)
    exact = 1 / (3 * 72)
    assert last_layer_variances(values, exact, exact).weight == exact
    unknown = last_layer_variances(values, None, None)
    assert (unknown.weight, unknown.bias) == (None, None)
    wrong = last_layer_variances(values, 1.5 * exact, exact)  # contradicted by the values
    assert (wrong.weight, wrong.bias) == (None, exact)


def test_each_network_may_have_its_own_scale():
    torch.manual_seed(0)

    def scaled():
        network = Conv()
        with torch.no_grad():
            network.out.weight *= 10 ** (4 * torch.rand(()) - 2)
        return network

    assert last_layer_variances(last_values(scaled, 40), None, 1 / (3 * 72)).weight is None


def test_biases_with_a_mean_are_noticed():
    with pytest.raises(NoLastLayer, match=r"biases .* zero-mean"):
        last_layer_variances(last_values(Conv, 200, lambda: torch.rand(2)), None, None)


def test_too_few_biases_are_not_measured():
    with pytest.raises(NoLastLayer, match="too few"):
        last_layer_variances(last_values(Conv, 4), None, None)


def test_a_copied_weight_is_noticed():
    network = Conv(channels=8)
    check_not_copied(network, network.out.weight, frozenset({"out.weight"}))
    with torch.no_grad():
        network.trunk.mix.weight.copy_(network.out.weight)
    with pytest.raises(NoLastLayer, match=r"repeats that of trunk.mix.weight"):
        check_not_copied(network, network.out.weight, frozenset({"out.weight"}))


class Complex(nn.Module):
    """A complex network, whose output's real part is the noise."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 6, dtype=torch.complex64)
        self.last = nn.Linear(6, 4, dtype=torch.complex64)

    def forward(self, x, t):
        h = self.first(x.flatten(1).to(torch.complex64))
        return self.last(h * torch.sigmoid(h.real)).view(x.shape)


@torch.no_grad()
def test_complex_last_layers_are_sampled():
    """Re(W h) is not Re(W) Re(h): with half of the features the trace was 0.7 of the truth."""
    family = ScoreFamily(Complex, (1, 2, 2))
    geometry = sads.estimate_geometry(family, networks=1200, probe="gaussian:1")
    assert geometry.plan.note == "its last layer is complex"
    x, t = torch.randn(256, 1, 2, 2, generator=torch.Generator().manual_seed(0)), torch.zeros(256)
    outputs = [family.member(seed)(x, t.long()) for seed in range(600)]
    squares = np.array([float(one.square().sum()) / len(x) for one in outputs])
    weight = float(np.mean(1 / (1 - Schedule().abar)))
    assert abs(geometry.trace / (weight * squares.mean()) - 1) < 0.1  # five standard errors
