"""Training on what a network itself predicts, against closed forms."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import sads
from sads.diffusion import Settings, read_training, train
from sads.networks import ScoreFamily
from sads.path import RectifiedFlow

from .cases import PAIRS, PATHS, VARIANCES, Exact

SAMPLES = torch.from_numpy(
    np.random.default_rng(0).standard_normal((4096, 4)) * np.sqrt(VARIANCES)
).float()


def exact_family(path: str, prediction: str, gain: float = 1.0) -> ScoreFamily:
    grid = PATHS[path]
    return ScoreFamily(
        lambda: Exact(grid, prediction, gain=gain),
        (4,),
        grid,
        "exact",
        prediction=prediction,
        time="index",
    )


def least_loss(path: str, prediction: str) -> float:
    """Mean over levels and entries of Var(p x_0 + q eps | x), from the joint Gaussian law."""
    grid = PATHS[path]
    a, b = grid.signal[:, None], grid.noise[:, None]
    p, q = (table[:, None] for table in sads.path.prediction_named(prediction).mix(grid))
    total = a**2 * VARIANCES + b**2
    variance = p**2 * VARIANCES + q**2 - (p * a * VARIANCES + q * b) ** 2 / total
    return float(variance.mean())


@pytest.mark.parametrize(("path", "prediction"), PAIRS)
def test_the_loss_of_the_exact_network_is_the_least_one(path: str, prediction: str):
    """40 batches of 512: within five standard errors of their mean, and never trained away."""
    settings = Settings(iterations=40, batch_size=512, learning_rate=1e-9, seed=1)
    losses = train(exact_family(path, prediction), SAMPLES, settings).losses.double().numpy()
    error = losses.std(ddof=1) / np.sqrt(len(losses))
    expected = least_loss(path, prediction)
    assert abs(losses.mean() - expected) < 5 * error + 0.02 * expected


@pytest.mark.parametrize(("path", "prediction"), [("flow", "flow"), ("linear", "v"), ("ve", "x0")])
def test_a_wrong_gain_is_trained_to_one(path: str, prediction: str):
    settings = Settings(iterations=150, batch_size=256, learning_rate=1e-2, seed=1)
    trained = train(exact_family(path, prediction, gain=0.5), SAMPLES, settings)
    assert next(trained.network.parameters()).item() == pytest.approx(1, abs=0.1)


def test_a_training_keeps_its_path_and_target(tmp_path):
    family = sads.network("mlp,width=4,depth=1,prediction=flow,shift=2", shape=(4,))
    assert family.schedule == RectifiedFlow(shift=2.0)
    settings = Settings(iterations=3, batch_size=8)
    before = train(family, SAMPLES[:20], settings, out=tmp_path)
    header, _ = read_training(tmp_path)
    assert (header.schedule, header.parameters, header.target) == ("flow", {"shift": 2.0}, "flow")
    again = sads.load_trained(tmp_path)
    assert again.family.schedule == family.schedule
    assert again.family.fingerprint == family.fingerprint
    one, other = (sads.sample(t, 3, steps=4, solver="heun") for t in (before, again))
    assert np.array_equal(one, other)
    unshifted = replace(family, schedule=RectifiedFlow())
    with pytest.raises(sads.ArtefactError, match="parameters was"):
        train(unshifted, SAMPLES[:20], settings, out=tmp_path)


def test_an_older_training_of_another_loss_is_not_continued(tmp_path):
    """Trainings of v were once by the error of the noise: their files say no target."""
    family = sads.network("mlp,width=4,depth=1,prediction=v", shape=(4,))
    trained = train(family, SAMPLES[:20], Settings(iterations=2, batch_size=8))
    trained.run.target = "eps"
    trained.save(tmp_path)
    with pytest.raises(sads.ArtefactError, match="target was 'eps', now 'v'"):
        train(family, SAMPLES[:20], Settings(iterations=4, batch_size=8), out=tmp_path)
    assert np.isfinite(sads.sample(tmp_path, 2, steps=3)).all()  # but it is read
