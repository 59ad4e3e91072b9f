"""Checks that a family can be studied: a few of its networks are tried before any long work."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..devices import require_memory
from ..errors import NetworkError, SadsError, brief, is_memory_error
from ..networks import ScoreFamily, ScoreNetwork
from ..networks.adapters import Assumptions, assumptions_of
from ..networks.adapters.explain import why_not_called
from ..networks.family import MEMBER, unseeded_member
from ..networks.initialisation import Distribution
from ..networks.isolation import seeded
from ..probes import Probe
from ..randomness import stream, torch_stream
from .initial_distributions import agreed, recorded
from .members import Members, follow
from .unusable_outputs import check_output, why_silent
from .zero_outputs import Silence, is_mute, redrawn, silence_of

TRIED = 2
BUILT = 8  # small networks that must agree on their initial distributions
SAMPLES = 16  # a lower bound on the memory of a check, in samples


@dataclass(frozen=True)
class Checked:
    """A family that has a geometry.

    Attributes:
        members: a few of its networks; their family is the one to study.
        declared: one of them, if it starts as its class declares.
        redrawn: layers that were redrawn because they zeroed the output.
        assumptions: what is assumed about the networks.
    """

    members: Members
    declared: ScoreNetwork | None
    redrawn: tuple[str, ...]
    assumptions: Assumptions


def check_family(
    family: ScoreFamily,
    probe: Probe,
    seed: int,
    zero_output: str = "explain",
    timesteps: tuple[int, int] | None = None,
    before_running: Callable[[nn.Module], None] = lambda network: None,
    *,
    silent: bool = False,
) -> Checked:
    """Run a few networks, and say whether they start as their class declares.

    A factory may change what it builds. Then the declared distributions, read-out and symmetries
    are not those of the family, and it is read like any foreign one.

    Args:
        family: the family.
        probe: the probe that draws its inputs.
        seed: the seed of the networks and inputs.
        zero_output: what to do about networks that output zero.
        timesteps: the first timestep and the one after the last; all by default.
        before_running: called with one network; it may refuse the network before any one runs.
        silent: whether networks that output zero are left as they are, unless they are redrawn.

    Raises:
        InputError: if a few samples do not fit in memory.
        NetworkError: if networks are not modules, fail, return another shape or NaN, give two
            outputs for the same input, or do not depend on their parameters.
    """
    sizes = "x".join(map(str, family.shape))
    require_memory(
        SAMPLES * 4 * family.size, f"{SAMPLES} samples of {sizes}", "choose a smaller shape"
    )
    rng = stream(seed, "checks of a family")
    t = rng.integers(*(timesteps or (0, family.schedule.steps)), size=TRIED)
    x = probe.draw(t, family.shape, family.schedule, rng)
    seeds = [int(rng.integers(2**62)) for _ in range(BUILT)]
    members = _members(family, seeds)
    first = members.networks[0]
    before_running(first)
    answers = [
        _checked_answer(family, member, x[i : i + 1], t[i : i + 1])
        for i, member in enumerate(members.networks[:TRIED])
    ]
    assumptions = assumptions_of(
        first, family.schedule, x[:1], torch.from_numpy(t[:1]), family.name
    )
    if silent and zero_output == "explain":
        return Checked(members, _declared(members.networks), (), assumptions)
    asleep, step = _to_wake(members, probe, x, t, zero_output, answers)
    if asleep:
        members = _woken(family, asleep, seeds, x[:1], step)
    return Checked(members, _declared(members.networks), asleep, assumptions)


def _checked_answer(family: ScoreFamily, member: nn.Module, x: Tensor, t: np.ndarray) -> Tensor:
    """A network's output, which must be usable and the same one whenever it is asked."""
    output = _call(member, x, t)
    check_output(output, family, member, x, t)
    output = output.clone()  # some modules write every answer into the same memory
    if not torch.equal(output, _call(member, x, t, seed=1)):
        raise NetworkError(
            f"{family.name} gives two different outputs for one input in eval mode: switch off "
            "its randomness (dropout, noise, sampling), or pass a deterministic factory"
        )
    return output


def _to_wake(
    members: Members,
    probe: Probe,
    x: Tensor,
    t: np.ndarray,
    zero_output: str,
    answers: list[Tensor],
) -> tuple[tuple[str, ...], np.ndarray]:
    """The layers to redraw in silent networks (none in others), and the timestep that shows it.

    Each network's answer to its own input is known already.
    """
    noise, step = _noise(members.family), t[:1]
    own = ({i: answer} for i, answer in enumerate(answers))
    silent = [
        i
        for i, known in enumerate(own)
        if not _differ(members.networks[:TRIED], x[i : i + 1], t[i : i + 1], known)
    ]
    if silent:
        step = t[silent[0] : silent[0] + 1]
        _check_elsewhere(members, probe, step)
    else:
        ours = _declared(members.networks) is not None
        if ours or silence_of(members.networks[0], noise, torch.from_numpy(step)) is None:
            return (), step
    return _to_redraw(members, noise, step, zero_output), step


