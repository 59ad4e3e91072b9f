"""`sads report`: one HTML file about stored geometries, to open offline."""

import json as jsonlib
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .options import Flag


def report(
    *directories: Path,
    out: Path | None = None,
    data: str | None = None,
    sweep: Path | None = None,
    training: Annotated[list[Path] | None, Parameter(negative="")] = None,
    forecast: Annotated[list[Path] | None, Parameter(negative="")] = None,
    monitor: Annotated[list[Path] | None, Parameter(negative="")] = None,
    doctor: Flag = False,
    card: Flag = False,
    force: Flag = False,
    json: Flag = False,
) -> None:
    """Write everything known about some geometries into one HTML file.

    Geometries that differ only in timesteps are shown as noise levels of one network, others
    side by side.

    Example: `sads report runs/iddpm-16 runs/dit-2 --data digits,size=16 --out report.html`

    Args:
        directories: where `sads geometry --out` saved them; all of one shape.
        out: the file to write; without it a card is printed.
        data: data whose place in the geometries is shown, as `sads data --help` describes it; its
            training split by default.
        sweep: directory of a sweep, for measured distances and samples under rotations.
        training: directory of a training, to show samples of and, with data, its risk; may be
            repeated.
        forecast: directory that `sads forecast --out` wrote, of one of these networks; may be
            repeated.
        monitor: directory that `sads.Monitor` writes; may be repeated. Without geometries, the
            page is only about the first one.
        doctor: examine the networks too; takes about a minute for each.
        card: write a snippet in Markdown for a model card instead of the page.
        force: replace an existing file.
        json: print the result as one JSON object.
    """
    from ..errors import InputError
    from ..presentation import assumptions
    from ..report.build import build_report, check_output, write_card, write_report
    from .progress import waiting

    if out is None and not card:
        raise InputError("a page needs a file to write it to: give --out report.html")
    if out is not None:
        check_output(out, force=force)
    if monitor and not directories and out is not None and not card:
        _training_page(monitor[0], out, force=force, json=json)
        return
    with waiting("reading geometries") as tell:
        built = build_report(
            directories,
            data=data,
            sweep=sweep,
            trainings=training or [],
            forecasts=forecast or [],
            monitors=monitor or [],
            doctor=doctor,
            on_stage=tell,
        )
        if out is not None:
            (write_card if card else write_report)(built, out, force=force)
    if out is None:
        print(jsonlib.dumps({"card": built.card}) if json else built.card)
        return
    if json:
        taken = {n: None if one is None else asdict(one) for n, one in built.assumptions.items()}
        written = {"out": str(out), "bytes": out.stat().st_size, "sentences": built.sentences}
        print(jsonlib.dumps(written | {"assumptions": taken}))
        return
    lines = [*assumptions.sentences(list(built.assumptions.items())), *built.sentences]
    opened = "" if card else " Open it in a browser."
    print("\n".join([*lines, f"Written to {out.resolve()}.{opened}"]))


def _training_page(directory: Path, out: Path, *, force: bool, json: bool) -> None:
    """The page about one training that a monitor follows."""
    from ..learning import load_record
    from ..presentation.training_record import record_sentences, record_summary

    record = load_record(directory)
    record.report(out, force=force)
    if json:
        written = {"out": str(out), "bytes": out.stat().st_size}
        print(jsonlib.dumps(written | record_summary(record)))
        return
    lines = [*record_sentences(record), f"Written to {out.resolve()}. Open it in a browser."]
    print("\n".join(lines))
