"""`integrated` and `naive` are the same quantity, on every network and probe."""

import numpy as np
import pytest
from scipy.stats import t as student

from sads.directions import FOLDS
from sads.geometry import Geometry, estimate_geometry

from .families import FAMILIES, probes

SPAN = (10, 50)  # the weight of the first timesteps would leave few effective naive networks
ERROR_RATE = 1e-4  # of each test below, shared among its comparisons

CASES = [
    (family, probe, weighting)
    for family in FAMILIES
    for probe in ("zero", "gaussian", "point", "forward")
    for weighting in ("score", "noise")
    if not (family == "linear" and probe == "zero")  # zero in, zero out
    if weighting == "score" or probe == "gaussian"
]


def forms(geometry: Geometry, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """v^T G v and its standard error for each column v, from the folds."""
    if geometry.exact:
        return np.einsum("ij,ij->j", vectors, geometry.matvec(vectors.T).T), np.zeros(())
    per_fold = np.stack(
        [
            np.einsum("ij,ji->i", vectors.T, geometry.structure.apply(fold, vectors.T).T)
            for fold in geometry.folds
        ]
    )
    return per_fold.mean(0), per_fold.std(0, ddof=1) / np.sqrt(FOLDS)


@pytest.mark.parametrize(("name", "probe", "weighting"), CASES)
def test_integrated_agrees_with_naive(name: str, probe: str, weighting: str):
    family = FAMILIES[name]
    options = {"probe": probes(family.shape)[probe], "weighting": weighting, "timesteps": SPAN}
    fast = estimate_geometry(family, networks=1536, seed=1, **options)
    slow = estimate_geometry(family, networks=3072, seed=2, estimator="naive", **options)
    assert slow.structure.kind == "dense"
    vectors = fast.spectrum().eigenvectors
    vectors = np.hstack([vectors, np.ones((len(vectors), 1)) / np.sqrt(len(vectors))])
    (a, a_error), (b, b_error) = forms(fast, vectors), forms(slow, vectors)
    z = np.abs(a - b) / np.maximum(np.hypot(a_error, b_error), 1e-9 * a.max())
    assert z.max() < student.ppf(1 - ERROR_RATE / (2 * len(z)), FOLDS - 1)
    # The trace is known much better than any single direction.
    traces = slow.folds.trace(axis1=1, axis2=2)
    traces_fast = fast.folds.trace(axis1=1, axis2=2) * fast.structure.copies
    error = np.hypot(traces.std(ddof=1), traces_fast.std(ddof=1) if len(traces_fast) > 1 else 0)
    z_trace = abs(traces.mean() - traces_fast.mean()) / (error / np.sqrt(FOLDS))
    assert z_trace < student.ppf(1 - ERROR_RATE / 2, FOLDS - 1)


def test_a_wrong_read_out_would_be_noticed():
    """The comparison above has power: 15 % more weight variance moves the trace past its bound."""
    family = FAMILIES["unet"]
    fast = estimate_geometry(family, networks=1536, seed=1, timesteps=SPAN)
    slow = estimate_geometry(family, networks=3072, seed=2, estimator="naive", timesteps=SPAN)
    traces = slow.folds.trace(axis1=1, axis2=2)
    wrong = 1.15 * fast.folds.trace(axis1=1, axis2=2)
    error = np.hypot(traces.std(ddof=1), wrong.std(ddof=1)) / np.sqrt(FOLDS)
    assert abs(traces.mean() - wrong.mean()) / error > student.ppf(1 - ERROR_RATE / 2, FOLDS - 1)


@pytest.mark.parametrize("span", [(0, 5), (20, 50)])
def test_timesteps_choose_the_noise_level(span):
    """G over a range is E[w_t] times the noise-weighted geometry when the network ignores t."""
    family = FAMILIES["linear"]
    probe = probes(family.shape)["gaussian"]
    geometry = estimate_geometry(family, probe=probe, timesteps=span)
    plain = estimate_geometry(family, probe=probe, timesteps=span, weighting="noise")
    expected = family.schedule.score_weights[slice(*span)].mean()
    np.testing.assert_allclose(geometry.matrix(), expected * plain.matrix(), rtol=1e-12)
