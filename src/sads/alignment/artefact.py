"""Rotations on disk: one safetensors file, the matrix with a header under one checksum."""

import math
from pathlib import Path

import torch
from torch import Tensor

from ..errors import ArtefactError
from ..storage.files import writing
from ..storage.sealed import check_shape, expect, parse_json, read_sealed, sensible, write_sealed
from .rotation import Origin, Rotation

FILE = "rotation.safetensors"
FORMAT, UNSEALED = "sads.rotation/2", "sads.rotation/1"
LONGER = 1e-3  # by how much a row of a rotation may miss the length of one


def write_rotation(directory: Path, rotation: Rotation) -> None:
    """Write into a directory that this process already holds (`storage.writing`)."""
    tensors = {"matrix": rotation.matrix.detach().cpu().contiguous()}
    # Trials know a rotation by this text: it says of redrawn layers only where there are some.
    aside = None if rotation.origin.redrawn else {"redrawn"}
    header = {"origin": rotation.origin.model_dump_json(exclude=aside)}
    write_sealed(directory / FILE, FORMAT, header, tensors, framework="pt")


def save_rotation(rotation: Rotation, directory: str | Path) -> None:
    """Write `rotation.safetensors` into a directory, atomically."""
    with writing(Path(directory)):
        write_rotation(Path(directory), rotation)


def load_rotation(directory: str | Path) -> Rotation:
    """Load a rotation that `sads rotate` or `save_rotation` wrote.

    Raises:
        ArtefactError: if there is none, or it is truncated, foreign or corrupt.
    """
    path = Path(directory) / FILE
    if not path.is_file():
        raise ArtefactError(f"no rotation in {directory}: expected {FILE} (sads rotate makes one)")
    stored = read_sealed(path, FORMAT, unsealed=UNSEALED, framework="pt")
    with sensible(path):
        origin = Origin.model_validate(parse_json(stored.metadata["origin"]))
        matrix = stored.tensors["matrix"]
        _check(origin, matrix)
    return Rotation(matrix, origin)


def _check(origin: Origin, matrix: Tensor) -> None:
    size = check_shape(origin.shape)
    floating = matrix.dtype in (torch.float32, torch.float64)
    expect(matrix.shape == (size, size) and floating, f"a matrix of {size} x {size} floats")
    lengths = matrix.double().norm(dim=1)
    expect(bool(((lengths - 1).abs() <= LONGER).all()), "an orthogonal matrix")
    expect(origin.rank is None or 1 <= origin.rank <= size, f"a rank of 1 to {size}")
    expect(origin.seed is None or origin.seed >= 0, "a seed from 0 on")
    expect(min(origin.repeated) >= 0, "numbers of repeated directions from 0 on")
    for alpha in (origin.alpha, origin.alpha_before):
        expect(alpha is None or math.isfinite(alpha), "a finite alpha")
