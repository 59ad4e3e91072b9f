"""Networks, data and probes of other packages, found by the entry points that they declare.

| group           | an entry point is                                   | its name stands for      |
|-----------------|-----------------------------------------------------|--------------------------|
| `sads.networks` | `make(shape, **fields)`, which returns a network    | a preset, `NAME,field=1` |
| `sads.data`     | `read(where, selection, shape, **options)`: samples | data, `NAME:...`         |
| `sads.probes`   | `make(where, shape)`, which returns a probe         | a probe, `NAME:...`      |

An entry point cannot replace what this package has under the same name.
"""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from ..errors import InputError, brief

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

NETWORKS, DATA, PROBES = "sads.networks", "sads.data", "sads.probes"


@cache
def entry_points_of(group: str) -> "dict[str, EntryPoint]":
    """The entry points of a group by name; installed packages are searched only once."""
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=group)}


def plug_in(group: str, name: str) -> Callable[..., Any] | None:
    """The object that an entry point of a group loads; None if no entry point has that name.

    Raises:
        InputError: if it cannot be loaded.
    """
    entry = entry_points_of(group).get(name)
    if entry is None:
        return None
    try:
        return entry.load()
    except Exception as error:  # whatever somebody else's package raises when it is imported
        raise InputError(
            f"the plug-in {name} ({entry.value}) cannot be loaded: {brief(error)}"
        ) from error


def others(group: str) -> str:
    """The names of a group, each after a comma, to append to a list of known names."""
    return "".join(f", {name}" for name in sorted(entry_points_of(group)))
