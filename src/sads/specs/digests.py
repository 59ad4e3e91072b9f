"""Digests of what a specification names: files, directories, geometries, rotations, modules."""

import hashlib
import importlib.util
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..foundation.sibling_imports import neighbours_of
from ..storage.sealed import parse_json, read_sealed, sensible

# Fields on which the bits of a geometry do not depend.
_ASIDE = ("batch", "precision", "versions", "assumptions")
# Fields that older plans and read-outs lack, with the values that those had in effect.
_LATER = {"draws": 1, "settled": False}


def path_digest(path: Path) -> str:
    """A digest of a file's bytes, of a directory's files, or of a geometry's or rotation's values.

    Raises:
        InputError: if there is nothing at the path.
    """
    for name, header in (("geometry", "plan"), ("rotation", "origin")):
        artefact = path / f"{name}.safetensors"
        if artefact.is_file():
            return _artefact_digest(artefact, header, artefact.stat().st_mtime_ns)
    if not path.exists():
        raise InputError(f"no such file or directory: {path}")
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    signature = tuple((str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in files)
    return _files_digest(path, signature)


def geometry_digest(directory: str | Path) -> str:
    """The digest of a geometry.

    Raises:
        InputError: if there is none; the message says how to make one.
    """
    if not (Path(directory) / "geometry.safetensors").is_file():
        raise InputError(
            f"no geometry in {directory}: make one with sads geometry NETWORK --out {directory}"
        )
    return path_digest(Path(directory))


def beside_digest(path: Path) -> str:
    """A digest of a file and of the TOML beside it that states inputs, where there is one."""
    stated = path.with_suffix(".toml")
    own = path_digest(path)
    # Read as text: a file that is not TOML is refused where it is used.
    if not stated.is_file() or "[inputs" not in stated.read_text(errors="replace"):
        return own
    return _named(f"{own}|{stated.name} {path_digest(stated)}")


def python_digest(path: Path) -> str:
    """A digest of a factory's file and of the neighbours that it imports."""
    own = beside_digest(path)
    beside = neighbours_of(path)
    if not beside:
        return own
    parts = [own, *(f"{p.relative_to(path.parent).as_posix()} {path_digest(p)}" for p in beside)]
    return _named("|".join(parts))


def module_digest(module: str) -> str:
    """The digest of the file of a module; the packages around it are imported.

    Raises:
        InputError: if there is no such module, or a package around it cannot be imported.
    """
    from .factories import guarded  # imports torch, which readers of results do without

    origin = guarded(lambda: importlib.util.find_spec(module), module)
    if origin is None or origin.origin is None:
        raise InputError(f"{module} cannot be imported: there is no such module")
    return path_digest(Path(origin.origin))


def _named(text: str) -> str:
    return f"sha256-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


@lru_cache(maxsize=256)
def _files_digest(path: Path, signature: tuple[tuple[str, int, int], ...]) -> str:
    """A digest of names and contents; a new size or time in the signature makes it read again."""
    whole = hashlib.sha256()
    for name, _, _ in signature:
        if Path(name) != path:
            whole.update(Path(name).relative_to(path).as_posix().encode() + b"\0")
        with open(name, "rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return f"sha256-{whole.hexdigest()[:32]}"


@lru_cache(maxsize=256)
def _artefact_digest(path: Path, header: str, changed: int) -> str:
    """A digest of the values and what they mean, but not of how or where they were computed."""
    form = f"sads.{path.stem}"
    stored = read_sealed(path, f"{form}/2", unsealed=f"{form}/1")
    with sensible(path):
        meaning = _as_before(dict(parse_json(stored.metadata[header])))
    kept = {key: value for key, value in meaning.items() if key not in _ASIDE}
    return _named(json.dumps([kept, stored.values], sort_keys=True))


def _as_before(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields, without newer ones that hold the value that all older artefacts had."""
    return {
        key: _as_before(value) if isinstance(value, dict) else value
        for key, value in fields.items()
        if key not in _LATER or value != _LATER[key]
    }
