"""Types of options that several commands share."""

from typing import Annotated, Any

from cyclopts import Parameter

from ..randomness import checked_seed


def _check(type_: Any, value: int) -> None:
    checked_seed(value)


Seed = Annotated[int, Parameter(validator=_check)]
