"""Exact risks, forecasts and monitors on every path, against closed forms."""

import numpy as np
import pytest
import torch

import sads
from sads.data.laws import Normal
from sads.directions.sets import Entries
from sads.errors import InputError
from sads.learning import Optimum, Recipe, measure_risk
from sads.learning.forecast_setting import Scene
from sads.learning.monitor import Monitor
from sads.learning.noisy_samples import draw_noisy
from sads.learning.one_step import batch_gradient, first_move
from sads.networks import CNN, ScoreFamily
from sads.networks.adapters import adapt
from sads.path import DiffusionPath, RectifiedFlow, Schedule

from .cases import PAIRS, PATHS, STEPS, VARIANCES, Exact, mixed

LAW = Normal(np.zeros(4), np.eye(4), VARIANCES, 0.0)
SHAPE = (4,)


def risk_of(path: DiffusionPath, predict, **options):
    return measure_risk(
        predict, Optimum(LAW), path, SHAPE, directions=Entries(SHAPE), tolerance=0.02, **options
    )


def doubled_error(path: DiffusionPath, prediction: str):
    """A network whose output is 1.5 times the best one, as a predictor of noise."""
    network = Exact(path, prediction, gain=1.5)
    return adapt(network, "exact", path, prediction, time="index").requires_grad_(False)


def expected_risk(path: DiffusionPath, prediction: str) -> np.ndarray:
    """E[(0.5 s E[output | x])^2] of each coordinate at each level, from the joint Gaussian law."""
    a, b = path.signal[:, None], path.noise[:, None]
    p, q = (table[:, None] for table in sads.path.PREDICTIONS[prediction].mix(path))
    scale = sads.path.PREDICTIONS[prediction].conversion(path)[1][:, None]
    power = (p * a * VARIANCES + q * b) ** 2 / (a**2 * VARIANCES + b**2)  # of the best output
    return (0.5 * scale) ** 2 * power


@pytest.mark.parametrize(("path", "prediction"), PAIRS)
def test_exact_risk(path: str, prediction: str):
    """Within six of its standard errors, which the tolerance makes 2 %."""
    grid = PATHS[path]
    risk = risk_of(grid, doubled_error(grid, prediction))
    expected = expected_risk(grid, prediction).mean(axis=0)
    assert risk.total == pytest.approx(expected.sum(), abs=6 * risk.total_error)
    assert (np.abs(risk.by_direction - expected) <= 6 * risk.by_direction_error + 1e-9).all()
    assert (risk.nats is None) == (not isinstance(grid, Schedule))
    assert risk.total_error < 0.03 * risk.total


@pytest.mark.parametrize("path", PATHS)
def test_the_best_network_has_no_risk(path: str):
    grid = PATHS[path]
    perfect = adapt(Exact(grid, "x0"), "exact", grid, "x0", time="index").requires_grad_(False)
    assert risk_of(grid, perfect).total < 1e-6


def test_the_risk_of_the_denoised_image_is_that_of_its_definition():
    """(x - b e) / a against E[x_0 | x]: half of the best prediction's own size, at each sigma."""
    grid = RectifiedFlow()
    risk = risk_of(grid, doubled_error(grid, "x0"), of="clean", sigmas=[0.5, 2.0])
    sigma = np.array([0.5, 2.0])[:, None]
    expected = (0.25 * VARIANCES**2 / (VARIANCES + sigma**2)).mean(axis=0)
    assert risk.nats is None
    assert risk.of == "clean"
    assert risk.total == pytest.approx(expected.sum(), abs=6 * risk.total_error)
    assert (np.abs(risk.by_direction - expected) <= 6 * risk.by_direction_error).all()


@pytest.mark.parametrize("path", [Schedule(), Schedule("cosine"), RectifiedFlow(shift=3.0)])
def test_it_is_the_same_on_every_path_at_equal_sigma(path: DiffusionPath):
    """Half of the best clean sample is the same network whatever the path; 6 standard errors."""
    sigma = 0.7
    risk = risk_of(path, doubled_error(path, "x0"), of="clean", sigmas=[sigma])
    expected = (0.25 * VARIANCES**2 / (VARIANCES + sigma**2)).sum()
    assert risk.total == pytest.approx(expected, abs=6 * risk.total_error)


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"of": "velocity"}, "noise or clean"),
        ({"sigmas": []}, "ratios of noise to signal from"),
        ({"sigmas": [1e9]}, "ratios of noise to signal from"),
    ],
)
def test_bad_questions_are_refused(told, said):
    grid = PATHS["flow"]
    with pytest.raises(InputError, match=said):
        risk_of(grid, doubled_error(grid, "eps"), **told)


