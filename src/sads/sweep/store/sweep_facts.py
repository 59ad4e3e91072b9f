"""What identifies a sweep, and how it differs from another one."""

import json
from typing import Any

from ...errors import ArtefactError
from ...foundation.versions import code_version
from ..describe.plan import Planned, named_files
from ..describe.specification import Specification
from .layout import Layout

Facts = dict[str, Any]


def refuse_other(layout: Layout, known: Facts, asked: Facts) -> None:
    """Refuse the directory of a sweep with other trials, and say what differs."""
    if known["trials"] != asked["trials"]:
        differences = "; ".join(_differences(known, asked))
        raise ArtefactError(
            f"{layout.root} holds another sweep ({differences}): choose another out='DIR'; to "
            f"reuse its results, write them with sads results {layout.root} --csv known.csv and "
            "pass seed_from='known.csv'"
        )


def facts_of(asked: Specification, plan: list[Planned]) -> Facts:
    """What the database keeps about a sweep besides its trials."""
    return {
        "specification": asked.model_dump(mode="json"),
        "files": named_files(plan),
        "code": code_version(),
        "trials": sorted(p.id for p in plan),
    }


def _differences(known: Facts, asked: Facts) -> list[str]:
    """What differs, as `key was X, now Y`."""
    old, new = _flat(known["specification"]), _flat(asked["specification"])
    differences = [
        f"{key} was {_short(old.get(key))}, now {_short(new.get(key))}"
        for key in dict.fromkeys([*old, *new])
        if old.get(key) != new.get(key)
    ]
    changed = [p for p, d in asked["files"].items() if known["files"].get(p, d) != d]
    differences += [f"the content of {path} has changed" for path in changed]
    return differences[:4] or ["its trials were identified differently"]


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """Nested tables as one, with names like `grid 1 networks`."""
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        items = ((str(i), part) for i, part in enumerate(value, start=1))
    else:
        return {name: value}
    return {k: v for key, part in items for k, v in _flat(part, f"{name} {key}".strip()).items()}


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:56]} ..."
