"""What an estimate estimates: everything that decides its value, and so its identity."""

from importlib.metadata import version

import numpy as np
from jaxtyping import Float
from pydantic import BaseModel

from ..errors import InputError
from ..inspection.readout import ReadOut
from ..inspection.zero_outputs import is_named
from ..networks import ScoreFamily
from ..networks.adapters import Assumptions
from ..path import Schedule
from .precision import Precision

ESTIMATORS = ("integrated", "naive")


class Plan(BaseModel, frozen=True, extra="forbid", arbitrary_types_allowed=True):
    """Provenance of a geometry; two runs with equal identities may be continued by each other.

    Attributes:
        network: name of the family.
        fingerprint: of the family (`ScoreFamily.fingerprint`), with its zero layers redrawn if
            there are any.
        shape: shape of one sample.
        schedule: kind of the noise schedule.
        steps: noise levels of the schedule.
        probe: where the networks are looked at.
        estimator: `integrated`, `naive` or `closed form`.
        weighting: `score` or `noise`.
        timesteps: first timestep and the one after the last.
        seed: of all random draws.
        batch: networks evaluated at once.
        readout: what is accumulated.
        scale: constant factor of the geometry.
        precision: in which precision, and why; None for a closed form.
        symmetries: declared by the architecture and kept by the probe.
        versions: of the software that made the estimate.
        zero_output: what was done about a zero output: `explain` for nothing, `last` or `all`.
        redrawn: layers and gains that were redrawn for it.
        drawn: whether parameters are drawn in stacks; otherwise the factory makes each network.
        note: why the last layer is not integrated exactly; empty where it is.
        draws: version of the random draws; those that do not say it are of the first.
        assumptions: what the networks are taken for; None in files that do not say it yet.
    """

    network: str
    fingerprint: str
    shape: tuple[int, ...]
    schedule: str
    steps: int
    probe: str
    estimator: str
    weighting: str
    timesteps: tuple[int, int]
    seed: int
    batch: int
    readout: ReadOut
    scale: float
    precision: Precision | None
    symmetries: tuple[str, ...]
    versions: dict[str, str]
    zero_output: str = "explain"
    redrawn: tuple[str, ...] = ()
    drawn: bool = True
    note: str = ""
    draws: int = 1
    assumptions: Assumptions | None = None

    def is_of(self, family: ScoreFamily) -> bool:
        """Whether this is about the networks of a family, their zero layers redrawn if need be."""
        return is_named(family, self.fingerprint, self.redrawn)

    def differences(self, other: "Plan") -> list[str]:
        """What keeps this plan from continuing another one, as `name: theirs, ours`."""
        own, theirs = self.model_dump(), other.model_dump()
        # Taken from the plan that is continued; `estimate` refuses to mix versions of the draws.
        same = {"batch", "precision", "versions", "draws", "assumptions"}
        return [
            f"{name} was {theirs[name]!r}, now {own[name]!r}"
            for name in own
            if name not in same and own[name] != theirs[name]
        ]


def timestep_range(timesteps: tuple[int, int] | None, schedule: Schedule) -> tuple[int, int]:
    """The range of timesteps, checked; all of them by default."""
    first, end = timesteps or (0, schedule.steps)
    if not 0 <= first < end <= schedule.steps:
        raise InputError(
            f"timesteps are a range A:B with 0 <= A < B <= {schedule.steps}, got {first}:{end}"
        )
    return first, end


def timestep_distribution(
    schedule: Schedule, timesteps: tuple[int, int], weighting: str
) -> tuple[Float[np.ndarray, " T"], Float[np.ndarray, " T"]]:
    """Probability (uniform on the range) and weight of each timestep in definition 2."""
    first, end = timesteps
    probabilities = np.zeros(schedule.steps)
    probabilities[first:end] = 1 / (end - first)
    return probabilities, schedule.weights(weighting)


def software_versions() -> dict[str, str]:
    """Versions that can change the numbers."""
    return {name: version(name) for name in ("sads", "torch", "numpy", "scipy")}
