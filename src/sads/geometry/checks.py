"""Whether a family can be studied at all, told on a few of its networks before any long work."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import InputError, NetworkError, brief
from ..networks import ScoreFamily, ScoreNetwork
from ..networks.initialisation import Constant, Uniform
from .ensemble import BuiltEnsemble
from .probes import Probe

TRIED = 2


def check_family(
    family: ScoreFamily, probe: Probe, seed: int
) -> tuple[nn.Module, ScoreNetwork | None]:
    """Run a few networks; return one, and once more if it starts as its class declares.

    A factory may change what it builds. Then the declared distributions, read-out and symmetries
    are not those of the family, and it is sampled like any foreign one.

    Raises:
        NetworkError: if networks are no modules, fail, return another shape, NaN or zeros, or
            give two answers to one question.
    """
    rng = np.random.default_rng([seed, 1])
    builder = BuiltEnsemble(family, torch.device("cpu"))
    t = rng.integers(family.schedule.steps, size=TRIED)
    try:
        x = probe.draw(t, family.shape, family.schedule, rng)
    except (RuntimeError, MemoryError) as error:
        raise InputError(
            f"samples of shape {family.shape} do not fit in memory: choose a smaller --shape"
        ) from error
    members = [_build(builder, int(rng.integers(2**62))) for _ in range(TRIED)]
    for i, member in enumerate(members):
        _check_output(_call(member, x[i : i + 1], t[i : i + 1]), family)
        if not torch.equal(*(_call(member, x[i : i + 1], t[i : i + 1], s) for s in (1, 2))):
            raise NetworkError(
                f"{family.name} gives two different outputs for one input in eval mode: switch off "
                "what is random in it (dropout, noise, sampling), or pass a deterministic factory"
            )
    if all(_is_zero(member, x[i : i + 1], t[i : i + 1]) for i, member in enumerate(members)):
        raise NetworkError(_why_zero(family, members[0], probe, t[:1]))
    ours = [member for member in members if isinstance(member, ScoreNetwork)]
    if len(ours) == len(members) and follow_declaration(ours):
        return members[0], ours[0]
    return members[0], None


def follow_declaration(members: list[ScoreNetwork]) -> bool:
    """Whether parameters look drawn from the declared distributions, by range and variance."""
    declared = members[0].distributions()
    for name, expected in declared.items():
        values = torch.cat([m.get_parameter(name).detach().flatten() for m in members]).double()
        if isinstance(expected, Constant):
            if bool((values != expected.value).any()):
                return False
            continue
        if bool((values == values[0]).all()) and len(values) > 1:
            return False
        if isinstance(expected, Uniform) and float(values.abs().max()) > expected.bound * 1.0001:
            return False
        # A sample variance spreads by sqrt(2/n) at most; 7 of that are not seen by chance.
        spread = 7 * math.sqrt(2 / len(values))
        if spread < 1 and abs(float(values.square().mean()) / expected.variance - 1) > spread:
            return False
    return True


def _is_zero(member: nn.Module, x: Tensor, t: np.ndarray) -> bool:
    return bool((_call(member, x, t) == 0).all())


def _why_zero(family: ScoreFamily, member: nn.Module, probe: Probe, t: np.ndarray) -> str:
    """Why there is no geometry, and what to do."""
    where = f"{family.name} outputs exactly zero at the probe {probe.describe()}, so its geometry"
    noise = torch.randn(1, *family.shape, generator=torch.Generator().manual_seed(0))
    if not _is_zero(member, noise, t):
        return f"{where} there is zero: probe elsewhere, for example --probe gaussian:1"
    return (
        f"{where} is zero and has no directions: its last layer is initialised to zero; give that "
        "layer its default initialisation (zero_init=false for the networks of sads)"
    )


def _build(builder: BuiltEnsemble, seed: int) -> nn.Module:
    name = builder.family.name
    try:
        module = builder.build(seed)
    except InputError:
        raise
    except Exception as error:
        raise NetworkError(f"the factory of {name} failed: {brief(error)}") from error
    return module


def _call(module: nn.Module, x: Tensor, t: np.ndarray, seed: int = 0) -> Any:
    """The output; what is random in the module depends on the seed."""
    try:
        with torch.inference_mode(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return module(x.clone(), torch.from_numpy(t))
    except Exception as error:
        raise NetworkError(
            f"{type(module).__name__} cannot take an input of shape {tuple(x.shape[1:])} and a "
            f"timestep: {brief(error)}"
        ) from error


def _check_output(output: object, family: ScoreFamily) -> None:
    if not isinstance(output, Tensor):
        kind = type(output).__name__
        raise NetworkError(f"{family.name} must return a tensor of predicted noise, got {kind}")
    if tuple(output.shape) != (1, *family.shape):
        raise NetworkError(
            f"{family.name} must return the shape of its input, {(1, *family.shape)}, "
            f"got {tuple(output.shape)}"
        )
    if not bool(torch.isfinite(output).all()):
        bad = math.prod(output.shape) - int(torch.isfinite(output).sum())
        raise NetworkError(
            f"{family.name} returned {bad} NaN or infinite values of {output.numel()} at "
            "initialisation: check its initial scale and its handling of the timestep"
        )
