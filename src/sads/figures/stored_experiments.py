"""Figures that train nothing: they read the finished trials of registered experiments.

An experiment is a specification in `benchmarks/claims`, fixed before its first training, and its
rows are a table in a directory (`docs/results` in the repository). This module has what they share:
reading tables, values by direction and seed, orders over directions.

*Five seeds.* A finding from fewer seeds than `shapes.LEAST_SEEDS` is undecided, whatever its
interval.
"""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import InputError
from ..randomness import stream
from ..statistics.means import Interval, paired_values
from ..statistics.ranks import bootstrapped, rank_correlation
from ..statistics.resampling import percentiles
from ..statistics.shapes import LEAST_SEEDS
from ..storage.files import regular_file
from ..sweep.correlation import LEAST_BANDS
from ..sweep.store.rows import DONE
from .data import Data, Request, Row, Rows
from .trials import index_of
from .verdict import Finding

RESAMPLES = 2_000
RISKS = ("risk", "risk_along", "risk_off", "nats")
SAMPLED = ("sw2", "msw2", "w2_direction", "leakage")
WORDS: Mapping[str, str] = MappingProxyType(
    {
        "risk": "risk",
        "risk_along": "risk along",
        "risk_off": "risk off",
        "nats": "nats",
        "sw2": "SW2",
        "msw2": "MSW2",
        "w2_direction": "W2 along",
        "leakage": "leakage off",
    }
)
#: Any scale is accepted, since that of the registered experiment counts.
ANY_SCALE: Mapping[str, None] = MappingProxyType(dict.fromkeys(("smoke", "laptop", "paper")))


def read_table(directory: Path, name: str) -> list[dict[str, Any]]:
    """The lines of a table with numbers as numbers; empty cells are None.

    Raises:
        InputError: if it is not there or is not a table.
    """
    path = directory / name
    try:
        with regular_file(path).open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    return [{key: _cell(text) for key, text in line.items()} for line in lines]


def _cell(text: str | None) -> Any:
    """The value behind a cell of a table.

    >>> _cell("3"), _cell("0.5"), _cell("cnn"), _cell("")
    (3, 0.5, 'cnn', None)
    """
    for kind in (int, float):
        try:
            return kind(text or "")
        except ValueError:
            continue
    return text or None


def finished(directory: Path, experiment: str) -> list[dict[str, Any]]:
    """The finished trials of a registered experiment, by network, data and seed.

    Raises:
        InputError: if there are none; the message says how to make them.
    """
    path = directory / f"claims-{experiment}.csv"
    if not path.is_file():
        raise InputError(
            f"{path} is not there: expected the rows of a registered experiment; train it with "
            f"sads sweep benchmarks/claims/{experiment}.toml, or name the directory of its rows"
        )
    rows = [row for row in read_table(directory, path.name) if row["status"] == DONE]
    return sorted(rows, key=lambda row: (row["network"], row["data"], row["seed"]))


def measured(row: Row, measures: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Every measure of a trial on its own line, also at the moments on the way."""
    last = row["protocol_iterations"]
    for moment in [*json.loads(row["moments"] or "[]"), {**row, "step": last}]:
        for measure in measures:
            if moment.get(measure) is not None:
                yield {"measure": measure, "step": moment["step"], "value": moment[measure]}


def along_directions(request: Request, experiment: str, measures: Sequence[str]) -> Data:
    """One row for each trial, measure and moment, with the direction that its data lie along."""
    trials = finished(request.rows, experiment)
    rows = [
        {
            "network": trial["network"],
            "place": index_of(trial),
            "eigenvalue": trial["eigenvalue"],
            "seed": trial["seed"],
        }
        | line
        for trial in trials
        for line in measured(trial, measures)
    ]
    return Data(rows, protocol_of(trials, experiment))


@dataclass(frozen=True, eq=False)
class Profile:
    """A measure over directions, the largest eigenvalue first.

    Attributes:
        places: the name of each direction, its first index.
        eigenvalues: the eigenvalues of the directions.
        table: the values by direction and seed, for the seeds that all directions have.
    """

    places: tuple[int, ...]
    eigenvalues: Float[np.ndarray, " d"]
    table: Float[np.ndarray, "d s"]

    @property
    def seeds(self) -> int:
        return self.table.shape[1]


def profile(rows: Rows, **chosen: Any) -> Profile | None:
    """The values of rows with certain fields by `place` and `seed`; None without any."""
    own = [row for row in rows if all(row[key] == value for key, value in chosen.items())]
    if not own:
        return None
    _, values = paired_values((row["place"], row["seed"], row["value"]) for row in own)
    known = {row["place"]: float(row["eigenvalue"]) for row in own}
    places = tuple(sorted(values))
    table = np.array([values[place] for place in places]).reshape(len(places), -1)
    return Profile(places, np.array([known[place] for place in places]), table)


def order_over(
    x: Float[np.ndarray, " d"], table: Float[np.ndarray, "d s"]
) -> tuple[float | None, Interval | None]:
    """Spearman's correlation of x with the mean over seeds; interval over directions and seeds.

    Fewer than four directions have too few orders for an interval.
    """
    if min(table.shape) < 1 or len(table) < 3:
        return None, None
    value = rank_correlation(x, table.mean(axis=1))
    if np.isnan(value) or table.shape[1] < 2 or len(table) < LEAST_BANDS:
        return (None if np.isnan(value) else value), None
    draws = bootstrapped(x, table, RESAMPLES, stream(0, "an order over directions"))
    return value, percentiles(draws[:, 0])


def if_enough(finding: Finding, seeds: int) -> Finding:
    """The finding, undecided if there are fewer than five seeds."""
    return finding if seeds >= LEAST_SEEDS else replace(finding, holds=None)


def last_step(rows: Rows) -> int:
    """The end of the trainings."""
    return max(row["step"] for row in rows)


def present(rows: Rows, key: str) -> list[Any]:
    """The different values of a field, in the order of the rows."""
    return list(dict.fromkeys(row[key] for row in rows))


def protocol_of(trials: Sequence[Row], experiment: str) -> dict[str, Any]:
    """How the trials of an experiment were made, for its verdict."""
    first = trials[0]
    training = {
        name.removeprefix("protocol_"): value
        for name, value in first.items()
        if name.startswith("protocol_") and value is not None
    }
    return {
        "scale": "registered",
        "experiment": experiment,
        "training": training,
        "trials": len(trials),
        "seeds": sorted({row["seed"] for row in trials}),
    }
