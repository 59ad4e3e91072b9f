"""`kill -9` of a training at any moment: the same bits as without, and nothing left behind."""

import multiprocessing
import time

import numpy as np
import pytest
import torch

import sads.diffusion.training as training_module
from sads.diffusion import Settings, train
from sads.diffusion.checkpoint import FILE

from .test_unusual_networks import SAMPLES, Dropout, NotPersistent, Tied, UsedLater, family, same

SETTINGS = Settings(iterations=150, batch_size=8, learning_rate=1e-2, seed=5)


class Everything(UsedLater, NotPersistent, Dropout, Tied):
    """A frozen layer, a tied one, one used late, hidden state and dropout."""

    def __init__(self):
        super().__init__()
        self.first.requires_grad_(False)

    def hidden(self, h, t):
        for kind in (UsedLater, NotPersistent, Dropout, Tied):
            h = kind.hidden(self, h, t)
        return h


def run(out) -> None:
    training_module.CHECKPOINT_SECONDS = 0.0
    train(family(Everything), SAMPLES, SETTINGS, out=out)


@pytest.mark.parametrize("kills", [4, pytest.param(40, marks=pytest.mark.slow)])
def test_killed_trainings_end_like_the_uninterrupted_one(tmp_path, kills):
    whole = train(family(Everything), SAMPLES, SETTINGS)
    moments = np.random.default_rng(kills)
    processes = multiprocessing.get_context("fork")
    happened = 0
    while happened < kills:
        child = processes.Process(target=run, args=(tmp_path,))
        child.start()
        while not (tmp_path / FILE).exists() and child.is_alive():
            time.sleep(0.002)
        time.sleep(moments.uniform(0, 0.5 / kills))
        child.kill()
        child.join()
        if child.exitcode == 0:
            break  # it was faster
        happened += 1
    assert happened
    resumed = train(family(Everything), SAMPLES, SETTINGS, out=tmp_path)
    assert torch.equal(resumed.losses, whole.losses)
    same(resumed.network, whole.network)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "loss.csv", FILE]
