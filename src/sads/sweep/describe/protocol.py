"""How a trial is trained, sampled and measured.

| preset   | iterations x batch | learning rate | sampling steps | samples | training data     |
|----------|--------------------|---------------|----------------|---------|-------------------|
| `smoke`  | 20 x 16            | 1e-3          | 10             | 64      | 128               |
| `laptop` | 500 x 256          | 1e-4          | 100            | 1,000   | all, or 10,000    |
| `paper`  | those of table 1 of the paper  | 1000           | 10,000  | all, or 10,000    |

SW2 and MSW2 are taken over 64 D random directions unless `projections` says otherwise. With
`samples = 0` nothing is sampled and there are no distances. Where the law of the data is known, the
exact risk is measured at the end of training, and at the steps that `moments` names.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, Field, field_validator

from ...errors import InputError

LEAST_SAMPLES = 4
LARGEST_NUMBER = 10**9  # a larger count is surely a mistake


class Protocol(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """The numbers that a trial's result depends on, besides network, data, rotation and seed.

    Attributes:
        iterations: the number of updates; None for that of table 1 of the paper.
        batch_size: samples in a batch; None for that of table 1.
        learning_rate: the learning rate of Adam; None for that of table 1.
        steps: timesteps visited in sampling.
        samples: how many samples are drawn and compared with at most as many held-out ones; 0
            leaves sampling and distances out.
        train: the largest number of training samples; None for the whole split of a finite set and
            for 10,000 samples of synthetic data.
        projections: random directions of the distances; None for 64 D.
        weight_decay: weight decay, decoupled from the gradient; the paper has none.
        moments: training steps, in ascending order, at which the risk is measured besides the end.

    >>> import sads
    >>> sads.Protocol(iterations=500, samples=1_000).steps
    1000
    """

    iterations: int | None = Field(default=None, ge=1, le=LARGEST_NUMBER)
    batch_size: int | None = Field(default=None, ge=1, le=LARGEST_NUMBER)
    learning_rate: float | None = Field(default=None, gt=0)
    steps: int = Field(default=1000, ge=1, le=1000)
    samples: int = Field(default=10_000, ge=0, le=LARGEST_NUMBER)
    train: int | None = Field(default=None, ge=1, le=LARGEST_NUMBER)
    projections: int | None = Field(default=None, ge=1, le=LARGEST_NUMBER)
    weight_decay: float = Field(default=0.0, ge=0)
    moments: tuple[int, ...] = ()

    @field_validator("samples")
    @classmethod
    def _enough_to_compare(cls, samples: int) -> int:
        if 0 < samples < LEAST_SAMPLES:
            raise ValueError(f"distances need at least {LEAST_SAMPLES} samples; 0 leaves them out")
        return samples

    @field_validator("moments")
    @classmethod
    def _ascending(cls, moments: tuple[int, ...]) -> tuple[int, ...]:
        if list(moments) != sorted({*moments}) or (moments and moments[0] < 1):
            raise ValueError("moments are training steps from 1 on, in ascending order")
        return moments

    def identity_fields(self) -> dict[str, Any]:
        """The fields that identify a trial; newer fields count only where they are set."""
        later = {"weight_decay": self.weight_decay, "moments": self.moments}
        return self.model_dump(mode="json", exclude={n for n, value in later.items() if not value})


PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        "smoke": Protocol(
            iterations=20, batch_size=16, learning_rate=1e-3, steps=10, samples=64, train=128
        ),
        "laptop": Protocol(
            iterations=500, batch_size=256, learning_rate=1e-4, steps=100, samples=1_000
        ),
        "paper": Protocol(),
    }
)


def protocol_fields(source: str | Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a named preset, or of a table with `preset` and the fields to replace.

    >>> protocol_fields({"preset": "smoke", "iterations": 5})["iterations"]
    5
    """
    own: dict[str, Any] = {"preset": source} if isinstance(source, str) else dict(source)
    preset = str(own.pop("preset", None))
    if preset not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        raise InputError(
            f"a protocol is {known}, or a table with preset and the fields to replace; "
            f"got {source!r}"
        )
    if isinstance(own.get("moments"), list):  # TOML has no tuples
        own["moments"] = tuple(own["moments"])
    return PROTOCOLS[preset].model_dump() | own
