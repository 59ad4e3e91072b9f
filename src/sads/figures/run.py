"""Make a figure: compute its rows, draw them, judge them, write everything."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..execution.engines import check_engine
from ..sweep.store.table import read_csv
from .catalogue import SCALES, chosen, experiment, file_name
from .data import Request
from .output import check_places, write_figure
from .style import style
from .verdict import Verdict, without_power


@dataclass(frozen=True)
class Made:
    """A figure that has been written."""

    key: str
    verdict: Verdict
    files: tuple[Path, ...]


def make_figures(name: str, request: Request) -> Iterator[Made]:
    """Make one figure, or `all` one after the other; errors in the request are raised first.

    Raises:
        InputError: for a figure, scale or part that does not exist, or data that is missing.
    """
    keys = chosen(name)
    if request.known is not None:
        read_csv(request.known, {})  # so that a bad table is refused before anything is computed
        if not any(experiment(key).trials for key in keys):
            raise InputError(f"figure {keys[0]} has no trials to take over from a table of results")
    for key in keys:
        check(key, request)
    for key in keys:
        yield make_figure(key, request)


def check(key: str, request: Request) -> None:
    """Refuse a request that the figure cannot be made from."""
    figure = experiment(key)
    check_engine(request.engine, request.workers)
    if request.scale not in figure.scales:
        known = ", ".join(figure.scales)
        raise InputError(f"a scale of figure {key} is {known}, got {request.scale!r}")
    unknown = [part for part in request.only if part not in figure.parts]
    if unknown and not figure.parts:
        raise InputError(f"figure {key} is one piece and has no parts to choose from")
    if unknown:
        raise InputError(
            f"figure {key} has no part {unknown[0]!r}: it has {', '.join(figure.parts)}"
        )
    _keep_larger(key, request)
    figure.check(request)


def _keep_larger(key: str, request: Request) -> None:
    """Refuse to replace a figure by one of a smaller scale."""
    path = request.out / f"{file_name(key)}.json"
    try:
        scale = json.loads(path.read_bytes())["protocol"]["scale"]
        larger = SCALES.index(scale) > SCALES.index(request.scale)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return  # there is none, or it is not ours
    if larger:
        raise InputError(
            f"{path} is of {scale} scale, larger than {request.scale}: choose another directory"
        )


def make_figure(key: str, request: Request) -> Made:
    """Compute, draw, judge and write one figure."""
    check(key, request)
    check_places(request.out, file_name(key))
    figure = experiment(key)
    request.say(f"figure {key}: {figure.title}")
    started = time.perf_counter()
    data = figure.data(request)
    seconds = round(time.perf_counter() - started, 1)
    findings = figure.verdict(data.rows)
    if request.scale in figure.powerless:
        findings = without_power(findings)
    protocol = {"scale": request.scale, **data.protocol, "seconds_of_this_run": seconds}
    if versions := sorted({row["draws"] for row in data.rows if row.get("draws")}):
        protocol |= {"draws": versions}
    verdict = Verdict(key, findings, protocol)
    with style():
        drawing = figure.draw(data)
        files = write_figure(request.out, file_name(key), data, drawing, verdict)
    return Made(key, verdict, tuple(files))
