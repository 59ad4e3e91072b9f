"""Networks that do not see their input, its mean or amplitude, or the time."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from ...randomness import torch_stream
from ..finding import Finding
from ..patient import FEW, MOVED, Patient, relative
from .advice import fields_of, on_zeros_in_a_row

WEAK = 0.01  # a response below this part of an ordinary one counts as none
FAINT = 1e-3  # a variation over the timesteps that is too small to show in a geometry


def input_blind(patient: Patient) -> Iterator[Finding]:
    """The output does not depend on the input, wherever training takes the parameters."""
    negated = patient.run(patient.moved, -patient.x, patient.middle)
    change = relative(patient.usual - negated, patient.usual)
    if change < patient.rounding:
        yield Finding(
            "input-blind",
            "error",
            f"the output changes by {change:.1g} of itself when the input is negated, {MOVED}",
            "the network cannot tell its inputs apart and will learn one output for all",
            on_zeros_in_a_row(patient.stuck)
            if patient.stuck
            else "check that forward uses x, and that no normalisation over a single entry "
            "removes it",
        )


def time_blind(patient: Patient) -> Iterator[Finding]:
    """The output does not depend on the timestep, either wherever training goes or at the start."""
    always, start = (_time_variation(patient, n) for n in (patient.moved, patient.start))
    if always < patient.rounding:
        yield Finding(
            "time-blind",
            "warning",
            f"the output varies by {always:.1g} of itself over the timesteps, {MOVED}",
            "the network cannot learn to depend on the noise level, however long it is trained",
            on_time(patient.module, patient.stuck),
        )
    elif start < FAINT:
        yield Finding(
            "time-blind-at-init",
            "note",
            f"at the start the output varies by {start:.1g} of itself over the timesteps, and by "
            f"{always:.1g} {MOVED}",
            "the geometry is the same at all noise levels; training can change that",
            "nothing to mend; conditioning or branches that start at zero are the usual cause",
        )


def _time_variation(patient: Patient, network: nn.Module) -> float:
    steps = patient.family.schedule.steps
    times, x = (0, steps // 3, steps // 2, steps - 1), patient.x[:FEW]
    outputs = [patient.run(network, x, t) for t in times]
    return max(relative(other - outputs[0], outputs[0]) for other in outputs[1:])


def on_time(module: nn.Module, stuck: tuple[str, ...]) -> str:
    """What to change so that the network sees the time, by the names of its layers."""
    for name, norm in module.named_modules():
        if isinstance(norm, nn.GroupNorm) and 1 < norm.num_groups == norm.num_channels:
            groups = _groups_of_four(norm.num_channels)
            fewer = f"groups={groups}" if "groups" in fields_of(module) else f"{groups} groups"
            return (
                f"{name} has {norm.num_groups} groups for {norm.num_channels} channels, so it "
                f"removes what is added to a channel: use {fewer}, more channels, or let the time "
                "scale and shift after the norm"
            )
    if stuck:
        return on_zeros_in_a_row(stuck)
    return "check that forward uses t, and that no norm removes what the time embedding adds"


def _groups_of_four(channels: int) -> int:
    """The largest number of equal groups of at least four channels, or one group."""
    return next((n for n in range(channels // 4, 1, -1) if channels % n == 0), 1)


def constant_blind(patient: Patient) -> Iterator[Finding]:
    """A normalisation removes the image's mean or its amplitude, wherever training takes it."""
    x, t, base = patient.x, patient.middle, patient.usual
    generator = torch_stream(0, "a usual change of the input")
    noise = torch.randn(x.shape, generator=generator).to(x)

    def response(step: Tensor) -> float:
        half = 0.5 * step / step.norm() * x.norm()
        return relative(patient.run(patient.moved, x + half, t) - base, base)

    usual = response(noise)
    if usual < patient.rounding:
        return  # blind to the whole input, which `input_blind` reports
    for what, step in (("mean", torch.ones_like(x)), ("amplitude", x)):
        ratio = response(step) / usual
        if ratio < WEAK:
            yield Finding(
                "constant-blind",
                "warning",
                f"changing the {what} of the input moves the output {ratio:.1g} times as much as "
                f"noise of that size does, {MOVED}",
                f"the network cannot tell images apart that differ in their {what}, so it cannot "
                "learn the score along it",
                "do not normalise the input itself: put a convolution with more channels than "
                "groups before the first norm, or pass the input around it",
            )


RESPONSES = (input_blind, time_blind, constant_blind)
