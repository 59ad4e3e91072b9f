"""Geometries on disk: one safetensors file that is at once the result and the checkpoint.

The header holds the plan, the progress and a checksum, the body the packed sums of all folds.
Nothing is pickled.
"""

import json
from pathlib import Path

from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from ..errors import ArtefactError
from ..storage import atomic_write, checksum, reason, write_bytes
from .plan import Plan
from .state import State, packed_size

FILE = "geometry.safetensors"
FORMAT = "sads.geometry/1"


def write_state(directory: Path, plan: Plan, state: State) -> None:
    """Write atomically; on failure the old file stays and nothing else is left behind."""
    tensors = {"sums": state.sums, "counts": state.counts}
    progress = {
        "batches": state.batches,
        "next_check": state.next_check,
        "seconds": state.seconds,
        "finished": state.finished,
    }
    header = {
        "format": FORMAT,
        "plan": plan.model_dump_json(),
        "progress": json.dumps(progress),
        "checksum": checksum(tensors),
    }
    # The library's own file writer leaves temporary files behind when it is killed.
    atomic_write(directory / FILE, write_bytes(save(tensors, metadata=header)))


def read_state(directory: Path) -> tuple[Plan, State]:
    """Read and verify what `write_state` wrote.

    Raises:
        ArtefactError: if the file is missing, foreign, truncated, corrupt or of a newer version.
    """
    path = directory / FILE
    if not path.is_file():
        raise ArtefactError(f"no geometry in {directory}: expected {FILE} (make one with --out)")
    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            _check_format(header, path)
            tensors = {name: file.get_tensor(name) for name in ("sums", "counts")}
    except (OSError, SafetensorError) as error:
        raise ArtefactError(
            f"{path} is truncated or not a safetensors file ({reason(error)}): "
            "delete it and run the command again"
        ) from error
    if checksum(tensors) != header["checksum"]:
        raise ArtefactError(f"{path} is corrupt: its checksum does not match; make it again")
    try:
        plan = Plan.model_validate_json(header["plan"])
        state = State(tensors["sums"], tensors["counts"], **json.loads(header["progress"]))
    except (ValidationError, ValueError, TypeError, KeyError) as error:
        raise ArtefactError(f"{path} has an unreadable header: {reason(error)}") from error
    expected = (len(state.counts), packed_size(plan.readout.structure.rows))
    if state.sums.shape != expected:
        raise ArtefactError(
            f"{path} is corrupt: expected sums of shape {expected}, got {state.sums.shape}; "
            "make it again"
        )
    return plan, state


def _check_format(header: dict[str, str], path: Path) -> None:
    found = header.get("format", "")
    if found == FORMAT and {"plan", "progress", "checksum"} <= header.keys():
        return
    if found.startswith("sads.geometry/"):
        raise ArtefactError(f"{path} has format {found}, this version reads {FORMAT}: upgrade sads")
    raise ArtefactError(f"{path} is a safetensors file, but not a geometry made by sads")
