"""`sads compare`: whether two stored geometries differ beyond their error bars."""

import json as jsonlib
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def compare(
    first: Path,
    second: Path,
    *,
    level: float = 0.01,
    ignore_scale: Annotated[bool, Parameter(negative="")] = False,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Tell whether two geometries differ, in which bands and by how much.

    Exit code 0: no difference found, 1: they differ, 2: they cannot be compared.

    Example: `sads compare runs/iddpm-16 runs/iddpm-16-area`

    Args:
        first: where `sads geometry --out` saved the one.
        second: and the other; ratios are its values over the first's.
        level: equal geometries are told apart in this share of cases.
        ignore_scale: a common factor of all eigenvalues, which changes no directions, is no
            difference.
        json: print the result as one JSON object.
    """
    from .. import comparison
    from ..geometry import load_geometry
    from ..presentation.comparison import comparison_sentences
    from ..presentation.geometry import provenance, taken_as
    from .progress import waiting

    a, b = load_geometry(first), load_geometry(second)
    with waiting("comparing fold by fold"):
        found = comparison.compare(a, b, level=level, ignore_scale=ignore_scale)
    if json:
        taken = [provenance(geometry.plan)["assumptions"] for geometry in (a, b)]
        print(jsonlib.dumps(asdict(found) | {"assumptions": taken}))
    else:
        taken = dict.fromkeys([*taken_as(a.plan), *taken_as(b.plan)])  # mostly the same
        print("\n".join([*taken, *comparison_sentences(found)]))
    sys.exit(int(found.different))
