"""The risk of a trained network in plain values and in words."""

from typing import Any

import numpy as np

from ..learning import Risk


def risk_summary(risk: Risk) -> dict[str, Any]:
    """What `sads risk --json` prints."""
    ends = np.maximum(risk.edges[1:], risk.edges[:-1] + 1)
    directions = zip(
        risk.labels, risk.widths, risk.by_direction, risk.by_direction_error, strict=True
    )
    timesteps = zip(risk.edges[:-1], ends, risk.by_timestep, risk.by_timestep_error, strict=True)
    return {
        "exact": risk.exact,
        "paired": risk.paired,
        "of": risk.of,
        "sigmas": None if risk.sigmas is None else list(risk.sigmas),
        "total": risk.total,
        "total_error": risk.total_error,
        "along": risk.along,
        "along_error": risk.along_error,
        "off": risk.off,
        "off_error": risk.off_error,
        "nats": risk.nats,
        "nats_error": risk.nats_error,
        "evaluations": risk.evaluations,
        "by_direction": [
            {"direction": label, "width": int(width), "risk": float(value), "error": float(error)}
            for label, width, value, error in directions
        ],
        "by_timestep": [
            {"first": int(first), "last": int(end) - 1, "risk": float(value), "error": float(error)}
            for first, end, value, error in timesteps
        ],
        "table": risk.table.tolist(),
        "table_error": risk.table_error.tolist(),
    }


def quantity(risk: Risk) -> str:
    """The name of the quantity: an excess risk or a loss, of one network or a difference of two."""
    what = "Excess risk over the optimum" if risk.exact else "Held-out loss"
    if risk.paired:
        what = f"{what}, second minus first"
    return what if risk.of == "noise" else f"{what} of the denoised image"


def risk_sentences(risk: Risk) -> list[str]:
    """What a reader wants to know first."""
    over = "the timesteps"
    if risk.sigmas is not None:
        over = f"sigma = {', '.join(f'{sigma:g}' for sigma in risk.sigmas)}"
    said = f"{quantity(risk)}: {_number(risk.total, risk.total_error)} a sample, mean over {over}"
    if risk.nats is not None:
        said += f"; {_number(risk.nats, risk.nats_error)} nats of the variational bound"
    lines = [f"{said}."]
    if risk.along is not None and risk.off is not None:
        lines.append(
            f"Along the data's subspace {_number(risk.along, risk.along_error)}, off it "
            f"{_number(risk.off, risk.off_error)}."
        )
    lines += [_largest_directions(risk), _largest_level(risk)]
    if not risk.exact and not risk.paired:
        lines.append(
            "The optimum of these data is not known: the loss contains a part that no network can "
            "avoid. Give a second training to see the difference, in which it cancels."
        )
    return lines


def _largest_directions(risk: Risk) -> str:
    each, errors = risk.by_direction / risk.widths, risk.by_direction_error / risk.widths
    order = np.argsort(-np.abs(each) if risk.paired else -each)
    largest = ", ".join(
        f"{risk.labels[i]} ({_number(float(each[i]), float(errors[i]))})" for i in order[:3]
    )
    return f"Largest per direction: {largest}."


def _largest_level(risk: Risk) -> str:
    level = int(np.argmax(np.abs(risk.by_timestep)))
    first, last = risk.edges[level], max(risk.edges[level + 1] - 1, risk.edges[level])
    number = _number(float(risk.by_timestep[level]), float(risk.by_timestep_error[level]))
    return f"By noise level it is largest at timesteps {first} to {last}: {number}."


def _number(value: float, error: float | None) -> str:
    return f"{value:.4g} ± {error or 0.0:.1g}"
