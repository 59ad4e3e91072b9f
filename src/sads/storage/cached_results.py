"""Results of long computations, stored as JSON with a checksum."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import ArtefactError
from ..foundation.versions import DRAWS
from .files import atomic_write, write_bytes
from .sealed import seal_json, unseal_json


def remembered(
    path: Path, about: Mapping[str, Any], compute: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """The stored result of an equal computation, or else a new one, which is then stored."""
    key = json.loads(json.dumps({**about, "draws": DRAWS}))
    if path.is_file():
        with suppress(ArtefactError):  # a damaged result is computed again
            kept = unseal_json(path.read_bytes(), path)
            if kept.get("about") == key and isinstance(kept.get("found"), dict):
                return kept["found"]
    computed = compute()
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, write_bytes(seal_json({"about": key, "found": computed})))
    return computed