@pytest.mark.parametrize(("path", "prediction"), PAIRS)
def test_what_a_forecast_is_to_learn_is_the_best_own_prediction(path: str, prediction: str):
    grid = PATHS[path]
    t = np.arange(STEPS)
    value = sads.path.PREDICTIONS[prediction]
    noisy = draw_noisy(
        Optimum(LAW), LAW, grid, SHAPE, t, np.random.default_rng(0), prediction=value
    )
    exact = Exact(grid, prediction)
    with torch.no_grad():
        best = exact(noisy.x.double(), noisy.t).numpy()
    size = 1 + np.abs(best).max()
    np.testing.assert_allclose(noisy.optimum, best, rtol=1e-4, atol=2e-5 * size)
    a, b = grid.signal[:, None], grid.noise[:, None]
    clean_eps = draw_noisy(Optimum(LAW), LAW, grid, SHAPE, t, np.random.default_rng(0))
    clean = (clean_eps.x.double().numpy() - b * clean_eps.eps) / a
    for level in (0, STEPS // 2, STEPS - 1):
        own = mixed(prediction, grid, clean[level], clean_eps.eps[level], level, reverse=False)
        np.testing.assert_allclose(noisy.eps[level], own, rtol=1e-3, atol=1e-4 / a[level, 0])


def test_one_step_of_a_flow_is_that_of_its_own_loss():
    """Drift and noise are of the velocity's loss: a real step of SGD changes outputs so."""
    shape = (1, 4, 4)
    family = ScoreFamily(lambda: CNN(shape, width=4, depth=1), shape, prediction="flow", name="cnn")
    law = Normal(np.zeros(16), np.eye(16), np.linspace(2, 0.1, 16), 0.0)
    recipe = Recipe(optimiser="sgd", clip=None, batch_size=8)
    scene = Scene(family, Optimum(law), law, Entries(shape), recipe)
    network = scene.member(0).eval()
    generator = scene.generator(0)
    here, batch = scene.look(16, generator), scene.batch(generator)
    target = torch.from_numpy(batch.eps).float().view(batch.x.shape)  # tested above to be eps - x_0
    rate = 1e-3
    before = network(here.x, here.t).detach().double()
    loss = (network(batch.x, batch.t) - target).square().mean()
    gradients = torch.autograd.grad(loss, list(network.parameters()))
    ours = first_move(
        batch_gradient(scene, network, batch), dict(network.named_parameters()), recipe
    )
    for value, (name, _) in zip(gradients, network.named_parameters(), strict=True):
        torch.testing.assert_close(ours[name].float(), value, rtol=1e-4, atol=1e-6)
    moved = scene.moved(network, ours, here)
    with torch.no_grad():
        for parameter, value in zip(network.parameters(), gradients, strict=True):
            parameter -= rate * value
        after = network(here.x, here.t).double()
    change = ((after - before) / -rate).flatten(1).numpy()
    np.testing.assert_allclose(moved, change, rtol=0.05, atol=0.02 * np.abs(change).max())


def test_v_on_white_noise_has_nothing_to_learn():
    """The best v of N(0, I) is a eps* - b x_0* = a b x - b a x = 0."""
    with pytest.raises(InputError, match="nothing to learn"):
        sads.forecast("cnn,width=4,depth=1,prediction=v", "gaussian", shape="1x4x4", networks=8)


def test_a_monitor_of_noise_levels():
    path = PATHS["edm"]
    monitor = Monitor(SHAPE, schedule=path, time="sigma", bins=5)
    assert monitor.edges[[0, -1]] == pytest.approx(path.sigma[[0, -1]])
    counts = np.histogram(path.sigma, monitor.edges)[0]
    assert counts.tolist() == [10] * 5
    t = torch.from_numpy(path.sigma)
    monitor.update(torch.ones(STEPS, 4), torch.zeros(STEPS, 4), t)
    np.testing.assert_allclose(
        (monitor.loss() * monitor.directions.widths[:, None]).sum(0), [4] * 5
    )
