"""Every read-out on a subspace is the compression of the read-out of the whole."""

from typing import Annotated

import numpy as np
import pytest
import torch
from pydantic import ConfigDict, Field, TypeAdapter

from sads.directions.subspaces import Span
from sads.errors import InputError
from sads.inspection.readout import Convolution, Sampled
from sads.inspection.subspace_readout import AnyReadOut, Compressed, Sketching
from sads.inspection.subspaces import Adaptive, LowFrequencies, leading_span

from .test_readouts import EXAMPLES, features

STORED: TypeAdapter[AnyReadOut] = TypeAdapter(
    Annotated[AnyReadOut, Field(discriminator="kind")],
    config=ConfigDict(arbitrary_types_allowed=True),
)
each = pytest.mark.parametrize("kind", EXAMPLES)
variants = pytest.mark.parametrize(
    "changed",
    [{}, {"bias_variance": 0.3, "floor": 0.2}, {"settled": True}, {"constant": True, "floor": 0.1}],
    ids=["plain", "bias", "settled", "constant"],
)


def _varied(kind: str, changed: dict):
    return type(EXAMPLES[kind][0])(**(vars(EXAMPLES[kind][0]) | changed))


def _subspaces(inner) -> list[LowFrequencies | Adaptive]:
    rows = inner.structure.rows
    count = max(1, rows // 2)
    matrix = np.linalg.qr(np.random.default_rng(0).standard_normal((rows, count)))[0]
    span = Span.of(matrix)
    side = max(1, min(inner.structure.grid[1]) // 2)
    return [LowFrequencies(side), Adaptive(count, digest=span.digest, span=span)]


def _both(inner, h: torch.Tensor):
    """Moments of the whole, and the arguments that made them."""
    given = {}
    if inner.constant:
        generator = torch.Generator().manual_seed(4)
        given["a"] = torch.randn(len(h), *inner.shape, generator=generator)
    if inner.settled:
        given["bias"] = 0.7
    return inner.moment(h, **given).numpy(), given


@each
@variants
def test_it_is_the_compression_of_the_whole_and_has_its_trace(kind, changed):
    inner, h = _varied(kind, changed), features(kind, 3)
    whole, given = _both(inner, h)
    factor = inner.factor(whole / 3)
    for subspace in _subspaces(inner):
        readout = Compressed.of(inner, subspace)
        moment = readout.moment(h, **given).numpy()
        assert moment.shape == (readout.accumulated,) * 2
        expected = subspace.basis(inner.structure).compress(factor)
        np.testing.assert_allclose(readout.factor(moment / 3), expected, rtol=1e-9, atol=1e-10)
        assert readout.trace(moment / 3) == pytest.approx(np.trace(factor), rel=1e-10)


@each
@variants
def test_a_sketch_is_a_product_with_the_whole(kind, changed):
    inner, h = _varied(kind, changed), features(kind, 3)
    whole, given = _both(inner, h)
    omega = np.random.default_rng(1).standard_normal((inner.structure.rows, 2))
    computed = Sketching(inner.shape, inner=inner, omega=omega).moment(h, **given).numpy()
    expected = 3 * inner.factor(whole / 3) @ omega
    np.testing.assert_allclose(computed, expected, rtol=1e-9, atol=1e-10)


@each
def test_it_is_stored_without_its_basis_and_read_again(kind):
    for subspace in _subspaces(EXAMPLES[kind][0]):
        readout = Compressed.of(EXAMPLES[kind][0], subspace)
        stored = STORED.dump_json(readout)
        assert len(stored) < 800
        again = STORED.validate_json(stored)
        assert again == readout
        if isinstance(subspace, Adaptive):
            assert (again.subspace.digest, again.subspace.span) == (subspace.digest, None)


def test_memory_is_that_of_a_map_and_not_of_the_unfolded_features():
    """Every piece of a convolution is as large as its features, however large the kernel is."""
    readout = Convolution((2, 9, 9), 3, 1.0, 0.0, (5, 5))
    pieces = list(readout.pieces(torch.ones(2, 3, 9, 9)))
    assert len(pieces) == 25
    assert {tuple(piece.shape) for piece in pieces} == {(6, 81)}


def test_the_leading_span_of_an_exact_sketch_is_that_of_the_matrix():
    rng = np.random.default_rng(2)
    vectors = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    values = 2.0 ** -np.arange(40)
    omega = rng.standard_normal((40, 18))
    sketch = (vectors * values) @ (vectors.T @ omega)
    computed = leading_span(sketch, omega, 8).matrix
    np.testing.assert_allclose(computed.T @ computed, np.eye(8), atol=1e-12)
    overlap = np.square(computed.T @ vectors[:, :8]).sum(axis=0)
    assert overlap.min() > 0.999


def test_what_the_networks_do_not_reach_is_filled_up():
    rng = np.random.default_rng(3)
    root = rng.standard_normal((30, 2))
    omega = rng.standard_normal((30, 12))
    computed = leading_span(root @ (root.T @ omega), omega, 6).matrix
    assert computed.shape == (30, 6)
    np.testing.assert_allclose(computed.T @ computed, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(computed @ (computed.T @ root), root, atol=1e-8)


@pytest.mark.parametrize(
    ("subspace", "said"),
    [
        (
            LowFrequencies(5),
            "dct:5 is larger than the space: .* grid of 4x6, choose dct:1 to dct:4",
        ),
        (Adaptive(25), "adaptive:25 is larger .* 24 rows, choose adaptive:1 to adaptive:24"),
        (Adaptive(4, span=Span.of(np.eye(9)[:, :4])), "one of 9 rows, the factor has 24"),
    ],
)
def test_a_subspace_that_does_not_fit_the_space_is_refused(subspace, said):
    with pytest.raises(InputError, match=said):
        Compressed.of(Convolution((2, 4, 6), 3, 1.0, 0.0, (3, 3)), subspace)


def test_a_sketch_of_too_few_networks_is_refused():
    structure = Sampled((1, 8, 8)).structure
    assert Adaptive(20, 20).networks(structure, rank=1) == 20
    assert Adaptive(20).networks(structure, rank=1) == 40
    assert Adaptive(20).networks(structure, rank=30) == 12
    said = "sketch of 9 networks shows at most 18 directions, .* at least 10 networks"
    with pytest.raises(InputError, match=said):
        Adaptive(20, 9).networks(structure, rank=2)
