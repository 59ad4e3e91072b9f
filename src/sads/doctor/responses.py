"""Findings from how single networks respond to their inputs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ..randomness import torch_stream
from . import advice
from .advice import listed
from .finding import Finding
from .patient import FEW, MOVED, Patient, relative
from .saturation import most_saturated

WEAK = 0.01  # a response of this part of an ordinary one counts as none
SATURATED = 0.5  # share of a nonlinearity's values in its flat part
FAINT = 1e-3  # a variation over the timesteps that no geometry shows


def untrainable(patient: Patient) -> Iterator[Finding]:
    """The loss has no gradient."""
    if patient.steps.failure and patient.silence is None:
        yield Finding(
            "untrainable",
            "error",
            f"a step of Adam cannot be taken: {patient.steps.failure}",
            "training cannot change what the network does",
            "check for no_grad, detach, frozen parameters and in-place changes in forward",
        )


def zero_output(patient: Patient) -> Iterator[Finding]:
    """The output starts at zero, whatever the parameters."""
    if patient.silence is None:
        return
    blamed = patient.silence.layers or patient.silence.zeros
    what = "the output does not depend on the parameters"
    geometry = "G is zero and has no directions"
    if patient.silence.biased:
        what = "only biases reach the output, no weight does"
        geometry = "G is that of the biases and says nothing about the network"
    evidence = f"{what}; zero at the start: {listed(blamed)}; "
    if patient.steps.failure:
        yield Finding(
            "zero-output",
            "error",
            evidence + f"a step of Adam changes nothing: {patient.steps.failure}",
            "the network outputs nothing now and will after any training",
            advice.on_zeros_in_a_row(patient.stuck or blamed),
        )
        return
    yield Finding(
        "zero-output",
        "note",
        evidence + f"{patient.steps.taken} steps of Adam wake it",
        f"usual, and harmless to training. But {geometry}. What follows is about the network with "
        "these redrawn: the limit that its first training steps approach.",
        advice.on_zero_output(patient.module),
    )


def input_blind(patient: Patient) -> Iterator[Finding]:
    """The output does not depend on the input, wherever training takes the parameters."""
    a, b = (patient.run(patient.moved, x, patient.middle) for x in (patient.x, -patient.x))
    change = relative(a - b, a)
    if change < patient.rounding:
        yield Finding(
            "input-blind",
            "error",
            f"the output changes by {change:.1g} of itself when the input is negated, {MOVED}",
            "the network cannot tell its inputs apart and will learn one output for all",
            advice.on_zeros_in_a_row(patient.stuck)
            if patient.stuck
            else "check that forward uses x, and that no normalisation over a single entry "
            "removes it",
        )


def time_blind(patient: Patient) -> Iterator[Finding]:
    """The output does not depend on the timestep: wherever training takes it, or at the start."""
    always, start = (_time_variation(patient, n) for n in (patient.moved, patient.start))
    if always < patient.rounding:
        yield Finding(
            "time-blind",
            "warning",
            f"the output varies by {always:.1g} of itself over the timesteps, {MOVED}",
            "the network cannot learn to depend on the noise level, however long it is trained",
            advice.on_time(patient.module, patient.stuck),
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


def constant_blind(patient: Patient) -> Iterator[Finding]:
    """A normalisation removes the image's mean or its amplitude, wherever training takes it."""
    x, t = patient.x, patient.middle
    base = patient.run(patient.moved, x, t)
    generator = torch_stream(0, "a usual change of the input")
    noise = torch.randn(x.shape, generator=generator).to(x)

    def response(step: Tensor) -> float:
        half = 0.5 * step / step.norm() * x.norm()
        return relative(patient.run(patient.moved, x + half, t) - base, base)

    usual = response(noise)
    if usual < patient.rounding:
        return  # blind to all of the input, which is said already
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


def padding_only(patient: Patient) -> Iterator[Finding]:
    """At x = 0 the output varies over the image because of padding alone."""
    padded = [m for m in patient.start.modules() if _pads_with_zeros(m)]
    if len(patient.family.shape) < 2 or not padded:
        return
    x = torch.zeros_like(patient.x[:1])
    plain = patient.run(patient.start, x, patient.middle)
    with _without_borders(patient.start, padded):
        wrapped = patient.run(patient.start, x, patient.middle)
    if _unevenness(plain) > 1e-6 and _unevenness(wrapped) < patient.rounding:
        yield Finding(
            "padding-only",
            "note",
            f"at x = 0 the output varies over the image by {_unevenness(plain):.2g} of itself, and "
            f"by {_unevenness(wrapped):.1g} if its {len(padded)} convolutions wrap around",
            "the directions of the geometry at x = 0 come from zero padding at the borders, not "
            "from the architecture's filters",
            advice.on_padding(patient.module),
        )


def _pads_with_zeros(module: nn.Module) -> bool:
    return (
        isinstance(module, (nn.Conv1d, nn.Conv2d))
        and module.padding_mode == "zeros"
        and not isinstance(module.padding, str)
        and any(module.padding)
    )


@contextmanager
def _without_borders(network: nn.Module, convolutions: list[Any]) -> Iterator[None]:
    """Convolutions wrap around, and norms do not multiply rounding, while the block lasts."""
    norms = [m for m in network.modules() if isinstance(getattr(m, "eps", None), float)]
    kept = [norm.eps for norm in norms]
    try:
        for convolution in convolutions:
            convolution.padding_mode = "circular"
        for norm in norms:
            norm.eps = 1.0  # pyright: ignore[reportArgumentType]
        yield
    finally:
        for convolution in convolutions:
            convolution.padding_mode = "zeros"
        for norm, eps in zip(norms, kept, strict=True):
            norm.eps = eps


def _unevenness(output: Tensor) -> float:
    """How much an output (N, C, *S) varies over its positions, relative to itself."""
    flat = output.flatten(2)
    return relative(flat - flat.mean(dim=2, keepdim=True), flat)


def saturated(patient: Patient) -> Iterator[Finding]:
    """A bounded nonlinearity is in its flat part for most values."""
    with torch.inference_mode():
        worst = most_saturated(lambda: patient.run(patient.start, patient.x, patient.middle))
    if worst is not None and worst.share > SATURATED:
        yield Finding(
            "saturated",
            "warning",
            f"{worst.share:.0%} of the values of {worst.name} (call {worst.call} of the forward "
            "pass) are in its flat part at a Gaussian input",
            "little gradient passes through it, and the directions behind it hardly vary",
            "scale its input down, or normalise before it; for attention divide the scores by the "
            "root of the head's width",
        )


RESPONSES = (
    untrainable,
    zero_output,
    input_blind,
    time_blind,
    constant_blind,
    padding_only,
    saturated,
)
