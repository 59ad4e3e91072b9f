"""Risk against the closed form of a linear network and against brute force."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from sads.data.laws import Mixture, Normal, Sphere
from sads.directions.sets import ChannelMeans, Columns, Entries
from sads.errors import InputError, NetworkError
from sads.learning import HeldOut, Optimum, measure_risk
from sads.learning.strata import Strata, bound_weights, uniform_weights
from sads.path import Schedule

SHAPE, SIZE = (1, 2, 3), 6
SCHEDULE = Schedule(steps=50)


def _matrix(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((SIZE, SIZE)) / 2


def _linear(matrix: np.ndarray):
    def predict(x: Tensor, t: Tensor) -> Tensor:
        return (x.flatten(1).double() @ torch.from_numpy(matrix).T).view(x.shape)

    return predict


def _truth(matrix: np.ndarray, law: Normal) -> np.ndarray:
    """E[r r^T] at every timestep: r = (A - S_t) x_t - S_t's part of the mean, exactly."""
    covariance = law.basis * law.variances @ law.basis.T
    covariance += law.rest * (np.eye(law.size) - law.basis @ law.basis.T)
    moments = []
    for abar in SCHEDULE.abar:
        noisy = abar * covariance + (1 - abar) * np.eye(SIZE)
        optimal = math.sqrt(1 - abar) * np.linalg.inv(noisy)
        mean = math.sqrt(abar) * matrix @ law.mean
        rest = matrix - optimal
        moments.append(rest @ noisy @ rest.T + np.outer(mean, mean))
    return np.array(moments)


def _basis(count: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(7).standard_normal((SIZE, count)))[0]


LAWS = {
    "white": Normal.white(SIZE),
    "rank one": Normal.rank_one(_basis(1)[:, 0]),
    "mean": Normal(np.linspace(-1, 1, SIZE), _basis(2), np.array([3.0, 0.2]), 0.5),
}


@pytest.mark.parametrize("name", LAWS)
def test_the_risk_of_a_linear_network_is_its_closed_form(name: str) -> None:
    law, matrix = LAWS[name], _matrix()
    risk = measure_risk(
        _linear(matrix), Optimum(law), SCHEDULE, SHAPE, directions=Entries(SHAPE), tolerance=0.01
    )
    moments = _truth(matrix, law)
    by_step = np.trace(moments, axis1=1, axis2=2)
    # About 190 comparisons in all tests of this kind at 5 standard errors: 1e-4 by chance.
    assert abs(risk.total - by_step.mean()) < 5 * risk.total_error
    assert risk.total_error < 0.011 * risk.total
    nats = float(bound_weights(SCHEDULE) @ by_step)
    assert abs(risk.nats - nats) < 5 * risk.nats_error
    assert risk.nats_error < 0.026 * risk.nats
    along_direction = moments.mean(axis=0).diagonal()
    assert (np.abs(risk.by_direction - along_direction) < 5 * risk.by_direction_error).all()
    shares = np.linspace(0, len(by_step), len(risk.by_timestep) + 1)
    cumulated = np.interp(shares, np.arange(len(by_step) + 1), np.append(0, by_step.cumsum()))
    bins = np.diff(cumulated) / np.diff(shares)
    assert (np.abs(risk.by_timestep - bins) < 5 * risk.by_timestep_error).all()
    assert np.allclose(risk.table.sum(axis=0), risk.by_timestep)
    assert risk.exact
    if law.support is None:
        assert risk.along is None
        assert risk.off is None
    else:
        inside = law.support.T @ moments.mean(axis=0) @ law.support
        assert risk.along is not None
        assert abs(risk.along - np.trace(inside)) < 5 * (risk.along_error or 0)
        assert math.isclose(risk.along + (risk.off or 0), risk.total)


@pytest.mark.parametrize(
    "law",
    [
        Sphere(_basis(3)),
        Mixture(np.array([0.4, 0.6]), (LAWS["mean"], Normal.rank_one(_basis(1)[:, 0]))),
    ],
    ids=["sphere", "mixture"],
)
def test_the_risk_of_other_laws_is_brute_force(law: Sphere | Mixture) -> None:
    """The loss is the risk plus what the optimum itself loses, from a million independent draws."""
    matrix, count = _matrix(), 1_000_000
    risk = measure_risk(_linear(matrix), Optimum(law), SCHEDULE, SHAPE, tolerance=0.005)
    generator = np.random.default_rng(3)
    t = generator.integers(SCHEDULE.steps, size=count)
    abar = SCHEDULE.abar[t]
    eps = generator.standard_normal((count, SIZE))
    x = np.sqrt(abar)[:, None] * law.draw(count, generator) + np.sqrt(1 - abar)[:, None] * eps
    loss = ((x @ matrix.T - eps) ** 2).sum(axis=1)
    least = ((law.optimal_noise(x, abar) - eps) ** 2).sum(axis=1)
    excess = loss - least
    error = math.hypot(float(excess.std() / math.sqrt(count)), risk.total_error)
    assert abs(risk.total - excess.mean()) < 4 * error  # by chance in 6e-5
    assert error < 0.02 * risk.total


