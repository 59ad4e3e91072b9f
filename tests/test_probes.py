"""One suite for every probe: what it draws, what it says of it, and what it refuses."""

import math

import numpy as np
import pytest

from sads.errors import InputError
from sads.path import Schedule
from sads.probes import Forward, Gaussian, Point, Probe, Zero

SHAPE = (2, 3, 4)
SCHEDULE = Schedule("linear", 50)
IMAGES = np.random.default_rng(5).uniform(-1, 1, (3, *SHAPE))
EXAMPLES = [Zero(), Gaussian(0.7), Point(IMAGES[0]), Forward(IMAGES)]
DRAWS = 20_000
each = pytest.mark.parametrize("probe", EXAMPLES, ids=lambda probe: type(probe).__name__)


def draw(probe: Probe, t: np.ndarray, seed: int = 0) -> np.ndarray:
    return probe.draw(t, SHAPE, SCHEDULE, np.random.default_rng(seed)).numpy()


def test_every_probe_passes_this_suite():
    assert {type(probe) for probe in EXAMPLES} == set(Probe.__subclasses__())


@each
def test_draws_are_samples_that_the_seed_decides(probe):
    t = np.array([0, 7, 49])
    x = draw(probe, t)
    assert (x.shape, x.dtype) == ((3, *SHAPE), np.float32)
    np.testing.assert_array_equal(x, draw(probe, t))


@each
@pytest.mark.parametrize("timestep", [0, 30, 49])
def test_the_energy_is_that_of_many_draws(probe, timestep):
    squares = (draw(probe, np.full(DRAWS, timestep)).astype(float) ** 2).reshape(DRAWS, -1).sum(1)
    expected = probe.energy(math.prod(SHAPE), SCHEDULE)
    assert expected.shape == (SCHEDULE.steps,)
    error = squares.std() / np.sqrt(DRAWS)
    assert abs(squares.mean() - expected[timestep]) <= 5 * error + 1e-5 * expected[timestep]


@each
def test_an_isotropic_variance_is_that_of_every_entry_alone(probe):
    x = draw(probe, np.full(DRAWS, 30)).astype(float).reshape(DRAWS, -1)
    moment, variance = x.T @ x / DRAWS, probe.isotropic_variance
    spread = 6 * np.abs(x).max() ** 2 / np.sqrt(DRAWS)
    isotropic = np.allclose(moment, moment.trace() / len(moment) * np.eye(len(moment)), atol=spread)
    assert variance is None or (isotropic and moment[0, 0] == pytest.approx(variance, rel=0.1))


@each
def test_what_is_free_of_shifts_has_no_preferred_position(probe):
    """The mean and the second moment are the same at every entry."""
    x = draw(probe, np.full(DRAWS, 10)).astype(float).reshape(DRAWS, -1)
    spread = 6 * max(np.abs(x).max(), 1e-12) ** 2 / np.sqrt(DRAWS)
    alike = np.ptp(x.mean(0)) < spread and np.ptp((x**2).mean(0)) < spread
    assert alike or not probe.shift_free


@each
def test_its_name_tells_it_from_the_others(probe):
    assert [other.describe() for other in EXAMPLES].count(probe.describe()) == 1


@pytest.mark.parametrize("probe", [Point(IMAGES[0, :1]), Forward(IMAGES[:, :1])])
def test_samples_of_another_shape_are_refused(probe):
    with pytest.raises(InputError, match="the network takes"):
        draw(probe, np.zeros(1, dtype=int))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Gaussian(0.0),
        lambda: Gaussian(1e10),
        lambda: Point(np.full(SHAPE, np.nan)),
        lambda: Forward(IMAGES[:0]),
    ],
)
def test_what_is_no_distribution_is_refused(make):
    with pytest.raises(InputError):
        make()
