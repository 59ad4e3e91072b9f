"""The optimised direction: found where there is one, and not believed where there is none."""

import numpy as np
import pytest
from scipy.stats import kstest

from sads.distances import MaxSlicedWasserstein, max_sliced_wasserstein, sliced_wasserstein


def planted(
    seed: int, *, size: int, count: int, shift: float = 0.0, scale: float = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two normal samples that differ along one random direction v only."""
    generator = np.random.default_rng(seed)
    v = generator.standard_normal(size)
    v /= np.linalg.norm(v)
    x, y = generator.standard_normal((2, count, size)).astype(np.float32)
    along = y @ v
    y += np.outer((scale - 1) * along + shift, v).astype(np.float32)
    return x, y, v


@pytest.mark.parametrize(("shift", "scale", "cosine"), [(2.0, 1.0, 0.7), (0.0, 3.0, 0.8)])
def test_finds_a_planted_direction(shift: float, scale: float, cosine: float) -> None:
    """D = 1024 and 2,000 points each; a random direction has |cos| of 0.03."""
    hits = 0
    for seed in range(10):
        x, y, v = planted(seed, size=1024, count=2000, shift=shift, scale=scale)
        result = max_sliced_wasserstein(x, y, generator=seed, permutations=199)
        hits += abs(result.direction @ v) > cosine and result.p_value <= 0.01
    assert hits >= 9


@pytest.fixture(scope="module")
def null_results() -> list[MaxSlicedWasserstein]:
    """100 repeats between samples of one distribution, with more dimensions than fit points."""
    results = []
    for seed in range(100):
        x, y, v = planted(seed, size=100, count=120)
        candidates = np.stack([v, np.eye(100)[0]])
        results.append(
            max_sliced_wasserstein(
                x, y[:100], candidates=candidates, generator=seed, permutations=199
            )
        )
    return results


def test_p_values_are_uniform_without_a_difference(null_results: list) -> None:
    """Kolmogorov-Smirnov at 1 in 1,000; the steps of 1/200 in the p-values add 0.005 to 0.19."""
    p_values = [result.p_value for result in null_results]
    assert kstest(p_values, "uniform").pvalue > 1e-3


def test_the_score_is_at_its_null_and_the_fit_is_not(null_results: list) -> None:
    """Four standard errors: by chance in one of 16,000 sets of seeds."""
    excess = np.array([result.msw2 - result.null for result in null_results])
    assert abs(excess.mean()) < 4 * excess.std() / 10
    overfit = np.array([result.fit_value - result.null for result in null_results])
    assert overfit.mean() > 4 * overfit.std() / 10


def test_a_good_candidate_wins_where_the_search_alone_fails() -> None:
    """A bimodal coordinate of mean 0 and variance 1 shows in no moment up to the third."""
    x, y, v = planted(0, size=512, count=1000)
    y += np.outer(np.sign(y @ v) - y @ v, v).astype(np.float32)
    alone = max_sliced_wasserstein(x, y, generator=1, permutations=99)
    helped = max_sliced_wasserstein(x, y, candidates=5 * v[None], generator=1, permutations=99)
    assert abs(alone.direction @ v) < 0.3
    assert abs(helped.direction @ v) > 0.7
    assert helped.p_value == 0.01
    assert helped.msw2 > 3 * helped.null


def test_the_ascent_improves_a_rough_candidate() -> None:
    """The same bimodal coordinate, with a candidate at a cosine of 0.8 from it."""
    x, y, v = planted(1, size=32, count=4000)
    y += np.outer(np.sign(y @ v) - y @ v, v).astype(np.float32)
    across = np.linalg.qr(np.stack([v, np.ones(32)], axis=1))[0][:, 1]
    rough = 0.8 * v + 0.6 * across
    result = max_sliced_wasserstein(x, y, candidates=rough[None], restarts=0, permutations=19)
    assert abs(result.direction @ v) > 0.9


def test_the_difference_of_means_is_a_start() -> None:
    """Two points whose moments about their centre are equal: no eigenvector tells, nor does the
    gradient along a direction across.
    """
    x, y = np.zeros((8, 32)), np.zeros((8, 32))
    y[:, 20] = 3
    result = max_sliced_wasserstein(x, y, restarts=0, permutations=19)
    assert result.msw2 == pytest.approx(3, rel=1e-12)
    assert result.null < 3


def test_low_dimension_comes_close_to_the_supremum() -> None:
    """In the plane all directions can be tried: the scored one is within 10 % of the best."""
    x, y, _ = planted(3, size=2, count=2000, shift=1.0, scale=2.0)
    angles = np.linspace(0, np.pi, 180, endpoint=False)
    every = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    best = sliced_wasserstein(x, y, directions=every).msw2
    result = max_sliced_wasserstein(x, y, permutations=19)
    assert result.msw2 == pytest.approx(best, rel=0.1)
    assert np.linalg.norm(result.direction) == pytest.approx(1, rel=1e-12)


def test_a_common_offset_changes_nothing() -> None:
    x, y, _ = planted(4, size=30, count=200, shift=2.0)
    x, y = x.astype(np.float64), y.astype(np.float64)
    plain = max_sliced_wasserstein(x, y, permutations=19)
    moved = max_sliced_wasserstein(x + 100, y + 100, permutations=19)
    np.testing.assert_allclose(moved.direction, plain.direction, atol=1e-9)
    assert moved.msw2 == pytest.approx(plain.msw2, rel=1e-9)


def test_deterministic_by_seed() -> None:
    x, y, _ = planted(5, size=20, count=100)
    first, again, other = (max_sliced_wasserstein(x, y, generator=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.direction, again.direction)
    assert (first.msw2, first.p_value) == (again.msw2, again.p_value)
    assert first.msw2 != other.msw2


@pytest.mark.parametrize("restarts", [0, 3])
def test_identical_constant_samples(restarts: int) -> None:
    """No direction shows anything; the search must end and say so."""
    x = np.ones((4, 3))
    result = max_sliced_wasserstein(x, x[:4], restarts=restarts, permutations=9)
    assert (result.msw2, result.null, result.p_value) == (0, 0, 1)


def test_the_inputs_are_left_alone() -> None:
    x, y, _ = planted(6, size=5, count=40)
    before = x.copy(), y.copy()
    max_sliced_wasserstein(x, y, permutations=9)
    np.testing.assert_array_equal(x, before[0])
    np.testing.assert_array_equal(y, before[1])
