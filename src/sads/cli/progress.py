"""Progress on standard error: bars on a terminal, elsewhere a plain line now and then."""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, TextIO

from .plain_progress import Count, Stage, lines

if TYPE_CHECKING:
    from rich.table import Table

    from ..geometry import Progress
    from ..sweep.execute.driver import Progress as SweepProgress

Update = Callable[[str, int, int | None, str], None]
LONG_SECONDS = 60.0  # a longer estimate is announced


def _quiet() -> redirect_stdout[TextIO]:
    """Send what networks print to standard error: standard output is for our result."""
    return redirect_stdout(sys.stderr)


@contextmanager
def _bar(title: str, unit: str, note: str = "") -> Iterator[Update]:
    """A counter with a note and time left, fed with title, done, total and note."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:
        count = Count(title, unit, note=note)

        def tell(title: str, done: int, total: int | None, note: str) -> None:
            if title != count.title:  # something else is counted now
                count.title, count.first = title, None
            count.update(done, total, note)

        with _quiet(), lines(lambda: str(count)):
            yield tell
        return
    columns = [
        TextColumn("{task.description}", markup=False),  # names are not markup
        BarColumn(),
        TextColumn(f"{{task.completed:,.0f}} {unit}"),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    ]
    with _quiet(), Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=None, note=note)

        def update(title: str, done: int, total: int | None, note: str) -> None:
            bar.update(task, description=title, completed=done, total=total, note=note)

        yield update


@contextmanager
def families_bar(title: str = "") -> "Iterator[Callable[[str, Progress], None]]":
    """A bar with networks, error and time left, fed by the yielded function with a title."""
    unknown = "error not yet known"
    with _bar(title, "networks", unknown) as update:
        warning = _TimeOfChosen()

        def report(title: str, progress: "Progress") -> None:
            known = unknown if progress.error is None else f"error {progress.error:.4f}"
            where = "" if progress.subspace is None else f" in the subspace {progress.subspace}"
            stage = f", {progress.stage}" if progress.stage else ""
            warning.update(title, progress)
            update(f"{title}{where}{stage}", progress.networks, progress.expected, known)

        yield report


class _TimeOfChosen:
    """Says once how long an estimate will take in a subspace that the user did not ask for.

    Users who asked for the whole space may not expect that it runs at all, nor how long it takes.
    Where the number of networks is known, the time is stated before the first of them, otherwise
    once their pace is known.
    """

    def __init__(self) -> None:
        self.count: Count | None = Count("", "networks")

    def update(self, title: str, progress: "Progress") -> None:
        from ..presentation.numbers import span

        if self.count is None or not progress.chosen or progress.stage:
            return
        left = progress.seconds
        if left is None:
            self.count.update(progress.networks, progress.expected, "")
            left = self.count.seconds_left()
        if left is None:
            return
        self.count = None
        if left >= LONG_SECONDS:
            print(
                f"sads: {title} does not fit in memory as a whole and is estimated in the subspace "
                f"{progress.subspace}, which will take about {span(left)} for "
                f"{progress.expected:,} networks: choose fewer --networks or a smaller --subspace",
                file=sys.stderr,
            )


@contextmanager
def networks_bar(title: str) -> "Iterator[Callable[[Progress], None]]":
    """A bar like that of `families_bar`, for one family."""
    with families_bar(title) as report:
        yield lambda progress: report(title, progress)


@contextmanager
def forecast_bar(title: str, networks: int | None) -> Iterator[Callable[[int, float], None]]:
    """A bar with networks and the error of the order, fed by the yielded function."""
    with _bar(title, "networks") as update:

        def report(done: int, ratio: float) -> None:
            note = "" if math.isinf(ratio) else f"error over spread {ratio:.2f}"
            update(title, done, networks, note)

        yield report


@contextmanager
def steps_bar(title: str) -> Iterator[Callable[..., None]]:
    """A bar with steps, a note and time left, fed by the yielded function."""
    with _bar(title, "steps") as update:

        def report(done: int, total: int, note: str = "") -> None:
            update(title, done, total, note)

        yield report


@contextmanager
def waiting(title: str) -> Iterator[Callable[[str], None]]:
    """A sign of life for work without steps; the yielded function changes its words."""
    with _quiet(), status(title) as say:
        yield say


@contextmanager
def status(title: str) -> Iterator[Callable[[str], None]]:
    """A sign of life like `waiting`, for commands that print results in between."""
    from rich.console import Console
    from rich.text import Text  # names are not markup

    console = Console(stderr=True)
    if not console.is_terminal:
        stage = Stage(title)
        with lines(lambda: str(stage)):
            yield stage.change
        return
    with console.status(Text(title)) as shown:
        yield lambda text: shown.update(Text(text))


@contextmanager
def sweep_table(title: str) -> "Iterator[Callable[[SweepProgress], None]]":
    """A live table with trials done, running, failed and time left, fed by the yielded function."""
    from rich.console import Console
    from rich.live import Live

    console = Console(stderr=True)
    if not console.is_terminal:
        known = "nothing done yet"

        def tell(progress: "SweepProgress") -> None:
            nonlocal known
            known = _in_words(progress)

        with _quiet(), lines(lambda: f"{title}: {known}"):
            yield tell
        return
    with _quiet(), Live(console=console, transient=True, refresh_per_second=4) as live:
        yield lambda progress: live.update(_table(title, progress))


def _cells(progress: "SweepProgress") -> tuple[str, str, str, str]:
    """The numbers of trials that are done, running and failed, and the time left."""
    from ..presentation.numbers import span

    counts, left = progress.counts, progress.seconds_left
    failed = counts["failed"] + counts["quarantined"]
    time_left = "not yet known" if left is None else f"about {span(left)}"
    done = f"{counts['done']:,} of {counts.total():,}"
    return done, f"{len(progress.running)}", f"{failed}", time_left


def _in_words(progress: "SweepProgress") -> str:
    done, running, failed, left = _cells(progress)
    return f"{done} trials done, {running} running, {failed} failed, time left {left}"


def _table(title: str, progress: "SweepProgress") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table("done", "running", "failed", "time left", title=Text(title), title_justify="left")
    table.add_row(*_cells(progress))
    table.caption = Text("\n".join(progress.running[:8]))
    return table
