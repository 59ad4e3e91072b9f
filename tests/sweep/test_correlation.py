"""Rank correlations on bands: against SciPy and brute force; error rates of what is reported."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sads.errors import InputError
from sads.presentation.sweep import correlation_fields
from sads.sweep.correlation import correlate


def rows(table: np.ndarray, width: int = 1, **changes) -> list[dict]:
    """Finished trials of bands of some width: table[b * width + i, s] for index i of band b."""
    made = []
    for (index, seed), value in np.ndenumerate(table):
        first = index // width * width
        row = {
            "status": "done",
            "network": "n",
            "shape": None,
            "rotation": "identity",
            "geometry": None,
            "rank": None,
            "protocol": {"steps": 3},
            "spectrum": "sha",
            "data": f"rank-one:geometry=g:{index}",
            "seed": seed,
            "band_first": first,
            "band_last": first + width - 1,
            "sw2": float(value),
        }
        made.append(row | changes)
    return made


def test_a_metric_that_follows_the_eigenvalues():
    table = np.arange(9.0)[::-1, None] + 0.01 * np.random.default_rng(0).standard_normal((9, 5))
    (correlation,) = correlate(rows(table))
    assert correlation.spearman.value == correlation.kendall.value == 1.0
    assert correlation.spearman.p_value <= 3e-4  # 2 of 9! orders are as extreme
    assert correlation.spearman.interval == (1.0, 1.0)
    assert (correlation.bands, correlation.seeds) == (9, (0, 1, 2, 3, 4))
    assert correlation.contrast == pytest.approx(8.0, abs=0.05)
    expected = (table[0] - table[-1]).std(ddof=1) / np.sqrt(5)
    assert correlation.contrast_error == pytest.approx(expected)


@given(st.randoms(use_true_random=False))
def test_nothing_changes_under_a_rotation_inside_a_band(random):
    generator = np.random.default_rng(random.getrandbits(32))
    table = generator.standard_normal((12, 3))
    before = correlate(rows(table, width=3), permutations=99, resamples=50)
    # Which vector of a band has which number is arbitrary.
    order = np.concatenate([3 * b + generator.permutation(3) for b in range(4)])
    after = correlate(rows(table[order], width=3), permutations=99, resamples=50)
    assert [c.spearman.value for c in after] == [c.spearman.value for c in before]
    assert [c.kendall.value for c in after] == [c.kendall.value for c in before]
    assert after[0].spearman.p_value == before[0].spearman.p_value
    assert after[0].contrast == pytest.approx(before[0].contrast)


def test_p_values_are_uniform_where_there_is_nothing():
    generator = np.random.default_rng(1)
    values = [
        correlate(rows(generator.standard_normal((8, 3))), permutations=199, resamples=20)[0]
        for _ in range(400)
    ]
    for kind in ("spearman", "kendall"):
        p = np.array([getattr(correlation, kind).p_value for correlation in values])
        for level in (0.05, 0.2, 0.5):
            # At most the level, up to three standard errors: false alarm once in 700.
            assert (p <= level).mean() <= level + 3 * np.sqrt(level * (1 - level) / 400)
        assert (p <= 0.5).mean() > 0.35


def test_only_seeds_that_all_directions_have():
    table = np.random.default_rng(3).standard_normal((6, 3))
    known = rows(table)
    missing = [r for r in known if not (r["seed"] == 1 and r["data"].endswith(":2"))]
    (correlation,) = correlate(missing, permutations=9, resamples=9)
    assert correlation.seeds == (0, 2)
    (whole,) = correlate(rows(table[:, [0, 2]]), permutations=9, resamples=9)
    assert correlation.spearman.value == whole.spearman.value


def test_groups_are_kept_apart():
    table = np.random.default_rng(4).standard_normal((5, 2))
    both = rows(table) + rows(-table, network="m")
    first, second = correlate(both, permutations=9, resamples=9)
    assert first.spearman.value == -second.spearman.value
    assert (first.about["network"], second.about["network"]) == ("n", "m")


def test_what_cannot_be_correlated():
    table = np.ones((3, 2))
    with pytest.raises(InputError, match="at least 4 bands"):
        correlate(rows(table))
    with pytest.raises(InputError, match="nothing to correlate"):
        correlate([])
    with pytest.raises(InputError, match="a metric is sw2"):
        correlate(rows(table), "speed")


def test_a_constant_metric_has_no_correlation():
    (correlation,) = correlate(rows(np.ones((5, 2))), permutations=9, resamples=9)
    assert np.isnan(correlation.spearman.value)
    assert correlation.spearman.p_value == 1.0


def test_a_constant_metric_has_no_correlation_and_json_says_null():
    (correlation,) = correlate(rows(np.ones((5, 2))), permutations=9, resamples=9)
    fields = json.loads(json.dumps(correlation_fields(correlation), allow_nan=False))
    assert fields["spearman"]["value"] is None
    assert fields["contrast"] == 0
