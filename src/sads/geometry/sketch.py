"""Finding the basis of an adaptive subspace: a sketch from networks of its own, kept on disk.

The sketch Y = A Omega (`inspection.subspaces`) is summed over batches of networks from a random
stream of their own, in their order, and stored like an estimate: a run that was killed goes on from
its last checkpoint with the same bits. Its basis is stored beside it, named by its digest in the
plan of the estimate, so that it is part of what identifies the geometry.

| file                   | tensors                                       | written               |
|------------------------|-----------------------------------------------|-----------------------|
| `sketch.safetensors`   | `sketch`: Y; Omega follows from the seed      | at every checkpoint   |
| `subspace.safetensors` | `basis`: orthonormal columns                  | once                  |
"""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ..errors import ArtefactError
from ..inspection.subspace_readout import AnyReadOut, Compressed, Sketching
from ..inspection.subspaces import Adaptive, leading_span, sketch_columns
from ..randomness import stream
from ..storage.sealed import expect, parse_json, read_sealed, sensible, write_sealed
from .artefact import write_basis
from .plan import Plan
from .source import Source

FILE = "sketch.safetensors"
FORMAT = "sads.sketch/1"
CHECKPOINT_SECONDS = 20.0
WRITING_SHARE = 0.05  # of the time may be spent on checkpoints


def with_basis(source: Source, out: Path | None, report: Callable[[int, int], None]) -> Source:
    """The source with the basis of its subspace, found first where that takes networks.

    Args:
        source: with its precision and batch size settled.
        out: where checkpoints are kept, if anywhere.
        report: called with networks so far and in all, before the first batch and after each.
    """
    readout = source.plan.readout
    if not isinstance(readout, Compressed) or not isinstance(readout.subspace, Adaptive):
        return source
    subspace = readout.subspace
    if subspace.span is not None:  # that of another geometry
        if out is not None:
            write_basis(out, source.plan)
        return source
    networks = networks_of_sketch(readout)
    omega = _omega(source.plan.seed, readout, subspace)
    sketch = _summed(source, omega, networks, out, report)
    span = leading_span(sketch, omega, subspace.count)
    sketched = replace(subspace, digest=span.digest, span=span)
    plan = source.plan.model_copy(update={"readout": Compressed.of(readout.inner, sketched)})
    if out is not None:
        write_basis(out, plan)
    return source.with_plan(plan)


def networks_of_sketch(readout: AnyReadOut) -> int:
    """Networks that the basis takes, beside those of the estimate."""
    if not isinstance(readout, Compressed) or not isinstance(readout.subspace, Adaptive):
        return 0
    if readout.subspace.span is not None:
        return 0
    return readout.subspace.networks(readout.inner.structure, readout.inner.rank)


def _omega(seed: int, readout: Compressed, subspace: Adaptive) -> Float[np.ndarray, "n s"]:
    rows = readout.inner.structure.rows
    size = (rows, sketch_columns(subspace.count, rows))
    return stream(seed, "columns of a sketch").standard_normal(size)


def _summed(
    source: Source,
    omega: Float[np.ndarray, "n s"],
    networks: int,
    out: Path | None,
    report: Callable[[int, int], None],
) -> Float[np.ndarray, "n s"]:
    """Y from so many networks, going on from what is stored."""
    readout = source.plan.readout
    if not isinstance(readout, Compressed):
        raise TypeError("a sketch is of a read-out on a subspace")
    reading = replace(
        source.reading, readout=Sketching(readout.shape, inner=readout.inner, omega=omega)
    )
    drawn = replace(source, reading=reading, sketching=True)
    batches, sketch = _stored(source.plan, omega.shape, out)
    whole, rest = divmod(networks, source.plan.batch)
    counts = [source.plan.batch] * whole + [rest] * bool(rest)
    written, cost = time.perf_counter(), 0.0
    report(sum(counts[:batches]), networks)
    for batch in range(batches, len(counts)):
        sketch += drawn.moment(batch, counts[batch])
        report(sum(counts[: batch + 1]), networks)
        last = batch == len(counts) - 1
        pause = max(CHECKPOINT_SECONDS, cost / WRITING_SHARE)
        if out is not None and (last or time.perf_counter() - written > pause):
            begun = time.perf_counter()
            _store(out, source.plan, batch + 1, sketch)
            written = time.perf_counter()
            cost = written - begun
    return sketch


def _store(out: Path, plan: Plan, batches: int, sketch: Float[np.ndarray, "n s"]) -> None:
    header = {"plan": plan.model_dump_json(), "batches": str(batches)}
    write_sealed(out / FILE, FORMAT, header, {"sketch": sketch})


def _stored(
    plan: Plan, shape: tuple[int, ...], out: Path | None
) -> tuple[int, Float[np.ndarray, "n s"]]:
    """Batches in the stored sketch and their sum; none where there is no sketch.

    Raises:
        ArtefactError: if the sketch there is of another geometry.
    """
    if out is None or not (out / FILE).exists():
        return 0, np.zeros(shape)
    path = out / FILE
    stored = read_sealed(path, FORMAT)
    with sensible(path):
        theirs = Plan.model_validate(parse_json(stored.metadata["plan"]))
        batches, sketch = int(stored.metadata["batches"]), stored.tensors["sketch"]
        expect(batches >= 0, f"a number of batches, got {batches}")
    different = plan.differences(theirs)
    if (
        plan.draws != theirs.draws
        or plan.batch != theirs.batch
        or plan.precision != theirs.precision
    ):
        different.append("batches, precision or draws are others")
    if different or sketch.shape != shape:
        raise ArtefactError(
            f"{out} holds the sketch of another geometry ({'; '.join(different) or 'its size'}): "
            "choose another directory or delete it"
        )
    return batches, sketch
