"""The page about one training that a monitor has followed: one file without a script."""

from importlib.metadata import version
from pathlib import Path

from ..learning import TrainingRecord
from ..presentation.numbers import sizes
from ..storage.files import atomic_write, write_bytes
from .build import check_output
from .page import render_plain
from .training_view import training_view


def training_page(record: TrainingRecord) -> str:
    """The whole file."""
    return render_plain(
        "training.html.j2",
        {
            "version": version("sads"),
            "shape": sizes(record.shape),
            "updates": f"{record.updates:,}",
            "training": training_view(record),
        },
    )


def write_page(record: TrainingRecord, path: str | Path, *, force: bool = False) -> None:
    """Write the file, whole or not at all; an existing one only if forced."""
    check_output(path, force=force)
    atomic_write(Path(path), write_bytes(training_page(record).encode()))
