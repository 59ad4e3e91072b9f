"""Trainings on data under W_min, the identity and W_max, which figures 7, 8, 10 and C share.

alpha is that of the training data under each rotation: the data as they are, and the extremes of
theorem 2.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from ..alignment import align
from ..specs import parse_shape
from ..specs.coercion import as_dataset
from ..statistics.means import paired_differences
from ..sweep import Specification
from .data import Data, Request, Rows
from .style import BLUE, error_bars
from .trials import Setup, run_parts, samples_of
from .verdict import Finding

FOLDER = "rotations"
ROTATIONS = ("min", "identity", "max")
LABELS = {"min": r"$W_\min$", "identity": "$I$", "max": r"$W_\max$"}
METRICS = {"sw2": "SW$_2$", "msw2": "MSW$_2$"}
SHOWN = 16  # samples in a picture
# Unrotated data often lie close to W_max, so their labels go to different sides.
_BESIDE = {"min": (5, 4), "identity": (-8, -12), "max": (5, 4)}


def trained(request: Request, files: Mapping[str, Path], setups: Mapping[str, Setup]) -> Data:
    """One row for each training, with alpha; the first samples of each rotation as pictures.

    Args:
        request: how the figure is wanted.
        files: arrays of samples, by name of the dataset.
        setups: the trainings of each dataset.
    """
    plans, alphas = {}, {}
    for name, file in files.items():
        plans[name], alphas[name] = _planned(request, name, file, setups[name])
    rows = [
        row | alphas[name][row["rotation"]]
        for name, trials in run_parts(request, FOLDER, plans).items()
        for row in trials
    ]
    pictures = {}
    for row in rows:
        samples = samples_of(request, FOLDER, row) if row["seed"] == 0 else None
        if samples is not None:
            pictures[f"samples-{row['part']}-{row['rotation']}"] = samples[:SHOWN]
    datasets = {
        name: {
            "network": setups[name].network,
            "shape": list(parse_shape(str(setups[name].shape))),
            "networks of the geometry": setups[name].networks,
            "training": next(row["protocol"] for row in rows if row["part"] == name),
            "seeds": list(setups[name].seeds),
        }
        for name in files
    }
    return Data(rows, {"datasets": datasets}, pictures)


def _planned(
    request: Request, name: str, file: Path, setup: Setup
) -> tuple[Specification, dict[str, dict[str, float]]]:
    """The trials of one dataset, and alpha under each rotation."""
    source = f"npy:{file.as_posix()}"
    place, geometry = setup.geometry(request, f"{FOLDER}-{name}")
    grid = {"data": [source], "geometry": place, "rotations": list(ROTATIONS)}
    alignment = align(geometry, as_dataset(source, shape=geometry.shape, split="train"))
    values = {"min": alignment.alpha_min, "identity": alignment.alpha, "max": alignment.alpha_max}
    unit = alignment.relative / alignment.alpha
    return setup.planned(grid), {
        rotation: {"alpha": value, "alpha_relative": value * unit}
        for rotation, value in values.items()
    }


def by_seed(rows: Rows, part: str, rotation: str, metric: str) -> dict[int, float]:
    """A metric of one rotation by seed."""
    return {
        row["seed"]: row[metric]
        for row in rows
        if row["part"] == part and row["rotation"] == rotation
    }


def lowest_is_best(rows: Rows, metric: str) -> tuple[Finding, ...]:
    """For each dataset: whether W_min has a smaller metric than the identity, and than W_max."""
    others = {"identity": "data as they are", "max": "the largest"}
    return tuple(
        Finding.of_mean(
            f"{part}: the least alignment is modelled better than {name}",
            f"{metric.upper()} of {rotation} minus that of W_min, paired over seeds",
            paired_differences(
                by_seed(rows, part, rotation, metric), by_seed(rows, part, "min", metric)
            ),
        )
        for part in dict.fromkeys(row["part"] for row in rows)
        for rotation, name in others.items()
    )


def draw_against_alpha(axes: Axes, rows: Rows, part: str, metric: str) -> None:
    """A distance under the three rotations against alpha: seeds, their mean and its error."""
    own: list[Mapping[str, Any]] = [row for row in rows if row["part"] == part]
    alphas = {row["rotation"]: row["alpha_relative"] for row in own}
    for rotation in ROTATIONS:
        values = list(by_seed(rows, part, rotation, metric).values())
        alpha = alphas[rotation]
        axes.plot([alpha] * len(values), values, ".", color="0.7", markersize=3)
        error_bars(axes, [alpha], [values], color=BLUE, markersize=4)
        place = (alpha, sum(values) / len(values))
        axes.annotate(
            LABELS[rotation], place, _BESIDE[rotation], textcoords="offset points", fontsize=7
        )
    axes.set_xscale("log")
    axes.margins(x=0.3)
    axes.set_ylim(0, 1.15 * max(row[metric] for row in own))
    axes.set_xlabel(r"relative alignment $\alpha$")
    axes.set_ylabel(f"{METRICS[metric]} to held-out data")
