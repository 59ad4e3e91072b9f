"""W2 to a known Gaussian: against quadrature, a dense sample, and special cases."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from sads.distances import gaussian_wasserstein, gaussian_wasserstein_1d


def by_quadrature(sample: np.ndarray, mean: float, std: float) -> float:
    """The integral over the line: q = Phi(z) makes each bin smooth, also the outer two."""
    edges = norm.ppf(np.arange(len(sample) + 1) / len(sample)).clip(-12, 12)
    total = sum(
        quad(lambda z, x=x: (x - mean - std * z) ** 2 * norm.pdf(z), low, high, epsabs=1e-14)[0]
        for x, low, high in zip(np.sort(sample), edges[:-1], edges[1:], strict=True)
    )
    return math.sqrt(total)


@pytest.mark.parametrize("count", [1, 2, 3, 10, 50])
@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (1.5, 0.3), (-2.0, 4.0), (0.5, 0.0)])
def test_agrees_with_numerical_integration(count: int, mean: float, std: float) -> None:
    sample = np.random.default_rng(count).standard_normal(count)
    ours = gaussian_wasserstein_1d(sample, mean=mean, std=std)
    assert ours == pytest.approx(by_quadrature(sample, mean, std), rel=1e-7)


def test_agrees_with_the_quantiles_of_scipy() -> None:
    """The midpoint rule on 1,000 quantiles in each bin; its error is in the two tails."""
    sample = np.random.default_rng(0).standard_normal(200) + 1
    levels = (np.arange(200_000) + 0.5) / 200_000
    quantiles = norm.ppf(levels, loc=0.5, scale=2)
    expected = math.sqrt(np.mean((np.repeat(np.sort(sample), 1000) - quantiles) ** 2))
    ours = gaussian_wasserstein_1d(sample, mean=0.5, std=2)
    assert ours == pytest.approx(expected, rel=1e-4)


def test_a_point_mass_is_the_root_mean_square() -> None:
    sample = np.array([1.0, 2.0, 4.0])
    expected = math.sqrt((1 + 0 + 4) / 3)
    assert gaussian_wasserstein_1d(sample, mean=2, std=0) == pytest.approx(expected, rel=1e-14)


@given(
    seed=st.integers(0, 2**32 - 1),
    mean=st.floats(-10, 10),
    std=st.floats(0, 10),
    shift=st.floats(-10, 10),
    scale=st.floats(0.1, 10),
)
@settings(deadline=None, max_examples=50, derandomize=True)
def test_moves_and_scales_with_both(
    seed: int, mean: float, std: float, shift: float, scale: float
) -> None:
    sample = np.random.default_rng(seed).standard_normal(20)
    plain = gaussian_wasserstein_1d(sample, mean=mean, std=std)
    moved = gaussian_wasserstein_1d(
        scale * sample + shift, mean=scale * mean + shift, std=scale * std
    )
    assert moved == pytest.approx(scale * plain, rel=1e-9)


def test_a_large_sample_comes_close_to_its_own_law_and_to_the_closed_form() -> None:
    """W2(N(0, 1), N(a, s^2))^2 = a^2 + (1 - s)^2; 20,000 points are within 0.05 of their law."""
    sample = np.random.default_rng(1).standard_normal(20_000)
    assert gaussian_wasserstein_1d(sample, std=1) < 0.05
    far = gaussian_wasserstein_1d(sample, mean=3, std=5)
    assert far == pytest.approx(5, abs=0.05)


def test_along_and_across_a_planted_direction() -> None:
    """Rank-one data: N(0, D) along v, the point 0 across."""
    generator = np.random.default_rng(2)
    v, w = np.linalg.qr(generator.standard_normal((9, 2)))[0].T
    g = generator.standard_normal(500)
    x = math.sqrt(9) * g[:, None] * v
    along = gaussian_wasserstein(x, 7 * v, std=3)
    assert along == pytest.approx(gaussian_wasserstein_1d(3 * g, std=3), rel=1e-12)
    assert gaussian_wasserstein(x, w, std=0) < 1e-12
    assert gaussian_wasserstein(x, w, std=3) == pytest.approx(3, rel=1e-12)
