"""The protocol of a training: the caller's settings, and the family's own for the others."""

from dataclasses import asdict

from pydantic import BaseModel, Field, ValidationError

from ..errors import InputError
from ..networks import ScoreFamily
from ..randomness import Random, as_seed

LARGEST_NUMBER = 10**9  # of updates, or of samples in a batch: more is surely a mistake


class Settings(BaseModel, frozen=True, extra="forbid", allow_inf_nan=False):
    """The protocol of a training.

    Attributes:
        iterations: the number of updates.
        batch_size: the number of samples in a batch.
        learning_rate: the learning rate of Adam.
        seed: the seed of the initialisation and all draws.
        accumulate: the number of batches in an update.
        clip: largest norm of the gradient.
        weight_decay: share of every weight that an update removes, divided by the learning rate.
        compile: use torch.compile.
        bfloat16: use autocast to bfloat16.
    """

    iterations: int = Field(default=2_000, ge=1, le=LARGEST_NUMBER)
    batch_size: int = Field(default=1_000, ge=1, le=LARGEST_NUMBER)
    learning_rate: float = Field(default=1e-4, gt=0)
    seed: int = Field(default=0, ge=0, lt=2**63)
    accumulate: int = Field(default=1, ge=1, le=LARGEST_NUMBER)
    clip: float = Field(default=1.0, gt=0)
    weight_decay: float = Field(default=0.0, ge=0)
    compile: bool = False
    bfloat16: bool = False


def settings_for(
    family: ScoreFamily,
    *,
    iterations: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    seed: Random = 0,
    accumulate: int = 1,
    clip: float = 1.0,
    weight_decay: float = 0.0,
    compile: bool = False,  # noqa: A002 - torch's name
    bfloat16: bool = False,
) -> Settings:
    """The protocol for a family; the first three are the family's own unless given.

    Raises:
        InputError: for a number that makes no sense.
    """
    chosen = {
        "iterations": iterations,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "seed": as_seed(seed),
        "accumulate": accumulate,
        "clip": clip,
        "weight_decay": weight_decay,
        "compile": compile,
        "bfloat16": bfloat16,
    }
    said = {name: value for name, value in chosen.items() if value is not None}
    try:
        return Settings.model_validate(asdict(family.training) | said)
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{first['loc'][0]}: {first['msg']}, got {first['input']!r}") from error
