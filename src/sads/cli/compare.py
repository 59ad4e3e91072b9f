"""`sads compare`: whether two stored geometries differ beyond their error bars."""

import json as jsonlib
import sys
from dataclasses import asdict
from pathlib import Path

from .options import Flag


def compare(
    first: Path,
    second: Path,
    *,
    level: float = 0.01,
    ignore_scale: Flag = False,
    junit: Path | None = None,
    json: Flag = False,
) -> None:
    """Tell whether two geometries differ, in which bands and by how much.

    Exit code 0: no difference found, 1: they differ, 2: they cannot be compared.

    Example: `sads compare runs/iddpm-16 runs/iddpm-16-area`

    Args:
        first: where `sads geometry --out` saved the first geometry.
        second: where it saved the second; ratios are values of the second over those of the first.
        level: the probability that equal geometries are called different.
        ignore_scale: do not count a common factor of all eigenvalues as a difference: it changes
            no directions.
        junit: a file to write for continuous integration, with one test; an existing file is
            replaced.
        json: print the result as one JSON object.
    """
    from .. import comparison
    from ..geometry import load_geometry
    from ..presentation.comparison import comparison_sentences
    from ..presentation.geometry import provenance, taken_as
    from ..presentation.junit import comparison_cases, write_junit
    from ..storage.files import file_target
    from .progress import waiting

    if junit is not None:
        file_target(junit)  # a file that cannot be written is refused before any work

    a, b = load_geometry(first), load_geometry(second)
    with waiting("comparing fold by fold"):
        result = comparison.compare(a, b, level=level, ignore_scale=ignore_scale)
    if json:
        taken = [provenance(geometry.plan)["assumptions"] for geometry in (a, b)]
        print(jsonlib.dumps(asdict(result) | {"assumptions": taken}))
    else:
        taken = dict.fromkeys([*taken_as(a.plan), *taken_as(b.plan)])  # mostly the same
        print("\n".join([*taken, *comparison_sentences(result)]))
    if junit is not None:
        write_junit(junit, f"sads compare {first} {second}", comparison_cases(result))
    sys.exit(int(result.different))
