"""The time that a network is given at each level.

| time        | at level k                                               | reversed        |
|-------------|----------------------------------------------------------|-----------------|
| `index`     | k, a whole number                                        | steps - 1 - k   |
| `unit`      | between 0 (data) and 1 (noise), t of a flow              | 1 - time        |
| `thousand`  | a thousand times that                                    | 1000 - time     |
| `sigma`     | b / a; the network then sees x / a = x_0 + sigma eps     |                 |
| `log-sigma` | log(sigma) / 4, as for the inner networks of EDM         |                 |
"""

import numpy as np
from jaxtyping import Shaped

from ..errors import InputError, expected_one_of
from .base import DiffusionPath

TIMES = ("index", "unit", "thousand", "sigma", "log-sigma")


def time_values(
    time: str, path: DiffusionPath, *, reverse: bool = False
) -> Shaped[np.ndarray, " T"]:
    """The time that a network is given at each level: int64 for `index`, else float64.

    Args:
        time: one of `TIMES`.
        path: the path.
        reverse: whether time runs from noise to data.

    Raises:
        InputError: for an unknown time, or one that has no reverse.

    >>> from sads.path import RectifiedFlow
    >>> time_values("thousand", RectifiedFlow(steps=2), reverse=True).tolist()
    [750.0, 250.0]
    """
    if time not in TIMES:
        raise InputError(f"unknown time {time!r}{expected_one_of(time, TIMES)}")
    if time in ("sigma", "log-sigma"):
        if reverse:
            raise InputError(
                f"a time of {time} is a noise level and has no reverse: choose index, unit or "
                "thousand"
            )
        return path.sigma if time == "sigma" else np.log(path.sigma) / 4
    if time == "index":
        levels = np.arange(path.steps)
        return levels[::-1].copy() if reverse else levels
    unit = 1 - path.unit_times if reverse else path.unit_times
    return unit if time == "unit" else 1000 * unit
