"""Progress bars on standard error; silent where it is not a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..geometry import Progress


@contextmanager
def networks_bar(title: str) -> "Iterator[Callable[[Progress], None]]":
    """A bar with networks, error and time left, fed by the yielded function."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} networks"),
        TextColumn("error {task.fields[error]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task(title, total=None, error="not yet known")

        def report(progress: "Progress") -> None:
            known = "not yet known" if progress.error is None else f"{progress.error:.4f}"
            bar.update(task, completed=progress.networks, total=progress.expected, error=known)

        yield report


@contextmanager
def steps_bar(title: str, unit: str) -> "Iterator[Callable[[int, int, str], None]]":
    """A bar with steps, a note and time left, fed by the yielded function."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} " + unit),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task(title, total=1, note="")

        def report(done: int, total: int, note: str = "") -> None:
            bar.update(task, completed=done, total=total, note=note)

        yield report
