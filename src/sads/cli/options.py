"""Types of options that several commands share."""

from typing import Annotated, Any

from cyclopts import Parameter


def _check(type_: Any, value: int) -> None:
    from ..randomness import checked_seed  # imports NumPy, which readers of results do without

    checked_seed(value)


Seed = Annotated[int, Parameter(validator=_check)]
Names = Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")]  # --only A B
Flag = Annotated[bool, Parameter(negative="")]  # without a --no- twin
