"""Networks that training cannot change, or that start without an output."""

from collections.abc import Iterator

from torch import nn

from ..finding import Finding
from ..patient import Patient
from .advice import fields_of, listed, on_zeros_in_a_row


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
        what = "only biases reach the output, weights do not"
        geometry = "G is that of the biases and says nothing about the network"
    evidence = f"{what}; zero at the start: {listed(blamed)}; "
    if patient.steps.failure:
        yield Finding(
            "zero-output",
            "error",
            evidence + f"a step of Adam changes nothing: {patient.steps.failure}",
            "the network outputs nothing now, and no training will change that",
            on_zeros_in_a_row(patient.stuck or blamed),
        )
        return
    yield Finding(
        "zero-output",
        "note",
        evidence + f"{patient.steps.taken} steps of Adam wake it",
        f"usual, and harmless to training. But {geometry}. The other findings are about the "
        "network with these redrawn, which is what its first training steps lead to.",
        on_zero_output(patient.module),
    )


def on_zero_output(module: nn.Module) -> str:
    """What to do about an output that starts at zero."""
    otherwise = "zero_init=false" if "zero_init" in fields_of(module) else "another initialisation"
    return (
        "nothing to mend for training; a geometry needs its zero layer redrawn "
        f"(zero_output='last'), or {otherwise}"
    )


RESPONSES = (untrainable, zero_output)
