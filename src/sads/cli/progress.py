"""Progress bars on standard error; silent where it is not a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from ..geometry import Progress
    from ..sweep.driver import Progress as SweepProgress


def _quiet() -> redirect_stdout[TextIO]:
    """What networks print is not our result."""
    return redirect_stdout(sys.stderr)


@contextmanager
def _bar(title: str, counter: str, note: str) -> Iterator[Callable[..., None]]:
    """A bar with a counter, a note and time left; the yielded function updates it."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = [TextColumn("{task.description}"), BarColumn(), TextColumn(counter)]
    with (
        _quiet(),
        Progress(
            *columns,
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        ) as bar,
    ):
        task = bar.add_task(title, total=None, note=note)

        def update(**fields: Any) -> None:
            bar.update(task, **fields)

        yield update


@contextmanager
def families_bar(title: str = "") -> "Iterator[Callable[[str, Progress], None]]":
    """A bar with networks, error and time left, fed by the yielded function with a title."""
    unknown = "error not yet known"
    with _bar(title, "{task.completed:,.0f} networks", unknown) as update:

        def report(title: str, progress: "Progress") -> None:
            known = unknown if progress.error is None else f"error {progress.error:.4f}"
            update(
                description=title,
                completed=progress.networks,
                total=progress.expected,
                note=known,
            )

        yield report


@contextmanager
def networks_bar(title: str) -> "Iterator[Callable[[Progress], None]]":
    """The same for one family."""
    with families_bar(title) as report:
        yield lambda progress: report(title, progress)


@contextmanager
def steps_bar(title: str) -> Iterator[Callable[..., None]]:
    """A bar with steps, a note and time left, fed by the yielded function."""
    with _bar(title, "{task.completed:,.0f} steps", "") as update:

        def report(done: int, total: int, note: str = "") -> None:
            update(completed=done, total=total, note=note)

        yield report


@contextmanager
def waiting(title: str) -> Iterator[Callable[[str], None]]:
    """A sign of life for work without steps; the yielded function changes its words."""
    from rich.console import Console
    from rich.text import Text  # names are not markup

    console = Console(stderr=True)
    shown = console.status(Text(title)) if console.is_terminal else nullcontext()
    with _quiet(), shown as status:
        yield lambda stage: None if status is None else status.update(Text(stage))


@contextmanager
def status(title: str) -> Iterator[Callable[[str], None]]:
    """A line that says what is being done, fed by the yielded function."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda text: None
        return
    with console.status(title) as shown:
        yield shown.update


@contextmanager
def sweep_table(title: str) -> "Iterator[Callable[[SweepProgress], None]]":
    """A live table with trials done, running, failed and time left, fed by the yielded function."""
    from datetime import timedelta

    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

    console = Console(stderr=True)
    if not console.is_terminal:
        with _quiet():
            yield lambda progress: None
        return

    def table(progress: "SweepProgress") -> Table:
        counts, left = progress.counts, progress.seconds_left
        failed = counts["failed"] + counts["quarantined"]
        time_left = "not yet known" if left is None else str(timedelta(seconds=round(left)))
        found = Table("done", "running", "failed", "time left", title=title, title_justify="left")
        done = f"{counts['done']:,} of {counts.total():,}"
        found.add_row(done, f"{len(progress.running)}", f"{failed}", time_left)
        found.caption = "\n".join(progress.running[:8])
        return found

    with _quiet(), Live(console=console, transient=True, refresh_per_second=4) as live:
        yield lambda progress: live.update(table(progress))
