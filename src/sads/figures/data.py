"""What a figure is, what a user asks for, and its numbers before anything is drawn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .verdict import Finding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = Mapping[str, Any]
Rows = Sequence[Row]


def _silent(text: str) -> None:
    """Ignore progress messages."""


@dataclass(frozen=True)
class Request:
    """What a user asks for.

    Attributes:
        scale: `smoke`, `laptop` or `paper`.
        out: directory of the results, with unfinished work below it.
        engine: where trials run: `local`, `dask` or `dask:ADDRESS`.
        workers: the number of trials at once.
        only: parts of the figure; all of them if empty.
        sources: data by name (`mnist`, `faces`, `cifar`), in the data grammar.
        known: a table of finished trials that need not be run again.
        rows: directory of the tables for figures that train nothing.
        retry_failed: whether to run failed trials again.
        say: called with progress messages.
    """

    scale: str
    out: Path
    engine: str = "local"
    workers: int | None = None
    only: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    known: Path | None = None
    rows: Path = Path("docs/results")
    retry_failed: bool = False
    say: Callable[[str], None] = _silent

    def work(self, *names: str) -> Path:
        """The directory of unfinished or reusable work of this name at this scale."""
        return self.out.joinpath("work", self.scale, *names)

    def parts(self, known: Sequence[str]) -> tuple[str, ...]:
        """The parts that were asked for, in the order of the figure."""
        return tuple(name for name in known if not self.only or name in self.only)


@dataclass(frozen=True)
class Data:
    """The numbers of a figure.

    Attributes:
        rows: one line of the table each; all have the same keys.
        protocol: how the numbers were made.
        pictures: arrays by name that are shown as images or clouds.
    """

    rows: Rows
    protocol: Mapping[str, Any]
    pictures: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def parts(self) -> list[str]:
        """The parts that have rows, in the order of the rows."""
        return list(dict.fromkeys(row["part"] for row in self.rows))


def _accept(request: Request) -> None:
    """Accept every request."""


@dataclass(frozen=True)
class Experiment:
    """A figure: what it shows, its sizes, and the steps that make it.

    Attributes:
        title: what it shows, in a few words.
        scales: settings at `smoke`, `laptop` and `paper` scale.
        data: computes the rows, going on from what is known.
        draw: the drawing, a function of the data alone.
        verdict: the claims and whether they hold, a function of the rows alone.
        parts: names that a request may choose from; empty where the figure is one piece.
        powerless: scales with too little training to decide anything.
        trials: whether it has trials, whose results can come from a table.
        check: called before anything is computed; raises where the user's data are missing.
    """

    title: str
    scales: Mapping[str, Any]
    data: Callable[[Request], Data]
    draw: Callable[[Data], "Figure"]
    verdict: Callable[[Rows], tuple[Finding, ...]]
    parts: tuple[str, ...] = ()
    powerless: tuple[str, ...] = ("smoke",)
    trials: bool = True
    check: Callable[[Request], object] = _accept
