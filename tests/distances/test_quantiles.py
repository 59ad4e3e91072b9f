"""W2 on the line against POT, and its gradient against finite differences."""

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sads.distances.quantiles import Coupling

SIZES = st.integers(1, 40)
SEEDS = st.integers(0, 2**32 - 1)


@given(n=SIZES, m=SIZES, seed=SEEDS)
@settings(deadline=None, derandomize=True)
def test_agrees_with_pot_for_all_sizes(n: int, m: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    x, y = generator.standard_normal((3, n)), 2 * generator.standard_normal((3, m)) + 1
    ours = Coupling.of_sizes(n, m).squared(np.sort(x), np.sort(y))
    theirs = ot.wasserstein_1d(x.T.copy(), y.T.copy(), p=2)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@given(n=SIZES, m=SIZES)
def test_the_marginals_of_the_coupling_are_uniform(n: int, m: int) -> None:
    coupling = Coupling.of_sizes(n, m)
    np.testing.assert_allclose(np.bincount(coupling.i, coupling.weights), np.full(n, 1 / n))
    np.testing.assert_allclose(np.bincount(coupling.j, coupling.weights), np.full(m, 1 / m))
    assert len(coupling.weights) == n + m - np.gcd(n, m)


def test_repeating_every_point_changes_nothing() -> None:
    generator = np.random.default_rng(0)
    x, y = (np.sort(generator.standard_normal((1, size))) for size in (30, 21))
    once = Coupling.of_sizes(30, 21).squared(x, y)
    again = Coupling.of_sizes(60, 105).squared(np.repeat(x, 2, axis=1), np.repeat(y, 5, axis=1))
    assert again == pytest.approx(once, rel=1e-12)


@pytest.mark.parametrize(("n", "m"), [(7, 7), (7, 5), (4, 12)])
def test_residuals_are_half_the_gradient(n: int, m: int) -> None:
    generator = np.random.default_rng(1)
    p, q = generator.standard_normal(n), generator.standard_normal(m) + 1
    coupling = Coupling.of_sizes(n, m)

    def squared(points: np.ndarray) -> float:
        return coupling.squared(np.sort(points[None, :n]), np.sort(points[None, n:])).item()

    points, step = np.concatenate([p, q]), 1e-6
    bumps = step * np.eye(n + m)
    gradient = [(squared(points + bump) - squared(points - bump)) / (2 * step) for bump in bumps]
    a, b = coupling.residuals(p, q)
    np.testing.assert_allclose(2 * np.concatenate([a, -b]), gradient, atol=1e-8)
