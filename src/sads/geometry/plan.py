"""What is estimated: everything that decides the value of an estimate, and so its identity."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from jaxtyping import Float
from pydantic import BaseModel, Field, model_serializer

from ..errors import InputError
from ..inspection.subspace_readout import AnyReadOut, Compressed
from ..inspection.zero_outputs import is_named
from ..networks import ScoreFamily
from ..networks.adapters import Assumptions
from ..path import DiffusionPath, path_of
from .precision import Precision

OUTPUTS = "outputs"  # the quantity of a plan that does not name one
CLOSED_FORM = "closed form"  # the estimator that needs no networks


class Plan(BaseModel, frozen=True, extra="forbid", arbitrary_types_allowed=True):
    """Provenance of a geometry; two runs with equal identities may be continued by each other.

    Attributes:
        network: name of the family.
        fingerprint: the fingerprint of the family (`ScoreFamily.fingerprint`), with its zero
            layers redrawn if there are any.
        shape: shape of one sample.
        schedule: kind of the path from data to noise.
        steps: its noise levels.
        probe: where the networks are looked at.
        estimator: `integrated`, `naive` or `closed form`.
        weighting: `score` or `noise`.
        timesteps: first timestep and the one after the last.
        seed: the seed of all random draws.
        batch: networks evaluated at once.
        readout: what is accumulated over the networks.
        scale: constant factor of the geometry.
        precision: the precision of the features, and why; None for a closed form.
        symmetries: declared by the architecture and kept by the probe.
        versions: the versions of the software that made the estimate.
        zero_output: what was done about a zero output: `explain` for nothing, `last` or `all`.
        redrawn: layers and gains that were redrawn for it.
        drawn: whether parameters are drawn in stacks; otherwise the factory makes each network.
        note: why the last layer is not integrated exactly; empty where it is.
        draws: version of the random draws; plans that do not name one are of the first.
        assumptions: what the networks are taken for; None in older files.
        of: whether it is the second moment of the `outputs` or of their `tangent`.
        parameters: the parameters of the path, where they are not at their defaults.
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
    readout: AnyReadOut = Field(discriminator="kind")
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
    of: str = OUTPUTS
    parameters: dict[str, float] = Field(default_factory=dict)

    @model_serializer(mode="wrap")
    def _stored(self, serialise: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        """Leave out fields of other quantities and paths at their defaults, as in older files."""
        later = {"of": OUTPUTS, "parameters": {}}
        return {k: v for k, v in serialise(self).items() if k not in later or v != later[k]}

    @property
    def path(self) -> DiffusionPath:
        """The path from data to noise."""
        return path_of(self.schedule, self.steps, self.parameters)

    @property
    def subspace(self) -> str | None:
        """The subspace it is estimated in, as the grammar spells it; None for the whole."""
        return self.readout.subspace.spelled if isinstance(self.readout, Compressed) else None

    @property
    def whole_memory(self) -> int:
        """Bytes that an estimate of the whole factor takes at its peak."""
        own = self.readout
        return (own.inner if isinstance(own, Compressed) else own).peak_memory()

    @property
    def exact(self) -> bool:
        """Whether the estimate is a closed form, without error."""
        return self.estimator == CLOSED_FORM

    def is_of(self, family: ScoreFamily) -> bool:
        """Whether the plan is for the networks of a family, with zero layers redrawn if needed."""
        return is_named(family, self.fingerprint, self.redrawn)

    def differences(self, other: "Plan") -> list[str]:
        """The differences that keep this plan from continuing another one, in words."""
        own, theirs = dict(self), dict(other)
        # These are taken from the continued plan; `run` refuses to mix versions of the draws.
        same = {"batch", "precision", "versions", "draws", "assumptions"}
        return [
            f"{name} was {theirs[name]!r}, now {own[name]!r}"
            for name in own
            if name not in same and own[name] != theirs[name]
        ]


def timestep_range(timesteps: tuple[int, int] | None, schedule: DiffusionPath) -> tuple[int, int]:
    """The range of timesteps, checked; all of them by default."""
    first, end = timesteps or (0, schedule.steps)
    if not 0 <= first < end <= schedule.steps:
        raise InputError(
            f"timesteps are a range A:B with 0 <= A < B <= {schedule.steps}, got {first}:{end}"
        )
    return first, end


@dataclass(frozen=True)
class TimestepLaw:
    """How timesteps are drawn, and the weight of the outer product at each of them.

    Attributes:
        probabilities: the probability of each timestep.
        weights: w_t, of the outer product.
    """

    probabilities: Float[np.ndarray, " T"]
    weights: Float[np.ndarray, " T"]

    @classmethod
    def of(
        cls, schedule: DiffusionPath, timesteps: tuple[int, int], weighting: str
    ) -> "TimestepLaw":
        """The law of definition 2, uniform on a range of timesteps."""
        first, end = timesteps
        probabilities = np.zeros(schedule.steps)
        probabilities[first:end] = 1 / (end - first)
        return cls(probabilities, schedule.weights(weighting))

    @property
    def products(self) -> Float[np.ndarray, " T"]:
        """Probability times weight of each timestep."""
        return self.probabilities * self.weights

    @property
    def mean_weight(self) -> float:
        """The mean weight c = E_t[w_t]."""
        return float(self.probabilities @ self.weights)

    def drawn_by(self, energy: Float[np.ndarray, " T"], total: float) -> "TimestepLaw":
        """Timesteps drawn in proportion to w_t g_t, g_t = `energy`; `total` is E_t[w_t g_t].

        Outer products are then weighted by 1 / g_t, beyond the constant factor `total`.
        """
        probabilities = self.products * energy / total
        weights = np.ones_like(self.weights)
        weights[probabilities > 0] = 1 / energy[probabilities > 0]
        return TimestepLaw(probabilities, weights)


def software_versions() -> dict[str, str]:
    """Versions that can change the numbers."""
    return {name: version(name) for name in ("sads", "torch", "numpy", "scipy")}
