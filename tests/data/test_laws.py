"""Laws of data against brute force: importance sampling from the prior."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from sads.data.laws import Law, Mixture, Normal, Sphere
from sads.errors import InputError

PRIOR = 400_000


def _orthonormal(size: int, count: int, seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((size, count)))[0]


def _normal(seed: int = 0) -> Normal:
    mean = np.array([0.5, -1.0, 0.3, 0.0, 0.2])
    return Normal(mean, _orthonormal(5, 2, seed), np.array([2.0, 0.3]), 0.7)


def _laws() -> dict[str, Law]:
    direction = np.array([0.6, 0.0, -0.8, 0.0])
    far = Normal(np.array([2.0, 0, 0, 0, 1.0]), _orthonormal(5, 1, 3), np.array([0.5]), 0.1)
    moment = np.cov(np.random.default_rng(5).standard_normal((4, 30)))
    return {
        "white": Normal.white(3),
        "rank one": Normal.rank_one(direction),
        "normal with a mean": _normal(),
        "moment": Normal.of_moment(moment),
        "mixture": Mixture(np.array([0.3, 0.7]), (_normal(1), far)),
        "sphere": Sphere(_orthonormal(4, 3, 2)),
    }


@pytest.mark.parametrize("name", _laws())
@pytest.mark.parametrize("abar", [0.05, 0.5, 0.8])
def test_the_optimum_is_the_posterior_mean(name: str, abar: float) -> None:
    law = _laws()[name]
    generator = np.random.default_rng(11)
    prior = law.draw(PRIOR, generator)
    clean = law.draw(3, generator)
    eps = generator.standard_normal(clean.shape)
    x = np.sqrt(abar) * clean + np.sqrt(1 - abar) * eps
    optimum = law.optimal_noise(x, np.full(3, abar))
    for row, own in zip(x, optimum, strict=True):
        logs = -((row - np.sqrt(abar) * prior) ** 2).sum(axis=1) / (2 * (1 - abar))
        weights = np.exp(logs - logs.max())
        weights /= weights.sum()
        noise = (row - np.sqrt(abar) * prior) / np.sqrt(1 - abar)
        brute = weights @ noise
        # The delta method's error of a self-normalised mean; 18 x 5 values, none beyond 5 of them
        # by chance (5e-5).
        error = np.sqrt((weights**2) @ (noise - brute) ** 2)
        assert (np.abs(brute - own) < 5 * error + 1e-12).all()


@pytest.mark.parametrize("name", _laws())
def test_samples_have_the_moments_of_the_law_and_stay_in_its_support(name: str) -> None:
    law = _laws()[name]
    samples = law.draw(50_000, np.random.default_rng(0))
    if law.support is not None:
        outside = samples - samples @ law.support @ law.support.T
        assert np.abs(outside).max() < 1e-9
    if isinstance(law, Normal):
        covariance = law.basis * law.variances @ law.basis.T
        covariance += law.rest * (np.eye(law.size) - law.basis @ law.basis.T)
        spread = 6 * np.diag(covariance).max() / np.sqrt(len(samples))
        assert np.allclose(samples.mean(axis=0), law.mean, atol=spread)
        assert np.allclose(np.cov(samples.T), covariance, atol=2 * spread)


def test_log_densities_are_scipys_up_to_the_constant() -> None:
    law, abar = _normal(), 0.6
    covariance = law.basis * law.variances @ law.basis.T
    covariance += law.rest * (np.eye(5) - law.basis @ law.basis.T)
    x = np.random.default_rng(1).standard_normal((7, 5))
    truth = multivariate_normal(
        np.sqrt(abar) * law.mean, abar * covariance + (1 - abar) * np.eye(5)
    ).logpdf(x)
    own = law.log_density(x, np.full(7, abar)) - 5 / 2 * np.log(2 * np.pi)
    assert np.allclose(own, truth)


def test_a_mixture_of_one_component_is_that_component() -> None:
    law, x = _normal(), np.random.default_rng(2).standard_normal((6, 5))
    abar = np.linspace(0.001, 0.999, 6)
    one = Mixture(np.ones(1), (law,))
    assert np.allclose(one.optimal_noise(x, abar), law.optimal_noise(x, abar))


def test_laws_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="not negative"):
        Normal(np.zeros(2), np.zeros((2, 0)), np.zeros(0), -1.0)
    with pytest.raises(InputError, match="orthonormal"):
        Normal(np.zeros(2), np.ones((2, 1)), np.ones(1), 0.0)
    with pytest.raises(InputError, match="sum to one"):
        Mixture(np.array([0.5, 0.6]), (Normal.white(2), Normal.white(2)))
    with pytest.raises(InputError, match="one weight"):
        Mixture(np.array([1.0]), ())
