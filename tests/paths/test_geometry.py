"""`integrated` and `naive` are the same quantity for every path and prediction."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import t as student

import sads
from sads.directions import FOLDS
from sads.geometry import Forward, Gaussian, Zero, estimate_geometry
from sads.networks import CNN, ScoreFamily

from .cases import PAIRS, PATHS

SHAPE = (1, 4, 4)
SPAN = (10, 50)  # the weight of the first levels would leave few effective naive networks
ERROR_RATE = 1e-4  # of each test below, shared among its comparisons
PROBES = {
    "gaussian": Gaussian(0.7),
    "forward": Forward(np.random.default_rng(5).uniform(-1, 1, (3, *SHAPE))),
}


def family(path: str, prediction: str, **told) -> ScoreFamily:
    factory = partial(CNN, SHAPE, width=4, depth=1)
    return ScoreFamily(factory, SHAPE, PATHS[path], "cnn", prediction=prediction, **told)


def agree(made: ScoreFamily, **options) -> None:
    """Quadratic forms along DCT-like fixed directions and the trace, by folds."""
    fast = estimate_geometry(made, networks=240, seed=1, **options)
    slow = estimate_geometry(made, networks=768, seed=2, estimator="naive", **options)
    vectors = np.linalg.qr(np.random.default_rng(0).standard_normal((16, 16)))[0]
    vectors = np.hstack([vectors[:, :4], np.full((16, 1), 0.25)])
    values = []
    for geometry in (fast, slow):
        matrices = [geometry.structure.apply(fold, np.eye(16)) for fold in geometry.folds]
        forms = [[*np.einsum("ij,ik,kj->j", vectors, m, vectors), np.trace(m)] for m in matrices]
        values.append(np.array(forms))
    means = [v.mean(0) for v in values]
    errors = [v.std(0, ddof=1) / np.sqrt(FOLDS) for v in values]
    z = np.abs(means[0] - means[1]) / np.hypot(*errors)
    assert z.max() < student.ppf(1 - ERROR_RATE / (2 * len(z)), FOLDS - 1)
    assert errors[0][-1] < 0.2 * means[0][-1]  # it has the power to see a wrong scale


@pytest.mark.parametrize(("path", "prediction"), PAIRS)
def test_integrated_agrees_with_naive(path: str, prediction: str):
    """At Gaussian inputs, and on the forward process, where the constant part differs by level."""
    probe = "gaussian" if prediction in ("eps", "score", "v") else "forward"
    made = family(path, prediction)
    agree(made, probe=PROBES[probe], timesteps=SPAN)


@pytest.mark.parametrize("told", [{"time": "unit"}, {"time": "thousand", "reverse": True}])
def test_other_times_and_directions_of_time(told):
    agree(family("flow", "flow", **told), probe=PROBES["gaussian"], timesteps=SPAN)


def test_at_zero_only_the_scale_differs_between_predictions():
    """Without an input there is no constant part: tr G_p / tr G_eps = E[w s^2] / E[w] if t is not
    seen, which a network of one plain convolution does not.
    """
    path = PATHS["flow"]
    geometries = {
        name: estimate_geometry(family("flow", name), networks=240, probe=Zero())
        for name in ("eps", "flow", "x0", "score", "v")
    }
    a, b = path.signal, path.noise
    scales = {"eps": 1, "flow": a, "x0": a / b, "score": b, "v": a / (a**2 + b**2)}
    for name, geometry in geometries.items():
        expected = np.mean(scales[name] ** 2 / b**2)
        assert geometry.plan.scale == pytest.approx(expected, rel=1e-6)


def test_a_stored_geometry_keeps_its_path(tmp_path):
    made = family("shifted", "flow")
    estimate_geometry(made, networks=24, out=tmp_path)
    again = sads.load_geometry(tmp_path)
    assert again.plan.path == PATHS["shifted"]
    assert again.plan.parameters == {"shift": 3.0}
    assert again.plan.assumptions is not None
    assert (again.plan.assumptions.prediction, again.plan.assumptions.schedule) == ("flow", "flow")
    other = ScoreFamily(made.factory, SHAPE, PATHS["flow"], "cnn", prediction="flow")
    with pytest.raises(sads.ArtefactError, match="parameters was"):
        estimate_geometry(other, networks=48, out=tmp_path)
