"""Geometries from workers: the bits of one process, whoever computes, dies or lies."""

import socket
import time

import numpy as np
import pytest
import torch

import sads
import sads.execution.in_order as in_order
from sads.errors import InputError, NetworkError
from sads.execution.local import EngineError
from sads.geometry import Forward, Gaussian, load_geometry
from sads.remote import EngineWorkers, batch_workers_for
from sads.specs import NetworkSpec, ProbeSpec

from ..sweep.small import InProcess
from .engines import Deserted, Elsewhere, Mortal, Shuffled

UNET = "iddpm-16,channels=8,groups=4,mults=1x1"
COMMON = {"shape": "1x8x8", "networks": 700}

FACTORY = """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, {width}, 3, padding=1)
        self.last = nn.Conv2d({width}, 1, 3, padding=1)

    def forward(self, x, t):
        return self.last(self.first(x).relu())

def make():
    return Net()
"""


def estimate(engine, network=UNET, probe="zero", **options):
    return sads.estimate_geometry(network, probe=probe, engine=engine, **COMMON | options)


@pytest.fixture(scope="module")
def whole():
    """What one process gets."""
    return sads.estimate_geometry(UNET, **COMMON)


def same_bits(a: sads.Geometry, b: sads.Geometry) -> bool:
    return np.array_equal(a.state.sums, b.state.sums) and np.array_equal(
        a.state.counts, b.state.counts
    )


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_give_the_bits_of_one_process(whole, workers):
    geometry = estimate(InProcess(workers))
    assert same_bits(geometry, whole)
    assert geometry.plan == whole.plan


def test_the_order_of_the_answers_changes_nothing(whole, monkeypatch):
    monkeypatch.setattr(in_order, "TICK_SECONDS", 0.01)
    assert same_bits(estimate(Shuffled(), networks=660), estimate(None, networks=660))


def test_stacks_have_the_same_bits_with_any_number_of_threads(whole):
    torch.set_num_threads(2)
    try:
        assert same_bits(estimate(InProcess()), whole)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize("deaths", [{0}, {1, 2, 3}, {5, 6, 9, 10}])
def test_work_of_dead_workers_is_done_again(whole, deaths):
    assert same_bits(estimate(Mortal(deaths)), whole)


def test_work_that_kills_every_worker_ends_the_run(tmp_path):
    engine = Mortal(set(range(4, 100)))
    with pytest.raises(EngineError, match=r"cost 6 workers .*memory; .* networks are kept in"):
        estimate(engine, out=tmp_path)


