"""What a comparison says about planted differences, and that it never contradicts itself."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sads import compare
from sads.comparison import Comparison
from sads.comparison.log_ratios import LogRatios, common, flipped, interval
from sads.geometry import Geometry
from sads.presentation.comparison import comparison_sentences
from sads.statistics.sign_flips import linear, sign_patterns

from .synthetic import exact, sampled

SIZE = 12
VALUES = np.geomspace(50, 1, SIZE)
BASIS = np.linalg.qr(np.random.default_rng(5).standard_normal((SIZE, SIZE)))[0]


def factor(values: np.ndarray = VALUES, vectors: np.ndarray = BASIS) -> np.ndarray:
    return vectors * values @ vectors.T


def turned(angle: float) -> np.ndarray:
    vectors = BASIS.copy()
    vectors[:, 1] = np.cos(angle) * BASIS[:, 1] + np.sin(angle) * BASIS[:, 7]
    vectors[:, 7] = np.cos(angle) * BASIS[:, 7] - np.sin(angle) * BASIS[:, 1]
    return vectors


def contradictions(comparison: Comparison) -> list[str]:
    """Every pair of statements in a comparison that cannot both be believed."""
    level, wrong = comparison.level, []

    def expect(holds: bool, what: str) -> None:
        if not holds:
            wrong.append(what)

    rounding = any("within the rounding" in note for note in comparison.notes)
    decisive = comparison.shape_p_value if comparison.ignore_scale else comparison.p_value
    expect(
        comparison.different == (decisive <= level) or rounding, "the verdict is not the p-value's"
    )
    for name, flag, p_value in (
        ("scale", comparison.scale_different, comparison.scale_p_value),
        ("shape", comparison.shape_different, comparison.shape_p_value),
    ):
        expect(comparison.different or not flag, f"equal, but not in {name}")
        expect(
            flag == (comparison.different and p_value <= level), f"the flag of {name} is not its p"
        )
        expect(p_value >= comparison.p_value, f"{name} is surer than the whole")
    expect(
        0 < comparison.scale_low <= comparison.scale <= comparison.scale_high,
        "the scale is out of its range",
    )
    expect(
        (comparison.scale_low <= 1 <= comparison.scale_high) == (comparison.scale_p_value > level),
        "the interval of the scale is not its p-value",
    )
    for band in comparison.bands:
        where = f"band {band.first}"
        smallest = min(band.ratio_p_value, band.rotation_p_value)
        expect(smallest >= comparison.shape_p_value, f"{where} is surer than the shape")
        expect(
            band.different == (comparison.shape_different and smallest <= level), f"{where}: flag"
        )
        if band.ratio is None:
            continue
        low, high = band.relative_low, band.relative_high
        expect(low <= band.relative_ratio <= high, f"{where} is out of its range")
        expect((low <= 1 <= high) == (band.ratio_p_value > level), f"{where}: interval and p")
        expect(
            math.isclose(band.ratio, band.relative_ratio * comparison.scale), f"{where}: product"
        )
        if not comparison.shape_different and comparison.different and not rounding:
            expect(low <= 1 <= high, f"{where} is not compatible with the common factor")
    verdict = comparison_sentences(comparison)[0]
    expect(
        verdict.startswith("They differ") == comparison.different, "the words are not the verdict"
    )
    expect(
        ("common factor, which" in verdict) <= (not comparison.shape_different), "words on shape"
    )
    return wrong


@settings(max_examples=60)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.02, 0.1, 0.5, 2.0]),
    st.sampled_from([0.0, 0.1, 0.7]),
    st.sampled_from([1.0, 1.05, 3.0, 0.01]),
    st.tuples(*[st.sampled_from([0, 3, 20, 300])] * 2),
    st.sampled_from([0.002, 0.01, 0.1]),
    st.booleans(),
)
def test_no_comparison_contradicts_itself(seed, spread, angle, scale, counts, level, ignore_scale):
    rng = np.random.default_rng(seed)
    values = (
        scale * VALUES * np.exp(spread * rng.standard_normal(SIZE) * rng.integers(2, size=SIZE))
    )
    truths = factor(), factor(values, turned(angle))
    a, b = (
        sampled(truth, n, rng) if n else exact(truth)
        for truth, n in zip(truths, counts, strict=True)
    )
    assert contradictions(compare(a, b, level=level, ignore_scale=ignore_scale)) == []


def pair(values: np.ndarray, vectors: np.ndarray = BASIS, counts=(200, 200), seed: int = 0):
    rng = np.random.default_rng(seed)
    return sampled(factor(), counts[0], rng), sampled(factor(values, vectors), counts[1], rng)


def standing_out(comparison: Comparison) -> set[int]:
    return {i for b in comparison.bands if b.different for i in range(b.first, b.last + 1)}


@pytest.mark.parametrize("counts", [(200, 200), (100, 1000)])
def test_equal(counts):
    # Told apart with probability 0.01 each.
    comparison = compare(*pair(VALUES, counts=counts))
    assert not comparison.different
    assert contradictions(comparison) == []
    assert comparison.scale == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("counts", [(200, 200), (100, 1000), (1000, 100)])
def test_a_common_factor_of_three(counts):
    comparison = compare(*pair(3 * VALUES, counts=counts))
    assert (comparison.scale_different, comparison.shape_different) == (True, False)
    assert comparison.scale_low < 3 < comparison.scale_high < 3.4
    assert not standing_out(comparison)
    assert "by a common factor, which turns no direction" in comparison_sentences(comparison)[0]


@pytest.mark.parametrize("second", ["sampled", "closed form"])
def test_only_the_largest_eigenvalue_four_times(second):
    """The scale is what the other eleven have, and only index 0 stands out."""
    values = VALUES * np.where(np.arange(SIZE) == 0, 4, 1)
    a, b = pair(values)
    comparison = compare(a, b if second == "sampled" else exact(factor(values)))
    assert (comparison.scale_different, comparison.shape_different) == (False, True)
    assert comparison.scale == pytest.approx(1, abs=0.05)
    assert standing_out(comparison) == {0}
    top = comparison.bands[0]
    assert top.relative_low < 4 < top.relative_high
    assert top.relative_low > 2
    words = comparison_sentences(comparison)
    assert "in shape, not by a common factor" in words[0]
    assert "most directions agree" in words[1]
    assert "stands out from that factor" in words[1]


def test_a_rotation_alone():
    comparison = compare(*pair(VALUES, turned(0.5), counts=(400, 400)))
    assert (comparison.scale_different, comparison.shape_different) == (False, True)
    assert {1, 7} <= standing_out(comparison)
    assert len(standing_out(comparison)) <= 5


def test_two_halves_scaled_in_opposite_ways():
    comparison = compare(*pair(VALUES * np.where(np.arange(SIZE) < 6, 2, 1 / 2)))
    assert (comparison.scale_different, comparison.shape_different) == (False, True)
    assert comparison.scale == pytest.approx(1, abs=0.1)
    assert len(standing_out(comparison)) == SIZE


def test_the_factor_of_closed_forms_is_that_of_most_directions():
    values = 3 * VALUES * np.where(np.arange(SIZE) < 2, 5, 1)
    comparison = compare(exact(factor()), exact(factor(values)))
    assert comparison.scale == pytest.approx(3)
    assert comparison.scale_low == pytest.approx(comparison.scale_high)
    assert standing_out(comparison) == {0, 1}
    assert contradictions(comparison) == []


def test_geometries_without_a_common_direction_have_a_scale():
    first, second = (factor(VALUES * mask) for mask in (np.arange(SIZE) < 6, np.arange(SIZE) >= 6))
    comparison = compare(exact(first), exact(second))
    assert comparison.different
    assert comparison.scale > 0
    assert contradictions(comparison) == []


def test_the_common_value_is_where_most_are():
    ones = np.ones(5, dtype=int)

    def one(*values: float, counts=ones) -> tuple[float, list[float]]:
        centre, share = common(np.array([values], dtype=float), np.array(counts))
        return float(centre[0]), share[0].tolist()

    assert one(0, 0, 0, 0, 9) == (0, pytest.approx([0.25, 0.25, 0.25, 0.25, 0]))
    centre, share = one(-0.1, 0.1, 0.0, 0.2, 9)
    assert 0 < centre < 0.2
    assert share == pytest.approx([0.25, 0.25, 0.25, 0.25, 0])
    assert one(-1, 1, counts=[7, 7]) == (0, [0.5, 0.5])
    assert one(-1, 1, counts=[7, 1]) == (-1, [1, 0])
    assert one(2, counts=[3]) == (2, [1])


@given(st.integers(0, 10**6), st.integers(1, 9))
def test_the_common_value_is_huber_s(seed, count):
    """Against the definition: the sum of clipped deviations from it is zero."""
    rng = np.random.default_rng(seed)
    values, counts = rng.standard_t(2, (6, count)), rng.integers(1, 9, count)
    for row, centre in zip(values, common(values, counts)[0], strict=True):
        each = np.repeat(row, counts)
        reach = 1.5 * 1.4826 * np.median(np.abs(each - np.median(each)))
        if reach > 0:
            assert abs(np.clip(each - centre, -reach, reach).mean()) < 1e-6 * reach + 1e-9
        else:
            assert centre == pytest.approx(np.median(each))


def test_the_factor_is_found_anew_under_every_pattern():
    """Against a loop that negates folds and starts from scratch."""
    rng = np.random.default_rng(3)
    weights, counts = np.full(6, 1 / 6), np.array([1, 4, 2, 2])
    bands = rng.standard_normal(4) + np.array([3.0, 0, 0, 0])

    def made(folds: np.ndarray) -> LogRatios:
        totals = folds.sum(axis=0)
        (scale,), (share,) = common(totals[None], counts)
        own = weights * scale + (folds - np.outer(weights, totals)) @ share
        return LogRatios(weights, float(scale), own, np.ones(4, dtype=bool), totals, folds)

    folds = np.outer(weights, bands) + 0.1 * rng.standard_normal((6, 4))
    scales, relatives = flipped(made(folds), counts)
    for i, signs in enumerate(sign_patterns(6)):
        expected = made(signs[:, None] * folds)
        np.testing.assert_allclose(scales[i], linear(expected.scale_folds[:, None])[0])
        np.testing.assert_allclose(relatives[i], linear(expected.relative_folds)[0])


def test_an_interval_holds_what_the_statistic_does_not_reject():
    rng = np.random.default_rng(7)
    for _ in range(50):
        weights = rng.uniform(0.5, 1, 12)
        weights /= weights.sum()
        folds = weights * rng.normal(1, 1) + 0.1 * rng.standard_normal(12)
        estimate, critical = float(folds.sum()), float(rng.uniform(0.5, 3))
        low, high = interval(estimate, folds, weights, critical)
        for theta in np.linspace(-5, 5, 41):
            statistic = linear((folds - weights * theta)[:, None])[0, 0]
            assert (statistic <= critical) == (low <= theta <= high)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 3.0, 20.0])
@pytest.mark.parametrize("counts", [(30, 30), (30, 120), (15, 400), (400, 15), (30, 0)])
def test_false_alarms_are_as_rare_as_the_level_says(scale, counts):
    """Of 500 pairs equal up to a factor: 0.028 is four standard errors above 0.01."""
    rng = np.random.default_rng(11)

    def drawn(truth: np.ndarray, count: int) -> Geometry:
        return sampled(truth, count, rng) if count else exact(truth)

    truths = factor(), factor(scale * VALUES)
    comparison = [
        compare(*(drawn(truth, n) for truth, n in zip(truths, counts, strict=True)))
        for _ in range(500)
    ]
    assert np.mean([c.shape_different for c in comparison]) <= 0.028
    assert np.mean([any(b.different for b in c.bands) for c in comparison]) <= 0.028
    covered = [c.scale_low <= scale <= c.scale_high for c in comparison]
    assert np.mean(covered) >= 0.972
    if scale == 1:
        assert np.mean([c.different for c in comparison]) <= 0.028
