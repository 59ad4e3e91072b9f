"""The way through a GPU, as far as it can be followed without one.

On the device `meta` tensors have no values, so whoever asks for one (`item`, `if`, a copy to the
host) raises: a batch that runs there makes the host wait for no network. Copies are followed by a
stand-in. Nothing here has run on hardware.
"""

import numpy as np
import pytest
import torch
from torch import Tensor

from sads.devices import placed
from sads.geometry.ensemble import BuiltEnsemble, DrawnEnsemble
from sads.inspection.reader_modules import Outputs
from sads.inspection.reading import Batch, DeclaredReading, Reading
from sads.networks import preset_family
from sads.randomness import fast_stream

META = torch.device("meta")
FAMILY = preset_family("iddpm-16", shape=(1, 8, 8), channels=8, groups=4, mults=(1, 1))
COUNT = 3


def inputs() -> tuple[Tensor, np.ndarray, np.random.Generator]:
    return torch.zeros(COUNT, 1, 8, 8), np.arange(COUNT), fast_stream(1, "a test of devices")


def declared(reading: Reading) -> DrawnEnsemble:
    member = FAMILY.factory()
    known = {n: d for n, d in member.distributions().items() if n not in reading.integrated}
    return DrawnEnsemble(reading.reader(member), known, META)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("as_batch", [False, True])
def test_a_batch_of_drawn_networks_waits_for_nothing(dtype, as_batch):
    reading = DeclaredReading.of(FAMILY.factory(), 1.0, 1000)
    ensemble = declared(reading)
    ensemble._as_batch[dtype, torch.get_num_threads()] = as_batch
    x, t, rng = inputs()
    readings = ensemble.evaluate(x, t, rng, dtype)
    assert readings.h.device == META
    assert readings.h.shape == (COUNT, 8, 8, 8)
    moment = reading.moment(readings, Batch(x, t, np.ones(COUNT)), rng)
    assert moment.device == META  # and comes to the host once, as a sum over the batch
    assert moment.shape == (64, 64)


def test_whether_stacks_run_as_a_batch_is_not_asked_of_a_device_without_values():
    ensemble = declared(DeclaredReading.of(FAMILY.factory(), 1.0, 1000))
    for _ in range(2):
        ensemble.evaluate(*inputs(), torch.float32)
    assert not any(ensemble._as_batch.values())


def test_built_networks_are_placed_and_wait_for_nothing():
    readings = BuiltEnsemble(FAMILY, META, Outputs).evaluate(*inputs(), torch.float32)
    assert readings.h.device == META
    assert readings.h.shape == (COUNT, 1, 8, 8)


class Pinned:
    """Stands in for pinned memory and says how it was copied."""

    def to(self, *where: object, **how: object) -> tuple[object, ...]:
        return (*where, how)


def test_copies_to_a_gpu_are_pinned_and_go_on_by_themselves(monkeypatch):
    monkeypatch.setattr(Tensor, "pin_memory", lambda _: Pinned())
    gpu = torch.device("cuda:1")
    copied = placed(torch.zeros(2), gpu, torch.float64)
    assert copied == (gpu, torch.float64, {"non_blocking": True})


def test_nothing_is_pinned_elsewhere(monkeypatch):
    def refuse(_: Tensor) -> None:
        raise AssertionError("pinned")

    monkeypatch.setattr(Tensor, "pin_memory", refuse)
    values = torch.zeros(2)
    assert placed(values, torch.device("cpu"), torch.float32) is values
    assert placed(values, META).device == META
