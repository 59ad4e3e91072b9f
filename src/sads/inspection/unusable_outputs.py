"""Outputs that cannot be studied: not finite, of another shape, or the same for all parameters."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import NetworkError
from ..networks import ScoreFamily
from ..networks.adapters.explain import which_was_read, why_not_read
from .overflow import first_overflow


def check_output(
    output: object, family: ScoreFamily, network: nn.Module, x: Tensor, t: np.ndarray
) -> None:
    """Refuse an output that is not a real and finite tensor of the shape of the input.

    Args:
        output: what the network returned.
        family: its family.
        network: the network.
        x: its input, (1, *shape).
        t: its timestep, (1,).

    Raises:
        NetworkError: if it is not.
    """
    if not isinstance(output, Tensor):
        kind = type(output).__name__
        raise NetworkError(
            f"{family.name} must return a tensor of predicted noise, got {kind}"
            + why_not_read(network, output, x)
        )
    if tuple(output.shape) != (1, *family.shape):
        raise NetworkError(
            f"{family.name} must return the shape of its input, {(1, *family.shape)}, "
            f"got {tuple(output.shape)}{why_not_read(network, output, x)}"
        )
    if not output.is_floating_point():
        raise NetworkError(f"{family.name} must return real numbers, got {output.dtype}")
    if not bool(torch.isfinite(output).all()):
        bad = output.numel() - int(torch.isfinite(output).sum())
        where = first_overflow(network, x, torch.from_numpy(t))
        since = f", from `{where}` on" if where else ""
        raise NetworkError(
            f"{family.name} returned {bad} NaN or infinite values of {output.numel()} at timestep "
            f"{int(t[0])}{since}: {_about_time(family)}"
        )


def why_silent(
    family: ScoreFamily,
    network: nn.Module,
    x: Tensor,
    t: np.ndarray,
    depends: Callable[[np.ndarray], bool],
) -> str:
    """Why the output does not depend on the parameters, if no zero layer is to blame.

    Args:
        family: the family.
        network: one of its networks.
        x: an input that is not zero, (1, *shape).
        t: a timestep at which all networks give the same output, (1,).
        depends: whether the output at x and another timestep depends on the parameters.
    """
    name, step = family.name, int(t[0])
    where = first_overflow(network, x, torch.from_numpy(t))
    if where is not None:
        return (
            f"{name} outputs the same for all parameters at timestep {step}, because a value "
            f"inside it is not finite from `{where}` on: {_about_time(family)}"
        )
    other = next((i for i in _spread(family) if _safely(depends, i)), None)
    if other is not None:
        return (
            f"{name} outputs the same for all parameters at timestep {step}, but not at timestep "
            f"{int(other[0])}: check how it uses the time, or leave such timesteps out "
            "(timesteps A:B)"
        )
    return (
        f"the output of {name} does not depend on its parameters, so it has no geometry: check "
        f"what its forward returns{which_was_read(network, x, torch.from_numpy(t))}"
    )


def _safely(depends: Callable[[np.ndarray], bool], t: np.ndarray) -> bool:
    try:
        return depends(t)
    except NetworkError:  # not every network takes every timestep
        return False


def _spread(family: ScoreFamily) -> list[np.ndarray]:
    """A few timesteps over the whole schedule."""
    return [np.array([int(i)]) for i in np.linspace(0, family.schedule.steps - 1, 5)]


def _about_time(family: ScoreFamily) -> str:
    """What to do about values that are not finite."""
    return (
        "it may expect times between 0 and 1, or divide by a standard deviation that is zero or "
        f"infinite there; wrap it so that it is finite at whole timesteps 0 to "
        f"{family.schedule.steps - 1}, or leave such timesteps out (timesteps A:B)"
    )