def test_stated_errors_are_those_between_seeds() -> None:
    matrix, reference = _matrix(), Optimum(LAWS["rank one"])
    risks = [
        measure_risk(_linear(matrix), reference, SCHEDULE, SHAPE, tolerance=0.05, seed=seed)
        for seed in range(60)
    ]
    for name in ("total", "along", "off", "nats"):
        values = np.array([getattr(risk, name) for risk in risks])
        stated = np.mean([getattr(risk, f"{name}_error") for risk in risks])
        # A standard deviation from 60 values spreads by 9 %: 0.65 to 1.35 is four of those.
        assert 0.65 < values.std(ddof=1) / stated < 1.35


def test_the_perfect_network_has_no_risk_and_the_loss_is_risk_plus_the_irreducible() -> None:
    law = LAWS["rank one"]

    def perfect(x: Tensor, t: Tensor) -> Tensor:
        flat = x.flatten(1).double().numpy()
        return torch.from_numpy(law.optimal_noise(flat, SCHEDULE.abar[t.numpy()])).view(x.shape)

    risk = measure_risk(perfect, Optimum(law), SCHEDULE, SHAPE)
    assert risk.total < 1e-20
    assert risk.nats < 1e-15


def test_differences_of_losses_are_differences_of_risks_with_smaller_errors() -> None:
    law = LAWS["rank one"]
    first, second = _matrix(), _matrix() + 0.02
    samples = law.draw(100_000, np.random.default_rng(0))
    held_out = HeldOut(samples)
    truth = np.trace(_truth(second, law) - _truth(first, law), axis1=1, axis2=2).mean()
    for reference in (held_out, Optimum(law)):
        difference = measure_risk(
            _linear(first), reference, SCHEDULE, SHAPE, other=_linear(second), tolerance=0.003
        )
        assert abs(difference.total - truth) < 5 * difference.total_error
        assert difference.exact == reference.exact
        alone = measure_risk(_linear(first), reference, SCHEDULE, SHAPE, tolerance=0.01)
        per_draw = alone.total_error * math.sqrt(alone.evaluations)
        paired = difference.total_error * math.sqrt(difference.evaluations / 2)
        assert paired < per_draw / 3


def test_a_network_against_itself_differs_by_nothing() -> None:
    held_out = HeldOut(LAWS["white"].draw(50, np.random.default_rng(0)))
    same = measure_risk(_linear(_matrix()), held_out, SCHEDULE, SHAPE, other=_linear(_matrix()))
    assert same.total == 0
    assert same.total_error == 0
    assert not same.table.any()


def test_strata_estimate_any_sum_over_timesteps() -> None:
    for weights in (uniform_weights(SCHEDULE), bound_weights(SCHEDULE)):
        strata = Strata(weights, 8)
        t = strata.draw(20_000, np.random.default_rng(0))
        frequency = np.bincount(t, minlength=SCHEDULE.steps) / len(t)
        assert np.allclose(frequency, weights / weights.sum(), atol=0.003)
        assert strata.edges[0] == 0
        assert strata.edges[-1] == SCHEDULE.steps
        for b, part in enumerate(t.reshape(8, -1)):
            assert part.min() >= strata.edges[b]
            assert part.max() <= strata.edges[b + 1]


def test_the_weights_of_the_bound_are_those_of_its_posterior() -> None:
    beta, abar = SCHEDULE.betas, SCHEDULE.abar
    weights = bound_weights(SCHEDULE)
    for t in (1, 7, 49):
        # The means of q and p differ by beta / sqrt(alpha (1 - abar)) times the error in eps.
        posterior = beta[t] * (1 - abar[t - 1]) / (1 - abar[t])
        gap = beta[t] ** 2 / ((1 - beta[t]) * (1 - abar[t]))
        assert math.isclose(weights[t], gap / (2 * posterior))
    assert math.isclose(weights[0], 1 / (2 * (1 - beta[0])))


def test_what_cannot_be_measured_is_refused() -> None:
    predict, reference = _linear(_matrix()), Optimum(LAWS["white"])
    with pytest.raises(InputError, match="6 entries, the data have 4"):
        measure_risk(predict, Optimum(Normal.white(4)), SCHEDULE, SHAPE)
    with pytest.raises(InputError, match="between 0 and 1"):
        measure_risk(predict, reference, SCHEDULE, SHAPE, tolerance=2.0)
    with pytest.raises(InputError, match="directions are of samples"):
        measure_risk(predict, reference, SCHEDULE, SHAPE, directions=ChannelMeans((6, 1, 1)))
    with pytest.raises(NetworkError, match="NaN or infinity"):
        measure_risk(lambda x, t: x * math.nan, reference, SCHEDULE, SHAPE)
    with pytest.raises(InputError, match="NaN or infinite"):
        HeldOut(np.full((2, 6), np.nan))


def test_columns_are_one_row_of_the_table_each() -> None:
    columns = Columns(SHAPE, _basis(2))
    risk = measure_risk(
        _linear(_matrix()), Optimum(LAWS["white"]), SCHEDULE, SHAPE, directions=columns
    )
    assert risk.table.shape == (2, 20)
    assert (risk.widths == 1).all()
