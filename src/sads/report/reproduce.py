"""The command that makes a geometry again, from what the geometry says of itself."""

import shlex
from pathlib import Path

from ..geometry import Geometry


def geometry_command(geometry: Geometry, out: str | Path) -> str:
    """`sads geometry ...`, for the same networks, seed and probe.

    A probe at points or data is known by the content of its file only; a placeholder stands for it.
    """
    plan = geometry.plan
    words = ["sads", "geometry", plan.network, "--shape", "x".join(map(str, plan.shape))]
    kind, _, detail = plan.probe.partition(":")
    if kind in ("point", "forward"):
        words += ["--probe", f"{kind}:{'FILE.npy' if kind == 'point' else 'DATA'}"]
    elif plan.probe != "zero":
        words += ["--probe", plan.probe]
    if not geometry.exact:
        words += ["--networks", str(geometry.networks), "--seed", str(plan.seed)]
    if plan.estimator == "naive":
        words += ["--estimator", "naive"]
    if plan.of != "outputs":
        words += ["--of", plan.of]
    if plan.weighting != "score":
        words += ["--weighting", plan.weighting]
    if plan.timesteps != (0, plan.steps):
        words += ["--timesteps", f"{plan.timesteps[0]}:{plan.timesteps[1]}"]
    if plan.zero_output != "explain":
        words += ["--zero-output", plan.zero_output]
    note = f"  # {kind} {detail} is the content's digest" if kind in ("point", "forward") else ""
    return shlex.join([*words, "--out", str(out)]) + note


def report_command(arguments: list[str]) -> str:
    """`sads report ...` with its arguments, quoted for a shell."""
    return shlex.join(["sads", "report", *arguments])
