"""The metrics of a trial: the columns of the results, and how each is measured.

To add one, write a field of `Metrics` that may be None, since older results are without it, and its
value in `Metrics.measured`. Databases, tables and the command line follow.
"""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field, model_validator

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float

    from ...data import Dataset
    from ...diffusion import Trained

Size = Annotated[float, Field(ge=0)]


class Message(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """A value that is checked when it is read and stored as JSON."""


class RiskNumbers(Message, frozen=True):
    """The exact risk of a network, where the law of its data is known; see `sads.learning.risk`.

    `along` and `off` are None where the data spans the whole space. Errors are standard errors.
    """

    risk: Size | None = None
    risk_error: Size | None = None
    risk_along: Size | None = None
    risk_along_error: Size | None = None
    risk_off: Size | None = None
    risk_off_error: Size | None = None
    nats: Size | None = None
    nats_error: Size | None = None


class Moment(RiskNumbers, frozen=True):
    """The risk after some steps of training."""

    step: int = Field(ge=1)


@dataclass(frozen=True, eq=False)
class TrialEnd:
    """What a trial has at its end, from which its metrics are measured.

    Attributes:
        trained: the trained network, with its losses.
        samples: what it generated; empty where the protocol asks for none.
        held_out: the data that samples are compared with; None without samples.
        projections: directions of the sliced distances; None for the usual number.
        risk: the exact risk.
        seed: of all draws.
    """

    trained: "Trained"
    samples: "Float[np.ndarray, 'N ...']"
    held_out: "Dataset | None"
    projections: int | None
    risk: RiskNumbers
    seed: int


class Metrics(RiskNumbers, frozen=True):
    """What was measured: distances to held-out data (`sads.distances.Distance`) and exact risk.

    Without samples there are no distances. `loss` is the mean over the last tenth of the training.
    `w2_direction` is for rank-one data; `leakage` is the root mean square of what samples have
    outside the subspace of the data, where its law is known and leaves some outside.
    """

    sw2: Size | None
    standard_error: Size | None
    msw2: Size | None
    msw2_optimised: Size | None
    msw2_null: Size | None
    p_value: float | None = Field(ge=0, le=1)
    projections: int | None = Field(ge=1)
    w2_direction: Size | None
    loss: Size
    leakage: Size | None = None

    @classmethod
    def measured(cls, end: TrialEnd) -> "Metrics":
        """All metrics at the end of a trial."""
        losses = end.trained.losses.numpy()
        return cls.model_validate(
            _distances(end)
            | end.risk.model_dump()
            | {
                "loss": float(losses[-max(1, len(losses) // 10) :].mean()),
                "leakage": _leakage(end),
            }
        )

    @model_validator(mode="after")
    def _distances_are_whole(self) -> "Metrics":
        sizes = (self.sw2, self.msw2, self.msw2_optimised, self.msw2_null, self.p_value)
        if len({value is None for value in (*sizes, self.projections)}) > 1:
            raise ValueError("some distances are missing: there are all of them or none")
        return self


def _distances(end: TrialEnd) -> dict[str, float | int | None]:
    """Distances to held-out data; without samples there are none."""
    from ...distances import Distance, measure_distance

    if end.held_out is None:
        return dict.fromkeys(field.name for field in fields(Distance))
    distance = measure_distance(
        end.samples,
        end.held_out.samples,
        y_direction=end.held_out.direction,
        projections=end.projections,
        seed=end.seed,
    )
    return distance.to_dict()


def _leakage(end: TrialEnd) -> float | None:
    """What samples have outside the subspace of the data; None where there is no such subspace."""
    from ...distances import leakage

    law = None if end.held_out is None else end.held_out.law
    support = None if law is None else law.support
    return None if support is None else leakage(end.samples, support)
