"""Whether a family can be studied at all, told on a few of its networks before any long work."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import InputError, NetworkError, SadsError, brief
from ..networks import ScoreFamily, ScoreNetwork
from ..networks.family import MEMBER
from ..networks.initialisation import Distribution
from ..networks.isolation import seeded
from ..networks.provenance import agreed, recorded
from ..networks.zero import Silence, is_mute, redrawing, silence_of
from ..randomness import stream, torch_stream
from .members import Members, follow
from .probes import Probe

TRIED = 2
BUILT = 8  # small networks that must agree on how they start


@dataclass(frozen=True)
class Checked:
    """A family that has a geometry.

    Attributes:
        members: a few of its networks; their family is the one to study.
        declared: one of them, if it starts as its class declares.
        redrawn: layers that were redrawn because they zeroed the output.
    """

    members: Members
    declared: ScoreNetwork | None
    redrawn: tuple[str, ...]


def check_family(
    family: ScoreFamily, probe: Probe, seed: int, zero_output: str = "explain"
) -> Checked:
    """Run a few networks, and say whether they start as their class declares.

    A factory may change what it builds. Then the declared distributions, read-out and symmetries
    are not those of the family, and it is read like any foreign one.

    Raises:
        NetworkError: if networks are no modules, fail, return another shape or NaN, give two
            answers to one question, or do not depend on their parameters.
    """
    rng = stream(seed, "checks of a family")
    t = rng.integers(family.schedule.steps, size=TRIED)
    try:
        x = probe.draw(t, family.shape, family.schedule, rng)
    except (RuntimeError, MemoryError) as error:
        raise InputError(
            f"samples of shape {family.shape} do not fit in memory: choose a smaller --shape"
        ) from error
    seeds = [int(rng.integers(2**62)) for _ in range(BUILT)]
    members = _members(family, seeds)
    for i, member in enumerate(members.networks[:TRIED]):
        check_output(_call(member, x[i : i + 1], t[i : i + 1]), family)
        if not torch.equal(*(_call(member, x[i : i + 1], t[i : i + 1], s) for s in (1, 2))):
            raise NetworkError(
                f"{family.name} gives two different outputs for one input in eval mode: switch off "
                "what is random in it (dropout, noise, sampling), or pass a deterministic factory"
            )
    redrawn: tuple[str, ...] = ()
    noise = _noise(family)
    if not all(_depends(members, x[i : i + 1], t[i : i + 1]) for i in range(TRIED)):
        _check_elsewhere(members, probe, t[:1])
        silence = silence_of(members.networks[0], noise, torch.from_numpy(t[:1]))
        redrawn = _to_redraw(family, silence, zero_output)
    elif _declared(members.networks) is None:
        silence = silence_of(members.networks[0], noise, torch.from_numpy(t[:1]))
        redrawn = _to_redraw(family, silence, zero_output) if silence else ()
    if redrawn:
        members = _members(replace(family, factory=redrawing(family.factory, redrawn)), seeds)
        silent = not _depends(members, x[:1], t[:1]) and not _depends(members, noise, t[:1])
        if silent or is_mute(members.networks[0], noise, torch.from_numpy(t[:1])):
            raise NetworkError(
                f"{family.name} still outputs nothing of its own after redrawing "
                f"{_listed(redrawn)}: try --zero-output all"
            )
    return Checked(members, _declared(members.networks), redrawn)


def _declared(networks: list[nn.Module]) -> ScoreNetwork | None:
    """One of our networks, if they start as their class declares."""
    ours = [m for m in networks if isinstance(m, ScoreNetwork)]
    known = len(ours) == len(networks) and follow(ours, ours[0].distributions())
    return ours[0] if known else None


def _members(family: ScoreFamily, seeds: list[int]) -> Members:
    """Networks made from the seeds, watched while they are made.

    Two are enough of large networks, and of ours that start as they declare.
    """
    built = [_build(family, seeds[0])]
    ours = isinstance(built[0][0], ScoreNetwork)
    built += [_build(family, seed, watched=not ours) for seed in seeds[1:TRIED]]
    networks = [network.eval().requires_grad_(False) for network, _ in built]
    first, known = built[0]
    if _declared(networks) is None:
        if ours:
            built = [_build(family, seed) for seed in seeds[:TRIED]]
        if Members(family, networks, known).small:
            built += [_build(family, seed) for seed in seeds[TRIED:]]
        networks = [network.eval().requires_grad_(False) for network, _ in built]
        known = agreed([record for _, record in built])
    random = {n: p for n, p in first.named_parameters() if bool((p != p.flatten()[0]).any())}
    if random and all(
        torch.equal(p, other.get_parameter(n)) for n, p in random.items() for other in networks[1:]
    ):
        raise NetworkError(
            f"the factory of {family.name} makes the same network every time: let it draw its "
            "parameters afresh (no fixed seed, no stored weights, no network made beforehand)"
        )
    return Members(family, networks, known)


def _depends(members: Members, x: Tensor, t: np.ndarray) -> bool:
    """Whether the output depends on the parameters: it differs between networks."""
    first, second = (_call(network, x, t) for network in members.networks[:2])
    return not torch.equal(first, second)


def _noise(family: ScoreFamily) -> Tensor:
    return torch.randn(1, *family.shape, generator=torch_stream(0, "an input that is not zero"))


def _check_elsewhere(members: Members, probe: Probe, t: np.ndarray) -> None:
    """A network that is silent at the probe alone needs another probe."""
    if _depends(members, _noise(members.family), t):
        raise NetworkError(
            f"{members.family.name} outputs the same for all parameters at the probe "
            f"{probe.describe()}, so its geometry there is zero: probe elsewhere, for example "
            "--probe gaussian:1"
        )


def _to_redraw(family: ScoreFamily, silence: Silence | None, zero_output: str) -> tuple[str, ...]:
    """The layers to redraw in a family none of whose weights reaches its output."""
    if silence is None:
        raise NetworkError(
            f"the output of {family.name} does not depend on its parameters, so it has no "
            "geometry: check what its forward returns"
        )
    if zero_output == "explain":
        raise NetworkError(_why_zero(family, silence))
    names = silence.zeros if zero_output == "all" else silence.layers
    if not names:
        raise NetworkError(
            f"several layers in a row zero the output of {family.name} "
            f"({_listed(silence.zeros)}): use --zero-output all"
        )
    return names


def _why_zero(family: ScoreFamily, silence: Silence) -> str:
    """Why there is no geometry, and what to do."""
    blamed = silence.layers or silence.zeros
    outputs = "outputs exactly zero, so its geometry is zero and has no directions"
    if silence.biased:
        outputs = "outputs only its biases, no weight reaches its output"
    return (
        f"{family.name} {outputs}: "
        f"{_listed(blamed)} {'is' if len(blamed) == 1 else 'are'} initialised to zero; redraw with "
        "--zero-output last (all for every zero layer), or initialise otherwise in the factory "
        "(zero_init=false for the networks of sads)"
    )


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:3])
    return shown + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _build(
    family: ScoreFamily, seed: int, *, watched: bool = True
) -> tuple[nn.Module, dict[str, Distribution | None]]:
    try:
        if watched:
            return seeded(lambda: recorded(family.build), seed, MEMBER)
        return family.member(seed), {}
    except SadsError:
        raise
    except Exception as error:
        raise NetworkError(f"the factory of {family.name} failed: {brief(error)}") from error


def _call(module: nn.Module, x: Tensor, t: np.ndarray, seed: int = 0) -> Any:
    """The output; what is random in the module depends on the seed."""
    try:
        with torch.inference_mode():
            inputs = x.clone(), torch.from_numpy(t)
            return seeded(lambda: module(*inputs), seed, "what is random inside a network")
    except Exception as error:
        name = type(getattr(module, "network", module)).__name__
        raise NetworkError(
            f"{name} cannot take an input of shape {tuple(x.shape[1:])} and a timestep: "
            f"{brief(error)}"
        ) from error


def check_output(output: object, family: ScoreFamily) -> None:
    """An output must be a tensor of the shape of the input, finite.

    Raises:
        NetworkError: if it is not.
    """
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
