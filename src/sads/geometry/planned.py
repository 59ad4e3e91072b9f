"""What an estimate will do, in plain values and in words; known before any network is counted."""

from dataclasses import asdict
from typing import Any

from ..devices import available_memory
from .plan import Plan


def provenance(plan: Plan) -> dict[str, Any]:
    """What a plan says of an estimate, for `--json`."""
    return {
        "network": plan.network,
        "assumptions": None if plan.assumptions is None else asdict(plan.assumptions),
        "shape": list(plan.shape),
        "probe": plan.probe,
        "of": plan.of,
        "estimator": plan.estimator,
        "weighting": plan.weighting,
        "timesteps": list(plan.timesteps),
        "seed": plan.seed,
        "structure": plan.readout.structure.kind,
        "readout": plan.readout.kind,
        "readout_note": plan.note,
        "zero_output": plan.zero_output,
        "redrawn": list(plan.redrawn),
        "precision": "float64" if plan.precision is None else plan.precision.features,
        "precision_check": None if plan.precision is None else plan.precision.difference,
        "symmetries": list(plan.symmetries),
        "versions": plan.versions,
    }


def planned_summary(plan: Plan) -> dict[str, Any]:
    """What `sads geometry --dry-run --json` prints."""
    return provenance(plan) | {
        "rows": plan.readout.structure.rows,
        "batch": plan.batch,
        "memory_bytes": _bytes(plan),
        "memory_available": available_memory(),
    }


def planned_sentences(plan: Plan) -> list[str]:
    """What `sads geometry --dry-run` prints."""
    shape, rows = "x".join(map(str, plan.shape)), plan.readout.structure.rows
    said = [*taken_as(plan), f"{plan.network} on {shape}, probe {plan.probe}.", *redrawn(plan)]
    if plan.estimator == "closed form":
        said.append("Its geometry is known by a closed form: no network will be drawn.")
    else:
        said += [_last_layer(plan), _precision(plan)]
    needed, there = (size / 2**30 for size in (_bytes(plan), available_memory()))
    said.append(
        f"The factor has {rows:,} x {rows:,} entries; at its peak the estimate needs about "
        f"{max(needed, 0.01):.2g} GiB of memory for it, {there:.3g} GiB are there."
    )
    return [*said, "Nothing was estimated: leave out --dry-run to do so."]


def _bytes(plan: Plan) -> int:
    return plan.readout.peak_memory(exact=plan.estimator == "closed form")


def _last_layer(plan: Plan) -> str:
    kind = {"convolution": "a convolution", "tokens": "linear on tokens", "dense": "dense"}
    if plan.readout.kind in kind:
        return f"Its last layer ({kind[plan.readout.kind]}) is integrated exactly."
    why = plan.note or f"the estimator is {plan.estimator}"
    return f"Its last layer is not integrated, {sampled_from(plan)} are sampled: {why}."


def _precision(plan: Plan) -> str:
    precision = plan.precision
    if precision is None or precision.difference is None:
        return "Features in float32, the only precision that it runs in."
    return (
        f"Features in {precision.features}: float32 and float64 differ by "
        f"{precision.difference:.1g} on {precision.networks} networks, {precision.allowed:.1g} is "
        "allowed."
    )


def taken_as(plan: Plan) -> list[str]:
    """The first line of every result: what the networks are taken for."""
    return [] if plan.assumptions is None else [plan.assumptions.sentence()]


def redrawn(plan: Plan) -> list[str]:
    """What was redrawn in networks that output zero."""
    if not plan.redrawn:
        return []
    shown = ", ".join(plan.redrawn[:3]) + (", ..." if len(plan.redrawn) > 3 else "")
    return [f"It outputs zero at initialisation; redrawn for this estimate: {shown}."]


def sampled_from(plan: Plan) -> str:
    """What is sampled where the last layer is not integrated exactly."""
    kinds = {"random": "random last layers", "tangent": "products of Jacobians"}
    return kinds.get(plan.readout.kind, "plain outputs")
