"""Passes with a recorded trunk give what whole passes give, or are whole passes."""

import gc
import weakref
from contextlib import nullcontext

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import sads
from sads.geometry import planned_geometry
from sads.inspection.tracing import count_calls, in_place_of, read
from sads.inspection.trunk_replay import trunks_kept
from sads.networks import ScoreFamily

X = torch.linspace(-1, 1, 32).view(2, 1, 4, 4)
T = torch.tensor([3, 700])


class Counting(TorchDispatchMode):
    """Counts the convolutions that are computed."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += "convolution" in str(func)
        return func(*args, **(kwargs or {}))


class Deep(nn.Module):
    """A trunk of several convolutions, a skip connection past the last one, a factor behind it."""

    def __init__(self, width: int = 8):
        super().__init__()
        self.first = nn.Conv2d(1, width, 3, padding=1)
        self.middle = nn.Conv2d(width, width, 3, padding=1)
        self.last = nn.Conv2d(width, 1, 3, padding=1)
        self.register_buffer("gain", torch.tensor(0.5))

    def trunk(self, x):
        return self.middle(F.silu(self.first(x)))

    def forward(self, x, t):
        h = self.trunk(x)
        return self.gain * self.last(h) + 0.1 * x


class Noisy(Deep):
    """Draws in every pass."""

    def trunk(self, x):
        return super().trunk(x + 0.1 * torch.randn(x.shape))


class Writing(Deep):
    """Writes into the features behind the last layer."""

    def forward(self, x, t):
        h = self.trunk(x)
        u = self.last(h)
        h += 1.0
        return u + h.mean(1, keepdim=True)


class Counted(Deep):
    """Counts its passes in a buffer, and answers with the count."""

    def __init__(self):
        super().__init__()
        self.register_buffer("passes", torch.zeros(()))

    def forward(self, x, t):
        self.passes += 1
        return super().forward(x, t) + self.passes


class Ticking(Deep):
    """Calls other functions in every other pass."""

    def __init__(self):
        super().__init__()
        self.passes = 0

    def forward(self, x, t):
        self.passes += 1
        h = self.trunk(x)
        for _ in range(self.passes % 2):
            h = h * 2
        return self.last(h)


class _Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + x

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class Custom(Deep):
    """Has a function of its own in the trunk, whose result is used behind the last layer."""

    def forward(self, x, t):
        h = self.trunk(x)
        seen = _Doubled.apply(h)
        return self.last(h) + seen.mean(1, keepdim=True)


class Hidden(Deep):
    """Computes something unseen that is used behind the last layer."""

    def forward(self, x, t):
        h = self.trunk(x)
        with torch._C.DisableTorchFunction():
            seen = h + h
        return self.last(h) + seen.mean(1, keepdim=True)


class Split(Deep):
    """Passes tuples and lists on."""

    def forward(self, x, t):
        a, b = self.trunk(x).chunk(2, dim=1)
        values, _ = torch.cat([a, b], dim=1).sort(dim=1)
        return self.last(values) * a.shape[1]


KINDS = [Deep, Noisy, Writing, Counted, Ticking, Custom, Hidden, Split]
REUSED = [Deep, Custom, Split]  # the others cannot be, or not for certain


def passes(network: nn.Module, index: int) -> list[torch.Tensor]:
    """Outputs of several passes, with different values at the call and inputs."""
    torch.manual_seed(0)
    outputs = []
    for at in (slice(0, 1), slice(1, 2), slice(0, 1)):
        x, t = X[at].clone(), T[at]
        u = torch.arange(16.0)
        outputs += [read(network, x, t, index)[0], read(network, x, t, index, in_place_of(u))[0]]
        outputs += [read(network, x, t, index, torch.ones_like)[1].h]
    return outputs


def made(kind: type[nn.Module]) -> nn.Module:
    torch.manual_seed(1)
    return kind().eval().requires_grad_(False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("index", [1, 2])
def test_passes_are_the_same_bits_with_recorded_trunks(kind, index):
    if index == 1:  # the values have the size of the last layer's output
        whole = [read(made(kind), X[:1], T[:1], index)[0]]
        with trunks_kept():
            assert torch.equal(read(made(kind), X[:1], T[:1], index)[0], whole[0])
        return
    whole = passes(made(kind), index)
    with trunks_kept():
        recorded = passes(made(kind), index)
    for a, b in zip(recorded, whole, strict=True):
        # A pass that turns out to be another one is made again, as the next one.
        expected = (b, b * 2, b / 2) if kind is Ticking else (b,)
        assert any(torch.equal(a, one) for one in expected)


@pytest.mark.parametrize("kind", KINDS)
def test_trunks_are_computed_once_where_that_is_certain(kind):
    network = made(kind)
    with trunks_kept(), Counting() as computed:
        passes(network, 2)
    # Two inputs with three convolutions each; the other seven passes have the last one only.
    assert (computed.count == 2 * 3 + 7) == (kind in REUSED)


def test_counting_the_calls_records_the_trunk_of_the_last():
    network = made(Deep)
    with trunks_kept(), Counting() as computed:
        assert count_calls(network, X[:1], T[:1]) == 3
        read(network, X[:1], T[:1], 2)
    assert computed.count == 3 + 1


def test_changed_parameters_make_a_new_trunk():
    network = made(Deep)
    with trunks_kept():
        before = read(network, X[:1], T[:1], 2, torch.ones_like)[1].h.clone()
        with torch.no_grad():
            network.first.weight *= 2
        after = read(network, X[:1], T[:1], 2, torch.ones_like)[1].h
    assert torch.equal(after, read(network, X[:1], T[:1], 2)[1].h)
    assert not torch.equal(after, before)


def test_trunks_hold_no_more_than_the_pass_did():
    """Activations that are gone when the last layer is called are not kept."""
    network = made(lambda: Deep(512))
    with trunks_kept() as kept:
        read(network, X[:1], T[:1], 2)
        (trunk,) = kept._kept.values()
        large = [r for r in trunk.results if isinstance(r, torch.Tensor) and r.numel() > 4096]
        stored = {r.untyped_storage().data_ptr(): r.untyped_storage().nbytes() for r in large}
    assert len(large) == 3  # of two convolutions and an activation
    assert sum(stored.values()) <= 512 * 16 * 4 + 2 * 4  # one of them, and two numbers


class Normalised(nn.Module):
    """Makes its weights anew in every pass, as EDM2 does."""

    def __init__(self, width: int = 8, layers: int = 4):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 1)
        self.inner = nn.ParameterList(torch.randn(width, width, 3, 3) for _ in range(layers))
        self.last = nn.Conv2d(width, 1, 1)

    def forward(self, x, t):
        h = self.stem(x)
        for weight in self.inner:
            rows = weight / (weight.square().mean((1, 2, 3), keepdim=True).sqrt() + 1e-4)
            h = F.conv2d(h, rows / weight[0].numel() ** 0.5, padding=1)
        return self.last(h)


def test_counting_the_calls_keeps_no_weights_of_earlier_calls():
    network = made(lambda: Normalised(32))
    with trunks_kept() as kept:
        assert count_calls(network, X[:1], T[:1]) == 6
        (trunk,) = kept._kept.values()
    own = {id(parameter) for parameter in network.parameters()}
    assert trunk is not None
    large = [one for key, one in trunk.known.items() if key not in own and one.numel() > 4096]
    assert len(large) <= 1  # the last one, which the pass still holds by name


@pytest.mark.parametrize("largest", [16 * 2**20, 0])
def test_large_networks_give_freed_memory_back(monkeypatch, largest):
    """Without that, ten passes of EDM2-S kept 4 GB for 150 million weights."""
    returned = []
    monkeypatch.setattr("sads.inspection.trunk_replay.LARGEST_SMALL", largest)
    monkeypatch.setattr(
        "sads.inspection.trunk_replay.return_freed_memory", lambda: returned.append(1)
    )
    with trunks_kept():
        read(made(Deep), X[:1], T[:1], 2)
    assert len(returned) == (largest == 0)


def test_an_inner_block_releases_its_networks():
    """Networks that only show their last layer are looked at in a block of their own."""

    def is_kept_alive(*, apart: bool) -> bool:
        network = made(Deep)
        alive = weakref.ref(network)
        with trunks_kept() if apart else nullcontext():
            read(network, X[:1], T[:1], 2)
        del network
        gc.collect()
        return alive() is not None

    with trunks_kept():
        assert is_kept_alive(apart=False)
        assert not is_kept_alive(apart=True)


class Tied(nn.Module):
    """The last weight is used once more, in front of a norm."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 1, 3, padding=1)
        self.last = nn.Conv2d(1, 1, 3, padding=1)
        self.view = self.last.weight.detach()  # the same storage by another name

    def forward(self, x, t):
        return self.last(F.silu(F.conv2d(x, self.view, padding=1)) + self.first(x))


