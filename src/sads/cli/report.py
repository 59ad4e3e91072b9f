"""`sads report`: one HTML file about stored geometries, to open offline."""

import json as jsonlib
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .options import Flag


def report(
    *directories: Path,
    out: Path,
    data: str | None = None,
    sweep: Path | None = None,
    training: Annotated[list[Path] | None, Parameter(negative="")] = None,
    doctor: Flag = False,
    force: Flag = False,
    json: Flag = False,
) -> None:
    """Write everything known about some geometries into one HTML file.

    Geometries that differ in timesteps alone are shown as noise levels of one network, others
    side by side.

    Example: `sads report runs/iddpm-16 runs/dit-2 --data digits,size=16 --out report.html`

    Args:
        directories: where `sads geometry --out` saved them; all of one shape.
        out: the file to write.
        data: to see where it lies: the data, as `sads data --help` describes it; its training
            split by default.
        sweep: directory of a sweep, for measured distances and samples under rotations.
        training: directory of a training, to show samples of; may be repeated.
        doctor: examine the networks too; takes about a minute for each.
        force: replace an existing file.
        json: print the result as one JSON object.
    """
    from ..presentation import assumptions
    from ..report.build import build_report, check_output, write_report
    from .progress import waiting

    check_output(out, force=force)
    with waiting("reading geometries") as tell:
        built = build_report(
            directories,
            data=data,
            sweep=sweep,
            trainings=training or [],
            doctor=doctor,
            on_stage=tell,
        )
        write_report(built, out, force=force)
    if json:
        taken = {n: None if one is None else asdict(one) for n, one in built.assumptions.items()}
        written = {"out": str(out), "bytes": out.stat().st_size, "sentences": built.sentences}
        print(jsonlib.dumps(written | {"assumptions": taken}))
        return
    lines = [*assumptions.sentences(list(built.assumptions.items())), *built.sentences]
    print("\n".join([*lines, f"Written to {out.resolve()}. Open it in a browser."]))
