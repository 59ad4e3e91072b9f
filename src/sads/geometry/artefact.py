"""Geometries on disk: one safetensors file that is at once the result and the checkpoint.

The header holds the plan and the progress, the body the packed sums of all folds, and one checksum
covers both (`sads.storage.sealed`). Nothing is pickled.
"""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
from pydantic import BaseModel, Field

from ..directions import FOLDS
from ..directions.structure import STRUCTURES
from ..directions.subspaces import Span
from ..errors import ArtefactError
from ..inspection.readout_base import ReadOut
from ..inspection.subspace_readout import Compressed
from ..inspection.subspaces import Adaptive
from ..path import WEIGHTINGS
from ..storage.sealed import check_shape, expect, parse_json, read_sealed, sensible, write_sealed
from .estimators import ESTIMATORS
from .plan import CLOSED_FORM, Plan, timestep_range
from .running_sums import State, packed_size

FILE = "geometry.safetensors"
BASIS = "subspace.safetensors"
BASIS_FORMAT = "sads.subspace/1"
FORMAT, UNSEALED = "sads.geometry/2", "sads.geometry/1"
MOST_STEPS = 10**6  # noise levels; a header that says more is not believed


class Progress(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """How far the estimate has come; see `State`."""

    batches: int = Field(ge=0)
    next_check: int = Field(ge=0)
    seconds: float = Field(ge=0)
    finished: bool


def write_state(directory: Path, plan: Plan, state: State) -> None:
    """Write atomically; on failure the old file stays and nothing else is left behind."""
    progress = Progress(
        batches=state.batches,
        next_check=state.next_check,
        seconds=state.seconds,
        finished=state.finished,
    )
    header = {"plan": plan.model_dump_json(), "progress": progress.model_dump_json()}
    tensors = {"sums": state.sums, "counts": state.counts}
    write_sealed(directory / FILE, FORMAT, header, tensors)


def read_state(directory: Path) -> tuple[Plan, State]:
    """Read and verify what `write_state` wrote.

    Raises:
        ArtefactError: if the file is missing, foreign, truncated, corrupt or of a newer version.
    """
    path = directory / FILE
    if not path.is_file():
        raise ArtefactError(
            f"no geometry in {directory}: expected {FILE} (an estimate with `out` makes one)"
        )
    stored = read_sealed(path, FORMAT, unsealed=UNSEALED)
    with sensible(path):
        plan = Plan.model_validate(parse_json(stored.metadata["plan"]))
        progress = Progress.model_validate(parse_json(stored.metadata["progress"]))
        sums, counts = stored.tensors["sums"], stored.tensors["counts"]
        check_plan(plan)
        plan = _with_basis(directory, plan)
        _check_sums(plan, sums, counts)
        networks = int(counts.sum())
        expect(progress.batches <= networks, f"at most {networks} batches, of one network each")
    return plan, State(sums, counts, **progress.model_dump())


def write_basis(directory: Path, plan: Plan) -> None:
    """Write the basis of a subspace that was found, beside its geometry; nothing of others."""
    readout = plan.readout
    if not isinstance(readout, Compressed) or not isinstance(readout.subspace, Adaptive):
        return
    span = readout.subspace.span
    if span is None:
        raise ArtefactError("the basis of the subspace is not found yet: let its run go on")
    write_sealed(directory / BASIS, BASIS_FORMAT, {}, {"basis": span.matrix})


def _with_basis(directory: Path, plan: Plan) -> Plan:
    """A stored plan with the basis of its subspace, where that was found by a sketch."""
    readout = plan.readout
    if not isinstance(readout, Compressed) or not isinstance(readout.subspace, Adaptive):
        return plan
    path, subspace = directory / BASIS, readout.subspace
    if not path.is_file():
        raise ArtefactError(
            f"no subspace in {directory}: expected {BASIS} beside the geometry; copy it there too, "
            "or make the geometry again"
        )
    matrix = read_sealed(path, BASIS_FORMAT).tensors["basis"]
    with sensible(path):
        shape = (readout.inner.structure.rows, subspace.columns(readout.inner.structure))
        got = (matrix.shape, matrix.dtype)
        expect(got == (shape, np.float64), f"a basis of shape {shape} in float64, got {got}")
        span = Span.of(matrix)
        expect(span.digest == subspace.digest, "the basis that the geometry names")
    compressed = Compressed.of(readout.inner, replace(subspace, span=span))
    return plan.model_copy(update={"readout": compressed})


def check_plan(plan: Plan) -> None:
    """Refuse a stored plan that no estimate can have; inside `sensible`."""
    size = check_shape(plan.shape)
    expect(plan.steps <= MOST_STEPS, f"at most {MOST_STEPS:,} noise levels, got {plan.steps:,}")
    timestep_range(plan.timesteps, plan.path)
    expect(plan.weighting in WEIGHTINGS, f"a weighting, got {plan.weighting!r}")
    expect(plan.of in ESTIMATORS, f"a known quantity, got {plan.of!r}")
    estimators = (*ESTIMATORS[plan.of], CLOSED_FORM)
    expect(plan.estimator in estimators, f"an estimator, got {plan.estimator!r}")
    expect(plan.seed >= 0 and plan.batch >= 1, "a seed from 0 and a batch from 1 on")
    expect(plan.draws >= 1, f"a version of the draws from 1 on, got {plan.draws}")
    expect(0 < plan.scale < math.inf, f"a positive scale, got {plan.scale}")
    expect(math.prod(plan.readout.shape) == size, f"a read-out of {size} values")
    _check_readout(plan.readout)
    if plan.precision is not None:
        features = plan.precision.features
        expect(features in ("float32", "float64"), f"a precision, got {features!r}")


def _check_readout(readout: ReadOut) -> None:
    if isinstance(readout, Compressed):
        expect(readout.inner.shape == readout.shape, "a subspace of the space of the samples")
        readout.subspace.columns(readout.inner.structure)
        _check_readout(readout.inner)
        return
    expect(readout.arrangement in (None, *STRUCTURES), f"a structure, got {readout.arrangement!r}")
    patches = (readout.patch,) if isinstance(readout.patch, int) else readout.patch
    sides = (readout.width, *patches, *readout.kernel)
    expect(min(sides) >= 1, "a width, a patch and a kernel from 1 on")
    for name in ("weight_variance", "bias_variance", "floor"):
        value = getattr(readout, name)
        expect(0 <= value < math.inf, f"{name} from 0 on, got {value}")


def _check_sums(plan: Plan, sums: np.ndarray, counts: np.ndarray) -> None:
    folds = 1 if plan.exact else FOLDS
    shape = (folds, packed_size(plan.readout.accumulated))
    got = (sums.shape, sums.dtype)
    expect(got == (shape, np.float64), f"sums of shape {shape} in float64, got {got}")
    expect(np.isfinite(sums).all(), "finite sums")
    got = (counts.shape, counts.dtype)
    expect(got == ((folds,), np.int64), f"{folds} counts in int64, got {got}")
    expect(counts.min() >= 0, "counts from 0 on")