@pytest.mark.parametrize("largest", [16 * 2**20, 0])
def test_shared_last_layers_are_found_in_small_and_large_networks(monkeypatch, largest):
    monkeypatch.setattr("sads.inspection.last_layer.LARGEST_SMALL", largest)
    tied = sads.estimate_geometry(ScoreFamily(Tied, (1, 4, 4)), networks=24, probe="gaussian:1")
    assert "last.weight" in tied.plan.note
    assert "used elsewhere too" in tied.plan.note
    plain = ScoreFamily(Deep, (1, 4, 4))
    assert not sads.estimate_geometry(plain, networks=24, probe="gaussian:1").plan.note


def test_large_networks_are_read_in_a_quarter_of_the_passes(monkeypatch):
    """Passes of the whole trunk, counted by its convolutions."""
    monkeypatch.setattr("sads.inspection.last_layer.LARGEST_SMALL", 0)
    family = ScoreFamily(Deep, (1, 4, 4))

    def trunks() -> int:
        with Counting() as computed:
            planned_geometry(family, networks=24)
        return computed.count

    with_trunks = trunks()
    monkeypatch.setattr("sads.inspection.tracing.kept_trunks", lambda: None)
    assert with_trunks < 0.7 * trunks()


def test_estimates_have_the_same_bits_without_trunks(monkeypatch):
    family = ScoreFamily(Deep, (1, 4, 4))
    geometry = sads.estimate_geometry(family, networks=24, probe="gaussian:1")
    monkeypatch.setattr("sads.inspection.tracing.kept_trunks", lambda: None)
    whole = sads.estimate_geometry(family, networks=24, probe="gaussian:1")
    assert np.array_equal(geometry.state.sums, whole.state.sums)
    assert geometry.plan == whole.plan
