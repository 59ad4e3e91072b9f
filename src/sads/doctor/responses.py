"""Findings from how single networks respond to their inputs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ..randomness import torch_stream
from .finding import Finding
from .patient import Patient, relative
from .saturation import most_saturated

WEAK = 0.01  # a response of this part of an ordinary one counts as none
SATURATED = 0.5  # share of a nonlinearity's values in its flat part


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
    yield Finding(
        "zero-output",
        "error",
        f"{what}; zero at the start: {_some(blamed)}",
        f"{geometry}. What follows is about the network with these redrawn: the limit that its "
        "first training steps approach.",
        "sads geometry --zero-output last, or initialise these layers otherwise",
    )


def input_blind(patient: Patient) -> Iterator[Finding]:
    """The output does not depend on the input, for all parameters."""
    a, b = (patient.run(patient.moved, x, patient.middle) for x in (patient.x, -patient.x))
    if relative(a - b, a) < patient.rounding:
        yield Finding(
            "input-blind",
            "error",
            f"the output changes by {relative(a - b, a):.1g} of itself when the input is negated, "
            "with all parameters moved",
            "the network cannot tell its inputs apart and will learn one output for all",
            "check that forward uses x, and that no normalisation over a single entry removes it",
        )


def time_blind(patient: Patient) -> Iterator[Finding]:
    """The output does not depend on the timestep: for all parameters, or at the start."""
    always, start = (_time_variation(patient, n) for n in (patient.moved, patient.start))
    if always < patient.rounding:
        yield Finding(
            "time-blind",
            "warning",
            f"with all parameters moved the output varies by {always:.1g} of itself over the "
            "timesteps",
            "the network cannot learn to depend on the noise level, however long it is trained",
            _time_remedy(patient.module),
        )
    elif start < patient.rounding:
        yield Finding(
            "time-blind-at-init",
            "note",
            f"at the start the output varies by {start:.1g} of itself over the timesteps, with all "
            f"parameters moved by {always:.1g}",
            "the geometry is the same at all noise levels; training can change that",
            "nothing to mend; zero-initialised conditioning (adaLN-zero) is the usual cause",
        )


def _time_variation(patient: Patient, network: nn.Module) -> float:
    steps = patient.family.schedule.steps
    outputs = [patient.run(network, patient.x, t) for t in (0, steps // 3, steps // 2, steps - 1)]
    return max(relative(other - outputs[0], outputs[0]) for other in outputs[1:])


def _time_remedy(module: nn.Module) -> str:
    """What makes the network see the time, from its own layers."""
    for name, norm in module.named_modules():
        if isinstance(norm, nn.GroupNorm) and norm.num_groups == norm.num_channels:
            groups = max(1, norm.num_channels // 4)
            return (
                f"{name} has {norm.num_groups} groups for {norm.num_channels} channels, so it "
                f"removes what is added to a channel: use {groups} groups, more channels, or let "
                "the time scale and shift after the norm"
            )
    return "check that forward uses t, and that no norm removes what the time embedding adds"


def constant_blind(patient: Patient) -> Iterator[Finding]:
    """A normalisation removes the image's mean or its amplitude, for all parameters."""
    x, t = patient.x, patient.middle
    base = patient.run(patient.moved, x, t)
    generator = torch_stream(0, "a usual change of the input")
    noise = torch.randn(x.shape, generator=generator).to(x)
    ones = torch.ones_like(x)
    for what, step in (("mean", ones), ("amplitude", x)):
        step = 0.5 * step / step.norm() * x.norm()
        other = 0.5 * noise / noise.norm() * x.norm()
        answer = (patient.run(patient.moved, x + step, t) - base).norm()
        usual = (patient.run(patient.moved, x + other, t) - base).norm()
        ratio = float(answer / usual) if float(usual) else 1.0
        if ratio < WEAK:
            yield Finding(
                "constant-blind",
                "warning",
                f"changing the {what} of the input moves the output {ratio:.1g} times as much as "
                "noise of that size does",
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
            "compare with --probe gaussian:1 or --probe forward:DATA before trusting fine "
            "differences; padding_mode='circular' or 'reflect' changes these directions",
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


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:3])
    return shown + (f" and {len(names) - 3} more" if len(names) > 3 else "")


RESPONSES = (
    zero_output,
    input_blind,
    time_blind,
    constant_blind,
    padding_only,
    saturated,
)