def _woken(
    family: ScoreFamily, asleep: tuple[str, ...], seeds: list[int], x: Tensor, step: np.ndarray
) -> Members:
    """Networks with layers redrawn; raises unless their output then depends on parameters."""
    members = _members(redrawn(family, asleep), seeds)
    noise = _noise(family)
    still = not _depends(members, x, step) and not _depends(members, noise, step)
    if still or is_mute(members.networks[0], noise, torch.from_numpy(step)):
        raise NetworkError(
            f"{family.name} still outputs nothing of its own after redrawing "
            f"{_listed(asleep)}: try zero_output='all', which redraws every zero layer"
        )
    return members


def _declared(networks: list[nn.Module]) -> ScoreNetwork | None:
    """One of our networks, if they start as their class declares."""
    ours = [m for m in networks if isinstance(m, ScoreNetwork)]
    known = len(ours) == len(networks) and follow(ours, ours[0].distributions())
    return ours[0] if known else None


def _members(family: ScoreFamily, seeds: list[int]) -> Members:
    """Networks made from the seeds, watched while they are made.

    Two are enough if they are large, or if they are ours and start as they declare.
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
    """Whether the output depends on the parameters: it is finite and differs between networks."""
    return _differ(members.networks[:2], x, t)


def _differ(
    networks: Sequence[nn.Module],
    x: Tensor,
    t: np.ndarray,
    known: Mapping[int, Tensor] | None = None,
) -> bool:
    """Whether networks answer differently; some answers may be known, by their number."""
    known = known or {}
    outputs = torch.stack(
        [known[i] if i in known else _call(network, x, t) for i, network in enumerate(networks)]
    )
    return bool(torch.isfinite(outputs).all() and (outputs != outputs[0]).any())


def _noise(family: ScoreFamily) -> Tensor:
    return torch.randn(1, *family.shape, generator=torch_stream(0, "an input that is not zero"))


def _check_elsewhere(members: Members, probe: Probe, t: np.ndarray) -> None:
    """Refuse a probe at which the output is constant although it varies elsewhere."""
    if _depends(members, _noise(members.family), t):
        raise NetworkError(
            f"{members.family.name} outputs the same for all parameters at the probe "
            f"{probe.describe()}, so its geometry there is zero: choose another probe, for example "
            "gaussian:1"
        )


def _to_redraw(members: Members, x: Tensor, t: np.ndarray, zero_output: str) -> tuple[str, ...]:
    """The layers to redraw in a family in which no weight reaches the output."""
    family, network = members.family, members.networks[0]
    silence = silence_of(network, x, torch.from_numpy(t))
    blamed = () if silence is None else (silence.layers, silence.zeros)
    if silence is None or not any(_wakes(family, names, x, t) for names in blamed):
        raise NetworkError(
            why_silent(family, network, x, t, lambda step: _depends(members, x, step))
        )
    if zero_output == "explain":
        raise NetworkError(_why_zero(family, silence))
    names = silence.zeros if zero_output == "all" else silence.layers
    if not names:
        raise NetworkError(
            f"several layers in a row zero the output of {family.name} "
            f"({_listed(silence.zeros)}): redraw them all with zero_output='all'"
        )
    return names


def _wakes(family: ScoreFamily, names: tuple[str, ...], x: Tensor, t: np.ndarray) -> bool:
    """Whether the output depends on parameters once the named layers are redrawn."""
    if not names:
        return False
    woken = redrawn(family, names)
    networks = [_build(woken, seed, watched=False)[0].eval() for seed in range(TRIED)]
    return _differ(networks, x, t)


def _why_zero(family: ScoreFamily, silence: Silence) -> str:
    """Why there is no geometry, and what to do."""
    blamed = silence.layers or silence.zeros
    outputs = "outputs exactly zero, so its geometry is zero and has no directions"
    if silence.biased:
        outputs = "outputs only its biases, no weight reaches its output"
    return (
        f"{family.name} {outputs}: {_listed(blamed)} {'is' if len(blamed) == 1 else 'are'} "
        "initialised to zero; redraw with zero_output='last' ('all' for every zero layer), or "
        "initialise otherwise in the factory (zero_init=false for the networks of sads)"
    )


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:3])
    return shown + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _build(
    family: ScoreFamily, seed: int, *, watched: bool = True
) -> tuple[nn.Module, dict[str, Distribution | None]]:
    try:
        if watched:
            return seeded(lambda: recorded(lambda: unseeded_member(family)), seed, MEMBER)
        return family.member(seed), {}
    except SadsError:
        raise
    except Exception as error:
        if is_memory_error(error):
            raise
        raise NetworkError(f"the factory of {family.name} failed: {brief(error)}") from error


def _call(module: nn.Module, x: Tensor, t: np.ndarray, seed: int = 0) -> Any:
    """The output of a module, whose random draws depend on the seed."""
    try:
        with torch.inference_mode():
            inputs = x.clone(), torch.from_numpy(t)
            return seeded(lambda: module(*inputs), seed, "what is random inside a network")
    except Exception as error:
        if is_memory_error(error):
            raise
        raise NetworkError(why_not_called(module, x, error)) from error
