"""Forecasts from workers: the bits of one process, whoever computes, dies or lies."""

import numpy as np
import pytest

import sads
import sads.execution.in_order as in_order
from sads.errors import InputError, NetworkError
from sads.execution.local import EngineError
from sads.learning.one_step import OneStep
from sads.remote.forecast_request import _scene
from sads.specs import NetworkSpec

from ..sweep.small import InProcess
from .engines import Deserted, Elsewhere, Mortal, Shuffled
from .test_batches import FACTORY

CNN = "cnn,width=8"
COMMON = {"shape": "1x4x4", "networks": 16, "batch_size": 8}


def forecast(engine, network=CNN, data="gaussian", **options):
    return sads.forecast(network, data, engine=engine, **COMMON | options)


def same_bits(a: sads.Forecast, b: sads.Forecast) -> bool:
    return np.array_equal(a.rows, b.rows) and a.about == b.about


@pytest.fixture(scope="module")
def whole():
    """What one process gets."""
    return forecast(None)


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_give_the_bits_of_one_process(whole, workers):
    assert same_bits(forecast(InProcess(workers)), whole)


def test_the_order_of_the_answers_changes_nothing(monkeypatch):
    monkeypatch.setattr(in_order, "TICK_SECONDS", 0.01)
    assert same_bits(forecast(Shuffled(), networks=9), forecast(None, networks=9))


def test_work_of_dead_workers_is_done_again(whole):
    assert same_bits(forecast(Mortal({0, 3, 4})), whole)


@pytest.mark.parametrize("tolerance", [0.5, 3.0])
def test_it_ends_where_one_process_ends(tolerance):
    options = {"networks": None, "tolerance": tolerance}
    here, there = forecast(None, **options), forecast(InProcess(3), **options)
    assert same_bits(there, here)


def test_everything_that_decides_a_row_travels(tmp_path):
    np.save(tmp_path / "axes.npy", np.eye(16)[:, :3])
    np.save(tmp_path / "data.npy", np.random.default_rng(0).normal(size=(40, 1, 4, 4)))
    options = {
        "data": f"npy:{tmp_path / 'data.npy'}",
        "directions": f"npy:{tmp_path / 'axes.npy'}",
        "schedule": "flow",
        "prediction": "flow",
        "optimiser": "sgd",
        "weight_decay": 0.01,
        "timestep_law": np.linspace(1, 2, 1000),
        "loss_weights": np.linspace(2, 1, 1000),
        "method": "tangent flow",
        "steps": 6,
        "seed": 3,
        "networks": 8,
    }
    assert same_bits(forecast(InProcess(2), **options), forecast(None, **options))


def test_what_was_looked_at_is_kept_when_all_workers_are_lost(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(in_order, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(in_order, "ALONE_SECONDS", 0.1)
    with pytest.raises(EngineError, match="all workers have been gone"):
        forecast(Deserted(11), out=tmp_path)
    assert sads.load_forecast(tmp_path).networks == 8  # those of the last look
    assert same_bits(forecast(InProcess(), out=tmp_path), whole)
    assert same_bits(sads.load_forecast(tmp_path), whole)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("code", "0.1+abc", r"version .* of the code, the estimate 0\.1\+abc: install the same"),
        ("versions", {"torch": "1.0"}, "torch .* instead of 1.0"),
        ("digests", ["other", "gaussian"], f"the files of {CNN} differ there"),
        ("seed", 5, "is not the same there: .*seed"),
    ],
)
def test_other_installations_are_refused(name, value, said):
    with pytest.raises(EngineError, match=said):
        forecast(Elsewhere(lambda errand: errand.update({name: value})))


def test_another_factory_file_is_refused(tmp_path, monkeypatch):
    (tmp_path / "net.py").write_text(FACTORY.format(width=8))
    monkeypatch.chdir(tmp_path)
    here = forecast(None, "net.py:make", networks=8)
    assert same_bits(forecast(InProcess(), "net.py:make", networks=8), here)

    class Other(InProcess):
        """Workers that see another file of that name."""

        def submit(self, function, *arguments):
            (tmp_path / "net.py").write_text(FACTORY.format(width=4))
            _scene.cache_clear()  # as in a new process
            return super().submit(function, *arguments)

    with pytest.raises(EngineError, match=r"the files of net.py:make differ there"):
        forecast(Other(), "net.py:make", networks=8)


def test_networks_that_fail_on_a_worker_are_told(monkeypatch):
    class Broken(OneStep):
        def row(self, scene, number):
            raise NetworkError("NaN in network 3")

    monkeypatch.setattr("sads.remote.forecast_rows.scene_of", lambda request: (None, Broken()))
    with pytest.raises(NetworkError, match="NaN in network 3"):
        forecast(InProcess())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"engine": None, "workers": 2}, "workers belong to an engine"),
        ({"engine": "slurm"}, "local, dask or dask:ADDRESS"),
        ({"engine": "local", "data": np.zeros((4, 1, 4, 4))}, "npy:FILE"),
        ({"engine": "local", "directions": sads.network}, "geometry=DIR"),
        ({"engine": "local", "network": NetworkSpec.parse("cnn"), "workers": 0}, "at least 1"),
    ],
)
def test_bad_input(options, said):
    with pytest.raises(InputError, match=said):
        forecast(**options)


def test_processes_of_this_machine_give_the_same_bits(whole):
    assert same_bits(forecast("local", workers=2), whole)
