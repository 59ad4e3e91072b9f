"""Outputs at other timesteps without the trunk are those of whole passes, or whole passes."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import sads
from sads.geometry import planned_geometry
from sads.inspection.tracing import NoLastLayer, in_place_of, outputs_over_time, read
from sads.probes import Gaussian

from .test_trunk_replay import KINDS, Counted, Counting, Deep, Ticking, made

X = torch.linspace(-1, 1, 16).view(1, 1, 4, 4)
TIMES = [torch.tensor([t]) for t in (3, 500, 900)]
LAST = 2  # the number of the last convolution


class Preconditioned(Deep):
    """What follows the last layer needs the input and the time, nothing of the trunk."""

    def forward(self, x, t):
        sigma = (t.to(x.dtype) / 1000).view(-1, 1, 1, 1)
        inner = self.last(self.trunk(x / (1 + sigma**2).sqrt()))
        return 0.25 / (sigma**2 + 0.25) * x + sigma * inner


class LateBias(Preconditioned):
    """Every convolution adds its bias in place."""

    def trunk(self, x):
        h = F.conv2d(x, self.first.weight, padding=1)
        h = h.add_(self.first.get_parameter("bias").view(-1, 1, 1))
        h += 1.0
        h[:, :2] = 0.5
        return self.middle(F.silu(h, inplace=True))


class Asking(Preconditioned):
    """Decides with Python by the values of the time."""

    def forward(self, x, t):
        half = 0.5 if t.item() > 400 else 2.0
        return half * super().forward(x, t)


class Leaping(Deep):
    """Has no last layer at late times."""

    def forward(self, x, t):
        return super().forward(x, t) if t.item() < 700 else 0.1 * x


class Skipping(Deep):
    """Adds an early result behind the last layer."""

    def forward(self, x, t):
        early = self.first(x * t.view(-1, 1, 1, 1))
        return self.last(self.middle(early)) + early.mean(1, keepdim=True)


class Aliased(Deep):
    """Writes through a view into what is used behind the last layer."""

    def forward(self, x, t):
        kept = x * 2.0
        kept[:, :, 0].view(-1).add_(self.first(x).mean() * t[0])
        return self.last(self.trunk(x)) + kept


class Replaced(Deep):
    """Writes into the input's copy, and reads the copy behind the last layer."""

    def forward(self, x, t):
        copy = x.clone()
        copy.mul_(t.view(-1, 1, 1, 1))
        same = copy.to(x.dtype)  # no new tensor
        return self.last(self.trunk(x)) + same


class Table(Deep):
    """Looks its scale up in a list of Python numbers."""

    def forward(self, x, t):
        scale = torch.tensor([0.1 * float(one) for one in t.tolist()])
        return self.last(self.trunk(x)) * scale.view(-1, 1, 1, 1)


class Sigma(nn.Module):
    """EDM's wrapper; the argument's name says that it takes the noise level."""

    def __init__(self):
        super().__init__()
        self.inner = Deep()

    def forward(self, x, sigma):
        sigma = sigma.to(x.dtype).view(-1, 1, 1, 1)
        total = sigma**2 + 0.25
        inner = self.inner.last(self.inner.trunk(x / total.sqrt()))
        return 0.25 / total * x + sigma * 0.5 / total.sqrt() * inner


SHORT = [Preconditioned, LateBias, Asking, Replaced, Table, Deep]  # computed without the trunk
UNLIKE = (Deep, Ticking, Counted)  # Deep is among the others; two answer otherwise in each pass
OTHERS = [Skipping, Aliased, *(kind for kind in KINDS if kind not in UNLIKE)]


def outputs(kind: type[nn.Module]) -> list[torch.Tensor]:
    network, u = made(kind), in_place_of(torch.arange(16.0))
    torch.manual_seed(0)
    output = outputs_over_time(network, X, LAST, TIMES[:2])
    torch.manual_seed(0)
    return [output(t, put) for t in TIMES for put in (torch.zeros_like, u)]


def whole(kind: type[nn.Module]) -> list[torch.Tensor]:
    network, u = made(kind), in_place_of(torch.arange(16.0))
    torch.manual_seed(0)
    return [read(network, X, t, LAST, put)[0] for t in TIMES for put in (torch.zeros_like, u)]


@pytest.mark.parametrize("kind", [*SHORT, *OTHERS])
def test_outputs_are_those_of_whole_passes_to_the_bit(kind):
    for a, b in zip(outputs(kind), whole(kind), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("kind", SHORT)
def test_the_trunk_is_not_computed(kind):
    network = made(kind)
    output = outputs_over_time(network, X, LAST, TIMES[:2])
    with Counting() as computed:
        output(TIMES[2], torch.zeros_like)
    assert computed.count == 1  # the call itself, of zeros


def test_passes_that_end_before_the_call_are_made_in_full():
    output = outputs_over_time(made(Leaping), X, LAST, TIMES[:2])
    with pytest.raises(NoLastLayer, match="change from pass to pass"):
        output(TIMES[2], torch.zeros_like)


def test_early_results_that_are_used_again_are_computed():
    output = outputs_over_time(made(Skipping), X, LAST, TIMES[:2])
    with Counting() as computed:
        output(TIMES[2], torch.zeros_like)
    assert computed.count == 2


def test_preconditioned_networks_are_read_at_every_timestep_in_few_passes(monkeypatch):
    """EDM's wrapper scales by the noise level, so its scale is measured at all 1,000 of them."""
    for module in ("last_layer", "after_last_layer", "members"):
        monkeypatch.setattr(f"sads.inspection.{module}.LARGEST_SMALL", 0)

    family = sads.network(Sigma, shape=(1, 4, 4), schedule="edm")
    with Counting() as computed:
        planned_geometry(family, networks=24, probe=Gaussian(1.0))
    # The last convolution twice at each timestep, on zeros; all three would make 6,000.
    assert 2_000 < computed.count < 2_400


def test_what_edm_adds_is_known_as_a_multiple_of_its_input_though_terms_nearly_cancel():
    """At sigma = 0.002 the noise is (x - skip x) / sigma, which float32 knows to three digits."""
    family = sads.network(Sigma, shape=(1, 4, 4), schedule="edm")
    geometry = sads.estimate_geometry(family, networks=24, probe="gaussian:1")
    assert geometry.plan.readout.floor > 0
    assert not geometry.plan.readout.constant