def test_what_was_summed_is_kept_when_all_workers_are_lost(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(in_order, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(in_order, "ALONE_SECONDS", 0.1)
    with pytest.raises(
        EngineError, match=r"all workers have been gone for 0 seconds.*networks are kept"
    ):
        estimate(Deserted(5), out=tmp_path)
    kept = load_geometry(tmp_path)
    assert kept.networks == 5 * kept.plan.batch
    assert not kept.state.finished
    assert same_bits(estimate(InProcess(), out=tmp_path), whole)
    assert same_bits(load_geometry(tmp_path), whole)


def test_without_a_directory_nothing_is_said_to_be_kept(monkeypatch):
    monkeypatch.setattr(in_order, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(in_order, "START_SECONDS", 0.1)
    with pytest.raises(EngineError, match="no worker has come for 0 seconds") as error:
        estimate(Deserted(0))
    assert "kept" not in str(error.value)


def test_a_worker_that_leaves_before_its_first_answer_is_not_waited_for_as_if_it_had_never_come(
    monkeypatch,
):
    monkeypatch.setattr(in_order, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(in_order, "ALONE_SECONDS", 0.1)

    class Fleeting(Deserted):
        """One worker, which leaves at once."""

        visits = 0

        @property
        def present(self) -> bool:
            self.visits += 1
            return self.visits < 3

    with pytest.raises(EngineError, match="all workers have been gone for 0 seconds"):
        estimate(Fleeting(0))


def test_the_first_worker_may_come_late(monkeypatch):
    monkeypatch.setattr(in_order, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(in_order, "ALONE_SECONDS", 0.05)

    class Late(InProcess):
        """Workers that come after a while."""

        present = False

        def submit(self, function, *arguments):
            def later():
                time.sleep(0 if self.present else 0.3)
                self.present = True
                return function(*arguments)

            return self.executor.submit(later)

    assert estimate(Late(), networks=12).networks == 12


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("code", "0.1+abc", r"version .* of the code, the estimate 0\.1\+abc: install the same"),
        ("versions", {"torch": "1.0"}, "torch .* instead of 1.0"),
        ("digests", ["other", "zero"], f"the files of {UNET} differ there"),
        ("device", "cuda:77", "cannot be used here"),
    ],
)
def test_other_installations_are_refused(name, value, said, tmp_path):
    engine = Elsewhere(lambda errand: errand.update({name: value}))
    with pytest.raises(EngineError, match=said):
        estimate(engine, out=tmp_path)


def test_other_networks_are_refused_by_their_fingerprint():
    engine = Elsewhere(lambda errand: errand["plan"].update(fingerprint="0" * 16))
    with pytest.raises(EngineError, match=r"not the same here .fingerprint was"):
        estimate(engine)


def test_another_factory_file_is_refused_and_what_was_summed_kept(tmp_path):
    file, out = tmp_path / "net.py", tmp_path / "out"
    file.write_text(FACTORY.format(width=8))
    name = f"{file}:make"
    options = {"probe": "gaussian:1", "networks": 48}
    here = estimate(None, name, **options)
    assert same_bits(estimate(InProcess(), name, **options), here)

    class Moved(InProcess):
        """A worker that sees another file of that name from some call on."""

        calls = 0

        def submit(self, function, *arguments):
            self.calls += 1
            if self.calls == 9:
                file.write_text(FACTORY.format(width=4))
                from sads.remote.batch_request import _source

                _source.cache_clear()  # as in a new process
            return self.executor.submit(function, *arguments)

    with pytest.raises(EngineError, match=r"the files of .*net.py:make differ there"):
        estimate(Moved(), name, out=out, **options)
    file.write_text(FACTORY.format(width=8))
    assert same_bits(estimate(InProcess(), name, out=out, **options), here)


def test_a_relative_path_is_found_by_workers(tmp_path, monkeypatch):
    (tmp_path / "net.py").write_text(FACTORY.format(width=8))
    np.save(tmp_path / "point.npy", np.ones((1, 8, 8), dtype=np.float32))
    monkeypatch.chdir(tmp_path)
    options = {"probe": "point:point.npy", "networks": 24}
    geometry = estimate(InProcess(), "net.py:make", **options)
    assert geometry.plan.network == "net.py:make"
    assert same_bits(geometry, estimate(None, "net.py:make", **options))


@pytest.mark.parametrize(
    ("raised", "expected", "said"),
    [
        (NetworkError("NaN in batch 3"), NetworkError, "NaN in batch 3"),
        (RuntimeError("can't allocate memory"), EngineError, "out of memory"),
        (ZeroDivisionError("of theirs"), EngineError, "ZeroDivisionError: of theirs"),
    ],
)
def test_what_fails_on_a_worker_is_told_with_its_host(monkeypatch, raised, expected, said):
    def fail(errand):
        raise raised

    monkeypatch.setattr("sads.remote.batches.source_of", fail)
    with pytest.raises(expected, match=f"{socket.gethostname()}: .*{said}"):
        estimate(InProcess(), networks=24)


def test_values_are_taken_by_their_names():
    family = sads.network(UNET, shape="1x8x8")
    with_values = estimate(InProcess(), family, Gaussian(0.5), shape=None, networks=48)
    assert same_bits(with_values, estimate(None, probe="gaussian:0.5", networks=48))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"engine": None, "workers": 2}, "workers belong to an engine"),
        ({"engine": "slurm"}, "local, dask or dask:ADDRESS"),
        ({"engine": "local", "workers": 0}, "at least 1 worker"),
        ({"source": lambda: torch.nn.Identity(), "engine": "local"}, "FILE.py:function"),
        ({"probe": Forward(np.ones((1, 1, 8, 8))), "engine": "local"}, "forward:DATA"),
    ],
)
def test_bad_input(options, said):
    with pytest.raises(InputError, match=said):
        sads.estimate_geometry(options.pop("source", UNET), shape="1x8x8", networks=24, **options)


def test_a_scheduler_that_is_not_there_is_known_before_networks_are_read(monkeypatch):
    monkeypatch.setattr("sads.execution.engines.CONNECT_TIMEOUT", "1s")
    monkeypatch.setattr("sads.geometry.estimate.prepare", None)  # would fail
    with pytest.raises(InputError, match=r"no dask scheduler at tcp://127.0.0.1:9"):
        estimate("dask:tcp://127.0.0.1:9")


def test_moments_that_wait_do_not_fill_the_memory(monkeypatch):
    import sads.remote.batches as batches

    monkeypatch.setattr(batches, "HELD_BYTES", 1)
    under_way = []

    class Counting(InProcess):
        def submit(self, function, *arguments):
            future = super().submit(function, *arguments)
            under_way.append(future)
            return future

    engine, seen = Counting(8), []
    batch_workers = EngineWorkers(engine, NetworkSpec.parse(UNET), ProbeSpec.parse("zero"))
    assert batch_workers_for(None, UNET, sads.network(UNET), "zero") is None
    sads.geometry.estimate_geometry(
        sads.network(UNET, shape="1x8x8"),
        networks=240,
        batch_workers=batch_workers,
        on_progress=lambda progress: seen.append(len(under_way)),
    )
    # Two at most are under way: the one that is added next, and one more.
    assert all(asked <= taken + 2 for taken, asked in enumerate(seen, start=1))
