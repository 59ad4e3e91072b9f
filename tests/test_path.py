import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sads.errors import InputError
from sads.path import Schedule


def test_linear_schedule_is_the_papers():
    schedule = Schedule()
    assert schedule.betas[0] == pytest.approx(1e-4)
    assert schedule.betas[-1] == pytest.approx(2e-2)
    assert schedule.score_weights.mean() == pytest.approx(32.054, abs=1e-3)
    # t = 0 alone carries 31 % of the weight.
    assert schedule.score_weights[0] / schedule.score_weights.sum() == pytest.approx(0.31, abs=0.01)


def test_effective_sample_size_of_uniform_timesteps():
    weights = Schedule().score_weights
    assert weights.mean() ** 2 / np.mean(weights**2) == pytest.approx(0.0074, abs=2e-4)


@given(kind=st.sampled_from(["linear", "cosine"]), steps=st.integers(21, 2000))
def test_signal_falls_and_variance_is_preserved(kind: str, steps: int):
    schedule = Schedule(kind, steps)
    assert np.all((schedule.betas > 0) & (schedule.betas < 1))
    assert np.all(np.diff(schedule.abar) < 0)
    np.testing.assert_allclose(schedule.abar, np.exp(np.cumsum(np.log1p(-schedule.betas))))
    np.testing.assert_allclose(schedule.score_weights * (1 - schedule.abar), 1)


@pytest.mark.parametrize("arguments", [("quadratic", 1000), ("linear", 20)])
def test_bad_schedules_are_refused(arguments):
    with pytest.raises(InputError):
        Schedule(*arguments)


def test_bad_weighting_is_refused():
    with pytest.raises(InputError, match="score, noise"):
        Schedule().weights("flat")
