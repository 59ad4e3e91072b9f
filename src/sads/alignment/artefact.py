"""Rotations on disk: one safetensors file, the matrix with a header and a checksum."""

from pathlib import Path

from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from ..errors import ArtefactError
from ..storage import atomic_write, checksum, reason, write_bytes, writing
from .rotation import Origin, Rotation

FILE = "rotation.safetensors"
FORMAT = "sads.rotation/1"


def write_rotation(directory: Path, rotation: Rotation) -> None:
    """Write into a directory that this process already holds (`storage.writing`)."""
    matrix = rotation.matrix.detach().cpu().contiguous()
    header = {
        "format": FORMAT,
        "origin": rotation.origin.model_dump_json(),
        "checksum": checksum({"matrix": matrix.numpy()}),
    }
    content = save({"matrix": matrix}, metadata=header)
    atomic_write(directory / FILE, write_bytes(content))


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
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            if header.get("format") != FORMAT:
                found = header.get("format", "a foreign safetensors file")
                raise ArtefactError(f"{path} is {found}, expected {FORMAT}")
            matrix = file.get_tensor("matrix")
        origin = Origin.model_validate_json(header["origin"])
    except (OSError, SafetensorError) as error:
        raise ArtefactError(
            f"{path} is truncated or not a safetensors file ({reason(error)}): make it again"
        ) from error
    except (ValidationError, KeyError) as error:
        raise ArtefactError(f"{path} has an unreadable header: {reason(error)}") from error
    if checksum({"matrix": matrix.numpy()}) != header.get("checksum"):
        raise ArtefactError(f"{path} is corrupt: its checksum does not match; make it again")
    return Rotation(matrix, origin)
