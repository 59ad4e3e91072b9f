"""The content of what a trial names: files, directories, geometries, rotations, modules.

A trial is identified by what its files hold, not by where they are. So every text that names a path
is cut in three, `before` + path + `after`; the path is replaced by a digest for the identity, and
by an absolute path for a worker that runs somewhere else.
"""

import hashlib
import importlib.util
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...neighbours import neighbours_of
from ...storage.sealed import parse_json, read_sealed, sensible

#: Fields of a trial that may name a path.
FIELDS = ("network", "data", "rotation", "geometry")
ROTATIONS = ("identity", "random", "min", "max")
_NETWORK = (r"()([^,]*\.py)(:.*)", r"(diffusers:)([^,]+)(.*)")
_DATA = (
    r"((?:rank-one|sphere):geometry=)(.+)(:[^:]*)",
    r"((?:gaussian:moment=)?(?:npy|folder|mnist):)([^,]+)(.*)",
    r"((?:gaussian:moment=)?(?:npz|hf):)([^,]+)(.*)",
)
# What the bits of a geometry do not depend on.
_ASIDE = ("batch", "precision", "versions", "assumptions")
# Fields that plans and read-outs did not have at first, with what those without them mean.
_LATER = {"draws": 1, "settled": False}

Parts = tuple[str, str, str]


def parts(field: str, text: str, root: Path = Path()) -> Parts | None:
    """The text before, of and after the path that a field's text names; None if it names none.

    Whether there is such a path is seen from the directory `root`.

    >>> parts("data", "rank-one:geometry=runs/a:band=3")
    ('rank-one:geometry=', 'runs/a', ':band=3')
    """
    if field == "geometry":
        return "", text, ""
    if field == "rotation":
        return None if text in ROTATIONS else ("", text, "")
    for pattern in _NETWORK if field == "network" else _DATA:
        if found := re.fullmatch(pattern, text):
            before, path, after = found.groups()
            return _existing(before, path, after, root)
    return None


def _existing(before: str, path: str, after: str, root: Path) -> Parts | None:
    """`npz:FILE[:KEY]` and `hf:NAME[:SPLIT]`: a colon is part of the path only if that exists."""
    if before.endswith(("npz:", "hf:")) and ":" in path and not (root / path).exists():
        path, _, key = path.rpartition(":")
        after = f":{key}{after}"
    # A dataset of the hub has a name and no file.
    return None if before.endswith("hf:") and not (root / path).exists() else (before, path, after)


def absolute(field: str, text: str, root: Path) -> str:
    """The text with its path made absolute, as seen from a directory."""
    found = parts(field, text, root)
    return text if found is None else f"{found[0]}{root / found[1]}{found[2]}"


def by_content(field: str, text: str) -> str:
    """The text with the digest of its content in place of its path."""
    found = parts(field, text)
    if found is not None:
        before, path, after = found
        geometry = field == "geometry" or before.endswith("geometry=")
        if geometry:
            known = geometry_digest(path)
        else:
            known = python_digest(Path(path)) if field == "network" else digest(Path(path))
        return f"{before}{known}{after}"
    if field == "network" and ":" in text:
        module, _, factory = text.partition(":")
        return f"{module}@{digest(_module_file(module))}:{factory}"
    return text


def _module_file(module: str) -> Path:
    from ...specs.networks import guarded  # with torch, which readers of results do without

    # The packages around it are imported.
    found = guarded(lambda: importlib.util.find_spec(module), module)
    if found is None or found.origin is None:
        raise InputError(f"{module} cannot be imported: there is no such module")
    return Path(found.origin)


def python_digest(path: Path) -> str:
    """A digest of a factory's file and of the neighbours that it imports."""
    own = digest(path)
    beside = neighbours_of(path) if path.suffix == ".py" else []
    if not beside:
        return own
    parts = [own, *(f"{p.relative_to(path.parent).as_posix()} {digest(p)}" for p in beside)]
    return f"sha256-{hashlib.sha256('|'.join(parts).encode()).hexdigest()[:32]}"


def geometry_digest(directory: str) -> str:
    """The digest of a geometry, or how to make one."""
    if not (Path(directory) / "geometry.safetensors").is_file():
        raise InputError(
            f"no geometry in {directory}: make one with sads geometry NETWORK --out {directory}"
        )
    return digest(Path(directory))


def digest(path: Path) -> str:
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


@lru_cache(maxsize=256)
def _files_digest(path: Path, signature: tuple[tuple[str, int, int], ...]) -> str:
    """Of names and contents; the sizes and times in the signature tell when to read again."""
    whole = hashlib.sha256()
    for name, _, _ in signature:
        if Path(name) != path:
            whole.update(Path(name).relative_to(path).as_posix().encode() + b"\0")
        with open(name, "rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return f"sha256-{whole.hexdigest()[:32]}"


def _as_before(fields: dict[str, Any]) -> dict[str, Any]:
    """Fields without those that came later and say what was always so."""
    return {
        key: _as_before(value) if isinstance(value, dict) else value
        for key, value in fields.items()
        if key not in _LATER or value != _LATER[key]
    }


@lru_cache(maxsize=256)
def _artefact_digest(path: Path, header: str, changed: int) -> str:
    """Of the values and what they mean; not of how long they took, nor on which machine."""
    form = f"sads.{path.stem}"
    stored = read_sealed(path, f"{form}/2", unsealed=f"{form}/1")
    with sensible(path):
        meaning = _as_before(dict(parse_json(stored.metadata[header])))
    kept = {key: value for key, value in meaning.items() if key not in _ASIDE}
    text = json.dumps([kept, stored.values], sort_keys=True)
    return f"sha256-{hashlib.sha256(text.encode()).hexdigest()[:32]}"
