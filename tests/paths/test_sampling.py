"""Sampling by the exact prediction of a Gaussian, where every covariance is known."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from sads.diffusion import respaced, sample_chunks
from sads.errors import InputError
from sads.networks.adapters import adapt
from sads.path import EDM, DiffusionPath, RectifiedFlow, Schedule, VarianceExploding

from .cases import VARIANCES, Exact
from .test_values import Ends

PATHS = {
    "linear": Schedule(),
    "cosine": Schedule("cosine"),
    "flow": RectifiedFlow(),
    "shifted": RectifiedFlow(shift=3.0),
    "ve": VarianceExploding(),
    "edm": EDM(),
}


def gains(path: DiffusionPath, solver: str, steps: int) -> np.ndarray:
    """The factor by which a deterministic sampling multiplies each coordinate.

    Written with the slope k_t of the equation dx = x_0 da + eps db instead of predictions:
    x_0 = a v x / (a^2 v + b^2) and eps = b x / (a^2 v + b^2).
    """
    a, b = np.append(path.signal, 1.0), np.append(path.noise, 0.0)  # the last: data
    levels = [*respaced(steps, path), path.steps]
    whole = a[:, None] ** 2 * VARIANCES + b[:, None] ** 2
    clean, eps = a[:, None] * VARIANCES / whole, b[:, None] / whole
    total = np.ones_like(VARIANCES)
    for t, s in pairwise(levels):
        da, db = a[s] - a[t], b[s] - b[t]
        euler = 1 + da * clean[t] + db * eps[t]
        if solver == "heun" and s != path.steps:
            slopes = clean[t] + clean[s] * euler, eps[t] + eps[s] * euler
            total = total * (1 + da * slopes[0] / 2 + db * slopes[1] / 2)
        else:
            total = total * euler
    return total


def draw(path: DiffusionPath, prediction: str, count: int, **options) -> np.ndarray:
    member = adapt(Exact(path, prediction), "exact", path, prediction, time="index")
    chunks = sample_chunks(member, (4,), count, path, chunk=count, **options)
    return torch.cat(list(chunks)).double().numpy()


@pytest.mark.parametrize("solver", ["euler", "heun"])
@pytest.mark.parametrize(
    ("path", "prediction"),
    [
        *(("linear", "v"), ("cosine", "x0"), ("flow", "flow"), ("shifted", "flow")),
        *(("ve", "score"), ("edm", "x0"), ("flow", "eps")),
    ],
)
def test_samples_are_the_starting_noise_times_the_known_factor(path, prediction, solver):
    grid = PATHS[path]
    samples = draw(grid, prediction, 64, solver=solver, steps=30, seed=3)
    # One Euler step of a network that returns zero divides the noise by the signal's factor.
    silent = sample_chunks(
        lambda x, t: 0 * x, (4,), 64, grid, steps=1, seed=3, solver="euler", chunk=64
    )
    noise = grid.signal[-1] * torch.cat(list(silent)).double().numpy()
    np.testing.assert_allclose(samples, noise * gains(grid, solver, 30), rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("path", PATHS)
def test_heun_is_better_than_euler_and_both_approach_the_covariance(path: str):
    """Discretisation errors of the variances, exactly: of first and of second order in the step."""
    grid = PATHS[path]
    errors = {
        (solver, steps): np.abs(
            (grid.start * gains(grid, solver, steps)) ** 2 / VARIANCES - 1
        ).max()
        for solver in ("euler", "heun")
        for steps in (50, 100, 400)
    }
    for steps in (50, 100):
        assert errors["heun", steps] < 0.5 * errors["euler", steps]
    assert errors["euler", 400] < 0.5 * errors["euler", 100]
    assert errors["heun", 400] < 0.02


@pytest.mark.parametrize(("path", "prediction"), [("flow", "flow"), ("edm", "x0"), ("ve", "eps")])
@pytest.mark.parametrize("solver", ["heun", "ddpm"])
def test_the_covariance_of_a_gaussian_is_reproduced(path: str, prediction: str, solver: str):
    """4,000 samples: relative spread of a variance 0.022, tested at five of them, and the error of
    the discretisation, 0.1 for ancestral sampling with 200 of 1000 levels.
    """
    x = draw(PATHS[path], prediction, 4000, solver=solver, steps=200)
    allowed = 0.11 + (0.1 if solver == "ddpm" else 0.02)
    np.testing.assert_allclose(x.var(axis=0), VARIANCES, rtol=allowed)
    correlation = np.corrcoef(x.T) - np.eye(4)
    assert np.abs(correlation).max() < 5 / np.sqrt(4000)


@pytest.mark.parametrize("path", ["linear", "flow"])
def test_euler_is_ddim_and_the_default_of_flows(path: str):
    grid = PATHS[path]
    euler, ddim, eta = (
        draw(grid, "eps", 8, steps=7, **told)
        for told in ({"solver": "euler"}, {"solver": "ddim"}, {"eta": 0.0})
    )
    assert np.array_equal(euler, ddim)
    assert np.array_equal(euler, eta)
    usual = draw(grid, "eps", 8, steps=7)
    ancestral = draw(grid, "eps", 8, steps=7, solver="ddpm")
    assert np.array_equal(usual, euler if path == "flow" else ancestral)
    assert not np.array_equal(euler, ancestral)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"solver": "rk4"}, "ddpm, ddim, euler, heun"),
        ({"solver": "heun", "eta": 0.5}, "heun has no eta of 0.5"),
        ({"solver": "ddpm", "eta": 0.0}, "ddpm has no eta of 0"),
        ({"eta": 1.5}, "between 0"),
    ],
)
def test_solvers_that_do_not_exist_are_refused(told, said):
    with pytest.raises(InputError, match=said):
        draw(PATHS["flow"], "eps", 2, steps=3, **told)


def test_a_path_without_signal_at_its_end_cannot_be_sampled():
    path = Ends(last=1.0)
    chunks = sample_chunks(lambda x, t: x, (4,), 2, path, steps=3)
    with pytest.raises(InputError, match="without signal"):
        next(chunks)
