"""What networks are taken for, in words: the first line of every result."""

from collections.abc import Sequence

from ..networks.adapters import Assumptions

PREDICTED = {
    "eps": "noise prediction (eps)",
    "v": "velocity of diffusion (v = sqrt(abar) eps - sqrt(1 - abar) x_0)",
    "x0": "prediction of the clean sample (x0)",
    "flow": "velocity of a flow (eps - x_0)",
    "score": "prediction of the score (-eps / b)",
}
PATHS = {
    "flow": "rectified flow x_t = (1 - t) x_0 + t eps",
    "ve": "variance-exploding path x_0 + sigma eps",
    "edm": "EDM's path x_0 + sigma eps",
}
TIMES = {
    "index": "whole numbers",
    "unit": "between 0 and 1",
    "thousand": "between 0 and 1000",
    "sigma": "noise levels",
    "log-sigma": "log(sigma) / 4",
}


def sentence(taken: Assumptions) -> str:
    """All that is assumed about one network, in one line."""
    times = f"{taken.time_from:.4g}..{taken.time_to:.4g}"
    whole = "whole numbers" if taken.time_dtype == "int64" else "noise levels"
    kind = TIMES.get(taken.time_kind or "", whole)
    turned = ", from noise to data" if taken.reverse else ""
    place = "" if taken.passed_by == "keyword" else f", by {taken.passed_by}"
    text = (
        f"Taken as: {_predicted(taken)}, {_path(taken)}, time passed as `{taken.time}` = {times} "
        f"({kind}{turned}{place})"
    )
    if taken.process == "variance-exploding" and taken.schedule not in PATHS:
        text += f", {taken.process} input x_t / sqrt(abar)"
    if taken.inputs:
        given = ", ".join(f"{name} = {value}" for name, value in taken.inputs.items())
        text += f"; also passed: {given}"
    if taken.output != "tensor":
        text += f"; output read from {taken.output}"
    return text + "".join(f". Caution: {hint}" for hint in taken.hints) + "."


def _predicted(taken: Assumptions) -> str:
    if taken.prediction == "flow" and taken.reverse:
        return "velocity of a flow from noise to data (x_0 - eps)"
    if taken.prediction == "v" and taken.schedule in PATHS:
        return "velocity of diffusion (v = a eps - b x_0)"
    return PREDICTED[taken.prediction]


def _path(taken: Assumptions) -> str:
    if taken.schedule not in PATHS:
        return f"{taken.schedule} schedule with {taken.steps} steps"
    more = "".join(f", {name} {value:g}" for name, value in taken.parameters.items())
    return f"{PATHS[taken.schedule]} with {taken.steps} levels{more}"


def sentences(networks: Sequence[tuple[str, Assumptions | None]]) -> list[str]:
    """What several networks are taken for, by name; one line if it is the same for all."""
    known = [(name, sentence(taken)) for name, taken in networks if taken is not None]
    if len({text for _, text in known}) <= 1:
        return [text for _, text in known[:1]]
    return [f"{name} is t{text[1:]}" for name, text in known]
