"""One suite for every structure: what it lists, applies, expands and embeds is one matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sads.directions.structure import (
    STRUCTURES,
    Channels,
    Dense,
    Isotropic,
    Structure,
    Tokens,
)

EXAMPLES = [
    Dense((2, 3, 3)),
    Channels((3, 4, 4)),
    Channels((2, 7)),
    Tokens((3, 4, 6), patch=2),
    Isotropic((1, 3, 4)),
]


@pytest.mark.parametrize("structure", EXAMPLES, ids=lambda s: s.kind)
@given(seed=st.integers(0, 1000))
def test_apply_expand_and_embed_are_one_matrix(structure: Structure, seed: int):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((structure.rows, structure.rows))
    factor = root @ root.T
    whole = structure.expand(factor)
    vectors = rng.standard_normal((3, structure.size))
    np.testing.assert_allclose(structure.apply(factor, vectors), vectors @ whole, atol=1e-9)
    values, eigenvectors = np.linalg.eigh(factor)
    basis = structure.embed(eigenvectors)
    np.testing.assert_allclose(basis.T @ basis, np.eye(structure.size), atol=1e-9)
    diagonal = np.diag(np.repeat(values, structure.copies))
    np.testing.assert_allclose(basis @ diagonal @ basis.T, whole, atol=1e-9)


@pytest.mark.parametrize("structure", EXAMPLES, ids=lambda s: s.kind)
def test_rows_and_copies_are_those_of_the_entries(structure: Structure):
    assert structure.entries.shape == (structure.rows, structure.copies)
    assert sorted(structure.entries.flatten()) == list(range(structure.size))


def test_the_rows_of_a_huge_sample_are_told_without_listing_them():
    assert Channels((3, 10**6, 10**6)).rows == 10**12


def test_channels_are_a_kronecker_product():
    structure = Channels((3, 2, 2))
    factor = np.arange(16.0).reshape(4, 4)
    np.testing.assert_array_equal(structure.expand(factor), np.kron(np.eye(3), factor))


def test_tokens_keep_the_pixels_of_a_patch_together():
    structure = Tokens((1, 4, 4), patch=2)
    np.testing.assert_array_equal(structure.entries[1], [2, 3, 6, 7])


def test_every_structure_passes_this_suite():
    assert {type(example) for example in EXAMPLES} == set(STRUCTURES.values())
    assert all(STRUCTURES[example.kind] is type(example) for example in EXAMPLES)
