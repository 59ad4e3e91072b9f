"""What goes into a figure, the numbers that come out before anything is drawn, and what it is."""

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
    """Nobody is listening."""


@dataclass(frozen=True)
class Request:
    """How a figure is wanted.

    Attributes:
        scale: `smoke`, `laptop` or `paper`.
        out: directory of the results; unfinished work is kept below it.
        engine: where trials run: `local`, `dask` or `dask:ADDRESS`.
        workers: trials at once.
        only: parts of the figure; all of them if empty.
        sources: data by name (`mnist`, `faces`, `cifar`), in the data grammar.
        known: a table of finished trials that need not be run again.
        rows: directory of the tables that figures read which train nothing.
        retry_failed: run trials that failed once more.
        say: called with what is being done.
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
        """The parts that are wanted, in their own order."""
        return tuple(name for name in known if not self.only or name in self.only)


@dataclass(frozen=True)
class Data:
    """The numbers of a figure.

    Attributes:
        rows: one line of the table each; all have the same keys.
        protocol: how they were made.
        pictures: arrays that are shown as images or clouds, by name.
    """

    rows: Rows
    protocol: Mapping[str, Any]
    pictures: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def parts(self) -> list[str]:
        """The parts that have rows, in the order of the rows."""
        return list(dict.fromkeys(row["part"] for row in self.rows))


def _accept(request: Request) -> None:
    """Nothing is needed but the request."""


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
        powerless: scales that train too little to decide anything.
        trials: whether it has trials, which a table could hold.
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
