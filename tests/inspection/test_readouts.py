"""One suite for every read-out: what it accumulates, what that becomes, how it is stored."""

import json
from typing import Annotated, get_args

import numpy as np
import pytest
import torch
from pydantic import Field, TypeAdapter

from sads.errors import InputError
from sads.inspection.readout import (
    Convolution,
    DenseLayer,
    JacobianProducts,
    PlainReadOut,
    RandomLayers,
    Sampled,
    TokenWise,
)

Stored = Annotated[PlainReadOut, Field(discriminator="kind")]
STORED: TypeAdapter[PlainReadOut] = TypeAdapter(Stored)
EXAMPLES = {
    "convolution": (Convolution((2, 3, 4), 2, 0.5, 0.0, (3, 3)), (2, 3, 4)),
    "tokens": (TokenWise((1, 4, 6), 2, 0.5, 0.0, patch=2), (6, 2)),
    "dense": (DenseLayer((2, 3), 5, 0.5), (5,)),
    "random": (RandomLayers((2, 3), 4), (4, 6)),
    "tangent": (JacobianProducts((2, 3), 4), (4, 2, 3)),
    "sampled": (Sampled((2, 3)), (2, 3)),
}
each = pytest.mark.parametrize("kind", EXAMPLES)


def features(kind: str, count: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(count, *EXAMPLES[kind][1], generator=generator)


def test_every_read_out_passes_this_suite():
    assert {type(readout) for readout, _ in EXAMPLES.values()} == set(get_args(PlainReadOut))


@each
def test_moments_add_up_over_networks(kind):
    readout, h = EXAMPLES[kind][0], features(kind, 5)
    whole = readout.moment(h)
    torch.testing.assert_close(whole, readout.moment(h[:2]) + readout.moment(h[2:]))
    assert (whole.dtype, whole.shape) == (torch.float64, (readout.structure.rows,) * 2)


@each
def test_one_network_contributes_the_stated_rank(kind):
    readout = EXAMPLES[kind][0]
    factor = readout.factor(readout.moment(features(kind, 1)).numpy())
    np.testing.assert_allclose(factor, factor.T)
    assert np.linalg.matrix_rank(factor) == readout.rank


@each
def test_a_constant_part_is_accumulated_beside_the_rest(kind):
    """E[(a + z)(a + z)^T] = a a^T + E[z z^T], written out."""
    plain, h = EXAMPLES[kind][0], features(kind, 3)
    readout = type(plain)(**(STORED.dump_python(plain) | {"constant": True}))
    a = torch.randn(3, *plain.shape, generator=torch.Generator().manual_seed(4))
    expected = 3 * plain.structure.expand(plain.factor(plain.moment(h).numpy() / 3))
    flat = a.double().flatten(1).numpy()
    factor = readout.factor(readout.moment(h, a).numpy())
    np.testing.assert_allclose(factor, expected + flat.T @ flat, rtol=1e-6)
    assert readout.structure.kind == "dense"


@each
def test_it_is_stored_as_before_and_read_again(kind):
    readout = EXAMPLES[kind][0]
    stored = STORED.dump_json(readout)
    assert STORED.validate_json(stored) == readout
    names = "kind shape width weight_variance bias_variance kernel patch arrangement floor"
    assert list(json.loads(stored)) == [*names.split(), "constant", "settled"]
    assert json.loads(stored)["kind"] == kind


def test_what_cannot_fit_is_refused_with_what_would(monkeypatch):
    monkeypatch.setattr("sads.inspection.readout_base.available_memory", lambda: 300 * 1000**2)
    monkeypatch.setattr("sads.devices.available_memory", lambda: 300 * 1000**2)
    Sampled((1, 1000)).require_memory()
    said = r"1,001 x 1,001 \(dense on 1x1001\) needs 0.3 GiB .* smaller shape, 1,000 rows would fit"
    with pytest.raises(InputError, match=said):
        Sampled((1, 1001)).require_memory()
