"""Tables, times and names of paths."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sads.errors import InputError
from sads.path import (
    EDM,
    DiffusionPath,
    RectifiedFlow,
    Schedule,
    VarianceExploding,
    path_of,
    prediction_named,
    time_values,
)

from .cases import PATHS, STEPS


@pytest.mark.parametrize("name", PATHS)
def test_noise_grows_and_powers_are_squares(name: str):
    path = PATHS[name]
    assert len(path.signal) == len(path.noise) == path.steps == STEPS
    assert (path.signal > 0).all()
    assert (path.noise > 0).all()
    assert (np.diff(path.sigma) > 0).all()
    np.testing.assert_allclose(path.signal_power, path.signal**2, rtol=1e-12)
    np.testing.assert_allclose(path.noise_power, path.noise**2, rtol=1e-12)
    np.testing.assert_allclose(path.power, path.signal**2 + path.noise**2, rtol=1e-12)
    np.testing.assert_allclose(path.sigma, path.noise / path.signal, rtol=1e-9)
    np.testing.assert_allclose(path.contrast * path.sigma, 1)
    np.testing.assert_allclose(path.score_weights * path.noise**2, 1)


@given(steps=st.integers(2, 300), shift=st.floats(0.1, 20))
def test_a_shift_multiplies_the_ratio_of_noise_to_signal(steps: int, shift: float):
    """T = s u / (1 + (s - 1) u) is t / (1 - t) = s u / (1 - u)."""
    plain, shifted = RectifiedFlow(steps), RectifiedFlow(steps, shift)
    np.testing.assert_allclose(shifted.sigma, shift * plain.sigma, rtol=1e-9)
    np.testing.assert_allclose(shifted.signal + shifted.noise, 1)


def test_exploding_paths_have_their_ends_and_published_forms():
    for path in (VarianceExploding(7, 0.1, 3.0), EDM(7, 0.1, 3.0)):
        assert path.noise[[0, -1]] == pytest.approx([0.1, 3.0])
        assert (path.signal == 1).all()
    ratios = np.diff(np.log(VarianceExploding(7, 0.1, 3.0).noise))
    assert ratios == pytest.approx([ratios[0]] * 6)
    roots = EDM(7, 0.1, 3.0).noise ** (1 / 7)
    assert np.diff(roots) == pytest.approx([np.diff(roots)[0]] * 6)


@pytest.mark.parametrize("name", PATHS)
def test_a_stored_name_gives_the_path_back(name: str):
    path = PATHS[name]
    assert path_of(path.kind, path.steps, path.parameters) == path
    assert path_of(path.kind, path.steps, dict(path.parameters)) == path


@pytest.mark.parametrize("name", PATHS)
def test_ancestral_noise_is_that_of_the_joint_law(name: str):
    """Var(x_s | x_t, x_0) from the covariance of (x_s, x_t) given x_0, for a Markov chain."""
    path = PATHS[name]
    t, s = 40, 12
    a, b = path.signal, path.noise
    # x_t = (a_t / a_s) x_s + fresh noise: Cov(x_s, x_t | x_0) = (a_t / a_s) b_s^2.
    covariance = a[t] / a[s] * b[s] ** 2
    expected = b[s] ** 2 - covariance**2 / b[t] ** 2
    assert path.posterior_deviation(t, s) ** 2 == pytest.approx(expected, rel=1e-9)
    assert path.posterior_deviation(t, None) == 0


@pytest.mark.parametrize("name", PATHS)
def test_times(name: str):
    path = PATHS[name]
    assert time_values("index", path).tolist() == list(range(STEPS))
    assert time_values("index", path, reverse=True).tolist() == list(range(STEPS))[::-1]
    unit = time_values("unit", path)
    assert (np.diff(unit) > 0).all()
    assert 0 <= unit[0] < unit[-1] <= 1
    np.testing.assert_allclose(time_values("unit", path, reverse=True), 1 - unit)
    np.testing.assert_allclose(time_values("thousand", path), 1000 * unit)
    np.testing.assert_allclose(time_values("thousand", path, reverse=True), 1000 - 1000 * unit)
    np.testing.assert_allclose(time_values("sigma", path), path.noise / path.signal)
    np.testing.assert_allclose(np.exp(4 * time_values("log-sigma", path)), path.sigma)


def test_the_time_of_a_flow_is_its_share_of_noise():
    path = RectifiedFlow(20, shift=2.0)
    np.testing.assert_array_equal(time_values("unit", path), path.noise)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: RectifiedFlow(1), "at least 2 steps"),
        (lambda: RectifiedFlow(shift=0.0), "positive number, got 0"),
        (lambda: RectifiedFlow(shift=float("nan")), "positive number, got nan"),
        (lambda: VarianceExploding(smallest=0.0), "must be positive"),
        (lambda: EDM(smallest=2.0, largest=1.0), "the largest above it"),
        (lambda: EDM(rho=-1.0), "rho of EDM"),
        (lambda: path_of("straight"), "linear, cosine, flow, ve, edm"),
        (lambda: path_of("edm", 10, {"shift": 2.0}), "no parameters shift"),
        (lambda: prediction_named("w"), "eps, v, x0, flow, score"),
        (lambda: time_values("seconds", Schedule()), "index, unit, thousand, sigma, log-sigma"),
        (lambda: time_values("sigma", Schedule(), reverse=True), "has no reverse"),
    ],
)
def test_bad_input_is_refused(make, said: str):
    with pytest.raises(InputError, match=said):
        make()


@dataclass(frozen=True)
class Ends(DiffusionPath):
    """A straight path whose grid includes the data or the noise alone."""

    first: float = 0.1
    last: float = 0.9
    steps: int = 5
    kind = "ends"

    @property
    def noise(self) -> np.ndarray:
        return np.linspace(self.first, self.last, self.steps)

    @property
    def signal(self) -> np.ndarray:
        return 1 - self.noise

    @property
    def unit_times(self) -> np.ndarray:
        return self.noise


@pytest.mark.parametrize("prediction", ["v", "x0", "flow"])
def test_predictions_that_tell_no_noise_without_signal_are_refused(prediction: str):
    with pytest.raises(
        InputError, match=f"{prediction} does not determine .* level 4 .* no signal"
    ):
        prediction_named(prediction).conversion(Ends(last=1.0))
    prediction_named(prediction).conversion(Ends())


@pytest.mark.parametrize("prediction", ["x0", "score"])
def test_predictions_that_tell_no_noise_without_noise_are_refused(prediction: str):
    with pytest.raises(InputError, match=f"{prediction} does not determine .* level 0 .* no noise"):
        prediction_named(prediction).conversion(Ends(first=0.0))


def test_there_is_no_score_without_noise():
    with pytest.raises(InputError, match="no noise at level 0 of 5"):
        Ends(first=0.0).weights("score")
    assert Ends(first=0.0).weights("noise").tolist() == [1] * 5
