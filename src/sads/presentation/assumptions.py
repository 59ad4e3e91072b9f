"""What networks are taken for, in words: the first line of every result."""

from collections.abc import Sequence

from ..networks.adapters import Assumptions

PREDICTED = {
    "eps": "noise prediction (eps)",
    "v": "velocity of diffusion (v = sqrt(abar) eps - sqrt(1 - abar) x_0)",
    "x0": "prediction of the clean sample (x0)",
}


def sentence(taken: Assumptions) -> str:
    """All that is assumed about one network, in one line."""
    times = f"{taken.time_from:.4g}..{taken.time_to:.4g}"
    kind = "whole numbers" if taken.time_dtype == "int64" else "noise levels"
    place = "" if taken.passed_by == "keyword" else f", by {taken.passed_by}"
    text = (
        f"Taken as: {PREDICTED[taken.prediction]}, {taken.schedule} schedule with "
        f"{taken.steps} steps, time passed as `{taken.time}` = {times} ({kind}{place})"
    )
    if taken.process != "variance-preserving":
        text += f", {taken.process} input x_t / sqrt(abar)"
    if taken.inputs:
        given = ", ".join(f"{name} = {value}" for name, value in taken.inputs.items())
        text += f"; also passed: {given}"
    if taken.output != "tensor":
        text += f"; output read from {taken.output}"
    return text + "".join(f". Caution: {hint}" for hint in taken.hints) + "."


def sentences(networks: Sequence[tuple[str, Assumptions | None]]) -> list[str]:
    """What several networks are taken for, by name: one line where it is the same for all."""
    known = [(name, sentence(taken)) for name, taken in networks if taken is not None]
    if len({text for _, text in known}) <= 1:
        return [text for _, text in known[:1]]
    return [f"{name} is t{text[1:]}" for name, text in known]
