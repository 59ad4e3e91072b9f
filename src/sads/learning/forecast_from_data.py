"""A forecast from a dataset: chooses the target and the method, and notes what they are."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ..data import Dataset
from ..directions.sets import Cosines, DirectionSet, Eigenvectors
from ..errors import InputError
from ..networks import ScoreFamily
from .forecast import Forecast
from .forecast_method import Method
from .forecast_setting import Scene
from .make_forecast import forecast_training
from .recipe import Recipe
from .row_workers import RowWorkers
from .targets import goal_for
from .validity import LADDER, cheapest_passed, kind_of, method_named

AUTO = "auto"
METHODS = (AUTO, *LADDER)
BANDS = 16  # of frequency, where no directions are given


def forecast_data(
    family: ScoreFamily,
    data: Dataset,
    *,
    directions: DirectionSet | None = None,
    recipe: Recipe,
    steps: int = 300,
    method: str = AUTO,
    networks: int | None = None,
    tolerance: float = 0.1,
    seed: int = 0,
    out: str | Path | None = None,
    workers: RowWorkers | None = None,
    on_progress: Callable[[int, float], None] | None = None,
) -> Forecast:
    """Forecast what training on a dataset does along each direction.

    Args:
        family: the architecture.
        data: the dataset.
        directions: the directions to tell apart; bands of frequency by default.
        recipe: the training that is forecast.
        steps: the planned number of steps, for the tangent flow and the pilot.
        method: one of the ladder; `auto` takes the cheapest that has passed for this kind of
            network.
        networks: the number of networks; unless given, they are added until the tolerance is
            reached.
        tolerance: root mean square error of the drifts over their spread at which to stop.
        seed: the seed of all draws.
        out: directory for the result; an interrupted forecast is continued.
        workers: who looks at the networks; this process unless given.
        on_progress: called with the networks so far and that ratio.
    """
    with workers or nullcontext():
        scene, chosen, about = setting(
            *(family, data, directions, recipe), steps=steps, method=method, seed=seed
        )
        return forecast_training(
            scene,
            chosen,
            networks=networks,
            tolerance=tolerance,
            out=out,
            about=about,
            workers=workers,
            on_progress=on_progress,
        )


def setting(
    family: ScoreFamily,
    data: Dataset,
    directions: DirectionSet | None,
    recipe: Recipe,
    *,
    steps: int,
    method: str,
    seed: int,
) -> tuple[Scene, Method, dict[str, Any]]:
    """What a forecast looks at, how, and what else is stored with it."""
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}: expected one of {', '.join(METHODS)}")
    if steps < 1:
        raise InputError(f"the planned training has at least one step, got {steps}")
    goal = goal_for(data)
    places = family.size // (family.shape[0] if len(family.shape) > 1 else 1)
    told_apart = directions or Cosines(family.shape, min(BANDS, places))
    basis = "eigenvectors" if isinstance(told_apart, Eigenvectors) else "cosines"
    kind = kind_of(family.member(seed))
    chosen = method_named(cheapest_passed(basis, kind) if method == AUTO else method, steps=steps)
    about = {"data": data.name, "target": goal.kind, "kind": kind, "basis": basis}
    return Scene(family, goal.reference, goal.target, told_apart, recipe, seed), chosen, about
