import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sads.directions import similarity_baseline, windowed_similarity
from sads.errors import InputError

from .synthetic import random_basis


@given(size=st.integers(3, 20), h=st.integers(0, 3), seed=st.integers(0, 100))
def test_agrees_with_projections_written_out(size: int, h: int, seed: int):
    rng = np.random.default_rng(seed)
    u, v = random_basis(size, rng), random_basis(size, rng)
    if 2 * h + 1 > size:
        with pytest.raises(InputError):
            windowed_similarity(u, v, half_width=h)
        return
    similarity = windowed_similarity(u, v, half_width=h)
    for d in range(size):
        first = min(max(d - h, 0), size - 2 * h - 1)
        window = u[:, first : first + 2 * h + 1]
        assert similarity[d] == pytest.approx(np.linalg.norm(window @ window.T @ v[:, d]) ** 2)
        assert -1e-12 <= similarity[d] <= 1 + 1e-12


def test_a_basis_is_similar_to_itself_even_when_neighbours_swap():
    u = random_basis(9, np.random.default_rng(0))
    swapped = u[:, [1, 0, 2, 4, 3, 5, 6, 8, 7]]
    np.testing.assert_allclose(windowed_similarity(u, swapped, half_width=1), 1)


def test_unrelated_bases_are_at_the_baseline():
    """Mean of 256 energies with standard deviation about 0.01: within 0.003 of 3/256."""
    rng = np.random.default_rng(1)
    similarity = windowed_similarity(random_basis(256, rng), random_basis(256, rng), half_width=1)
    assert similarity_baseline(256, half_width=1) == pytest.approx(0.0117, abs=1e-4)
    assert similarity.mean() == pytest.approx(similarity_baseline(256), abs=0.003)
