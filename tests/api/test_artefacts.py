"""Whatever is kept on disk is saved by a method `save` and read by a function `load_...`."""

import numpy as np
import pytest
import torch

import sads

NETWORK, SHAPE = "mlp,width=8,depth=1", "1x4x4"


def geometry() -> sads.Geometry:
    return sads.estimate_geometry(NETWORK, shape=SHAPE, networks=24)


def trained() -> sads.Trained:
    return sads.train(NETWORK, "gaussian", shape=SHAPE, iterations=2, batch_size=4)


def forecast() -> sads.Forecast:
    return sads.forecast(NETWORK, "gaussian", shape=SHAPE, method="one step", networks=8)


def record() -> sads.TrainingRecord:
    monitor = sads.Monitor((4,))
    monitor.update(torch.ones(2, 4), torch.zeros(2, 4), torch.tensor([1, 2]))
    return monitor.record


KINDS = {
    "geometry": (geometry, sads.load_geometry, lambda one: one.factor),
    "rotation": (
        lambda: sads.rotate(geometry(), "digits,size=4", "min"),
        sads.load_rotation,
        lambda one: one.matrix.numpy(),
    ),
    "training": (trained, sads.load_trained, lambda one: one.losses.numpy()),
    "forecast": (forecast, sads.load_forecast, lambda one: one.drift),
    "monitor": (record, sads.load_record, lambda one: one.loss()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_saved_is_loaded(kind, tmp_path):
    make, load, numbers = KINDS[kind]
    made = make()
    made.save(tmp_path / "new" / "folder")
    again = load(tmp_path / "new" / "folder")
    assert type(again) is type(made)
    np.testing.assert_array_equal(numbers(again), numbers(made))
    assert (tmp_path / "new" / "folder" / f"{kind}.safetensors").is_file()


@pytest.mark.parametrize("kind", KINDS)
def test_a_directory_without_one_is_refused_in_one_line(kind, tmp_path):
    load = KINDS[kind][1]
    with pytest.raises(sads.ArtefactError, match=rf"^no {kind} in .*{kind}\.safetensors.*$"):
        load(tmp_path)
