"""Strings to laws of timesteps and to weights of the loss, for your own trainings.

| law of timesteps    | probability of t, u = (t + 1/2) / T                             |
|---------------------|-----------------------------------------------------------------|
| `uniform`           | the same for all                                                |
| `logit-normal:M,S`  | log(u / (1 - u)) is normal with mean M and standard deviation S |
| `npy:FILE`          | an array with one entry for each timestep                       |

| weights of the loss | of |f - target|^2 at t, with the signal-to-noise ratio q = a^2 / b^2       |
|---------------------|---------------------------------------------------------------------------|
| `uniform`           | 1                                                                         |
| `x0`                | 1 / q: makes the loss of noise that of a prediction of the clean sample   |
| `v`                 | (1 + q) / q: makes the loss of noise that of a prediction of v            |
| `min-snr:G`         | min(q, G) / q                                                             |
| `npy:FILE`          | an array with one entry for each timestep                                 |
"""

from typing import TYPE_CHECKING

from ..errors import InputError
from .grammar import convert

if TYPE_CHECKING:
    import numpy as np

    from ..path import DiffusionPath

LAWS = "uniform, logit-normal:MEAN,STD or npy:FILE"
WEIGHTS = "uniform, x0, v, min-snr:GAMMA or npy:FILE"


def as_timestep_law(
    source: "str | np.ndarray | None", schedule: "DiffusionPath"
) -> "np.ndarray | None":
    """The probability of each timestep; None if all have the same.

    >>> from sads.path import Schedule
    >>> law = as_timestep_law("logit-normal:0,1", Schedule())
    >>> int(law.argmax()) in (499, 500)
    True
    """
    import numpy as np

    if not isinstance(source, str):
        return source
    kind, _, rest = source.partition(":")
    if source == "uniform":
        return None
    if kind == "npy" and rest:
        return _array(rest)
    parts = rest.split(",")
    if kind != "logit-normal" or len(parts) != 2:
        raise InputError(f"unknown law of timesteps {source!r}: expected {LAWS}")
    mean = convert("the mean of logit-normal", parts[0], float)
    std = convert("the standard deviation of logit-normal", parts[1], float)
    if not std > 0:
        raise InputError(f"the standard deviation of logit-normal is positive, got {std}")
    u = (np.arange(schedule.steps) + 0.5) / schedule.steps
    z = (np.log(u / (1 - u)) - mean) / std
    density = np.exp(-(z**2) / 2) / (u * (1 - u))
    return density / density.sum()


def as_loss_weights(
    source: "str | np.ndarray | None", schedule: "DiffusionPath"
) -> "np.ndarray | None":
    """The weight of each timestep in the loss; None if every weight is 1.

    >>> from sads.path import Schedule
    >>> weights = as_loss_weights("min-snr:5", Schedule())
    >>> float(weights[-1]), bool(weights[0] < 0.01)
    (1.0, True)
    """
    import numpy as np

    if not isinstance(source, str):
        return source
    kind, _, rest = source.partition(":")
    ratio = schedule.signal_power / schedule.noise_power
    if source == "uniform":
        return None
    if kind == "npy" and rest:
        return _array(rest)
    if source == "x0":
        return 1 / ratio
    if source == "v":
        return (1 + ratio) / ratio
    if kind == "min-snr" and rest:
        largest = convert("the largest ratio of min-snr", rest, float)
        if not largest > 0:
            raise InputError(f"the largest ratio of min-snr is positive, got {largest}")
        return np.minimum(ratio, largest) / ratio
    raise InputError(f"unknown weights of the loss {source!r}: expected {WEIGHTS}")


def _array(file: str) -> "np.ndarray":
    from ..data import read_npy

    return read_npy(file).astype(float)
