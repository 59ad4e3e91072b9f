"""The commands that make a geometry and a report again."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from ..geometry import Geometry
from ..inspection.subspace_readout import Compressed
from ..inspection.subspaces import Adaptive, AnySubspace
from ..presentation.numbers import sizes
from ..specs import ProbeSpec


def geometry_command(geometry: Geometry, out: str | Path) -> str:
    """`sads geometry ...`, for the same networks, seed and probe.

    Of a probe at a point or at data only the digest of its file is known, so a placeholder stands
    for the file.
    """
    plan = geometry.plan
    words = ["sads", "geometry", plan.network, "--shape", sizes(plan.shape)]
    probe = ProbeSpec.parse(plan.probe)
    if probe.placeholder:
        words += ["--probe", probe.placeholder]
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
    readout = plan.readout
    if isinstance(readout, Compressed):
        words += ["--subspace", _spelled(readout.subspace)]
    note = f"  # {probe.kind} {probe.where} is the content's digest" if probe.placeholder else ""
    return shlex.join([*words, "--out", str(out)]) + note


def _spelled(subspace: AnySubspace) -> str:
    """The subspace in the grammar; of one found by another geometry only the digest is known."""
    borrowed = isinstance(subspace, Adaptive) and subspace.borrowed
    return "geometry=DIR" if borrowed else subspace.spelled


def report_command(
    directories: Sequence[str | Path],
    data: str | None,
    sweep: str | Path | None,
    trainings: Sequence[str | Path],
    forecasts: Sequence[str | Path] = (),
    monitors: Sequence[str | Path] = (),
    *,
    doctor: bool,
) -> str:
    """`sads report ...`, for the same arguments."""
    words = ["sads", "report", *map(str, directories)]
    words += ["--data", data] if data else []
    words += ["--sweep", str(sweep)] if sweep else []
    for training in trainings:
        words += ["--training", str(training)]
    for forecast in forecasts:
        words += ["--forecast", str(forecast)]
    for monitor in monitors:
        words += ["--monitor", str(monitor)]
    words += ["--doctor"] if doctor else []
    return shlex.join([*words, "--out", "report.html"])
