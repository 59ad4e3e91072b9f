"""Every pattern of the zoo: the estimate is its known geometry, within the errors it states."""

import numpy as np
import pytest
from scipy.stats import t as student

from sads.directions import FOLDS
from sads.geometry import Geometry, estimate_geometry
from tests.zoo import PATTERNS, Pattern

from .test_agreement import forms

ERROR_RATE = 1e-5  # of each pattern, shared among its directions
NETWORKS = 480
ids = [pattern.name for pattern in PATTERNS]


def estimate(pattern: Pattern, networks: int = NETWORKS, seed: int = 0) -> Geometry:
    return estimate_geometry(
        pattern.family,
        networks=networks,
        probe=pattern.probe,
        seed=seed,
        zero_output=pattern.zero_output,
    )


@pytest.mark.parametrize("pattern", PATTERNS, ids=ids)
def test_the_estimate_is_the_known_geometry(pattern):
    found, truth = estimate(pattern), pattern.truth()
    vectors = np.linalg.eigh(truth)[1]
    expected = np.einsum("ij,ik,kj->j", vectors, truth, vectors)
    values, errors = forms(found, vectors)
    z = np.abs(values - expected) / np.maximum(errors, 1e-4 * expected.max())
    assert z.max() < student.ppf(1 - ERROR_RATE / (2 * len(z)), FOLDS - 1)
    assert (found.plan.readout.kind != "sampled") == pattern.exact, found.plan.note


def test_three_quarters_are_read_exactly():
    assert len(PATTERNS) >= 20
    assert sum(pattern.exact for pattern in PATTERNS) >= 0.75 * len(PATTERNS)
