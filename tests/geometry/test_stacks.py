"""Stacks that run as a batch give the bits of `vmap`, and serve only where they do."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sads.geometry import ensemble as module
from sads.geometry.ensemble import DrawnEnsemble
from sads.inspection.reader_modules import Features, Outputs
from sads.networks import preset_family
from sads.networks.base import ScoreNetwork
from sads.networks.initialisation import default_distributions
from sads.randomness import fast_stream

from .families import FAMILIES

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def generator() -> np.random.Generator:
    return fast_stream(3, "networks of a test of stacks")


def ensemble_of(member: ScoreNetwork, *, features: bool = False) -> DrawnEnsemble:
    reader = (Features if features else Outputs)(member)
    known = member.distributions() if hasattr(member, "distributions") else {}
    return DrawnEnsemble(reader, known, CPU)


def inputs(shape: tuple[int, ...], count: int) -> tuple[torch.Tensor, np.ndarray]:
    rng = np.random.default_rng(1)
    x = torch.from_numpy(rng.standard_normal((count, *shape), dtype=np.float32))
    return x, rng.integers(50, size=count)


def without_vmap(monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("vmap was used")

    monkeypatch.setattr(module, "vmap", refuse)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_keeps_its_bits(name, dtype):
    family = FAMILIES[name]
    ensemble = ensemble_of(family.factory())
    x, t = inputs(family.shape, 6)
    expected = ensemble.read(ensemble.draw(6, generator()), x, t, dtype).h
    for _ in range(2):  # the first finds out, the second may run as a batch
        assert torch.equal(ensemble.evaluate(x, t, generator(), dtype).h, expected)


@pytest.mark.parametrize("probe", ["zero", "gaussian"])
def test_a_whole_batch_of_the_paper_s_network_keeps_its_bits(probe, monkeypatch):
    family = preset_family("iddpm-16")
    ensemble = ensemble_of(family.factory(), features=True)
    x, t = inputs(family.shape, ensemble.chunk)
    x = x if probe == "gaussian" else torch.zeros_like(x)
    own, plain = generator(), generator()
    expected = ensemble.read(ensemble.draw(len(t), plain), x, t, torch.float32).h
    ensemble.evaluate(x, t, generator(), torch.float32)
    without_vmap(monkeypatch)
    assert torch.equal(ensemble.evaluate(x, t, own, torch.float32).h, expected)
    # Whatever is drawn afterwards does not depend on the way the networks ran either.
    assert own.integers(2**62) == plain.integers(2**62)


def test_layers_whose_input_is_zero_are_not_computed(monkeypatch):
    """At x = 0 the stem and the first block of a U-Net see nothing but zeros."""
    family = preset_family("iddpm-16")
    ensemble = ensemble_of(family.factory(), features=True)
    noise, t = inputs(family.shape, 4)
    computed = []
    plain = F.conv2d

    def counted(*args: torch.Tensor, **options: int) -> torch.Tensor:
        computed[-1] += options.get("groups", 1)
        return plain(*args, **options)

    ensemble.evaluate(noise, t, generator(), torch.float32)
    monkeypatch.setattr(F, "conv2d", counted)
    for x in (noise, torch.zeros_like(noise)):
        computed.append(0)
        ensemble.evaluate(x, t, generator(), torch.float32)
    assert computed[0] - computed[1] == 3 * (len(t) - 1)  # one network tells the sizes


class Mixed(ScoreNetwork):
    """A network whose samples are not told apart: the mean of its batch is taken away."""

    def __init__(self, shape: tuple[int, ...] = (4,)):
        super().__init__(shape)
        self.first, self.head = nn.Linear(4, 4), nn.Linear(4, 4)

    def features(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        h = self.first(x)
        return h - 0.5 * h.mean(0)


class Twice(Mixed):
    """A network that uses one layer twice."""

    def features(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        return self.first(torch.tanh(self.first(x)))


@pytest.mark.parametrize("kind", [Mixed, Twice])
def test_networks_that_are_no_batch_run_one_by_one(kind):
    member = kind()
    ensemble = DrawnEnsemble(Features(member), default_distributions(member), CPU)
    x, t = inputs((4,), 5)
    stacked = ensemble.draw(5, generator())
    expected = ensemble.read(stacked, x, t, torch.float32).h
    for _ in range(2):
        assert torch.equal(ensemble.evaluate(x, t, generator(), torch.float32).h, expected)
    for i in range(5):
        own = {n.removeprefix("network."): p[i] for n, p in stacked.items()}
        member.load_state_dict(own)
        with torch.no_grad():
            alone = member.features(x[i : i + 1], torch.from_numpy(t[i : i + 1]))[0]
        torch.testing.assert_close(expected[i], alone)


def test_one_network_alone_decides_nothing():
    """A batch of one cannot show whether a network mixes its samples."""
    member = Mixed()
    ensemble = DrawnEnsemble(Features(member), default_distributions(member), CPU)
    for count in (1, 3, 3):
        x, t = inputs((4,), count)
        expected = ensemble.read(ensemble.draw(count, generator()), x, t, torch.float32).h
        assert torch.equal(ensemble.evaluate(x, t, generator(), torch.float32).h, expected)
