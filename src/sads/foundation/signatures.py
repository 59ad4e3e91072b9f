"""Functions that take the same arguments."""

import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def same_arguments(
    model: Callable[Arguments, object],
) -> Callable[[Callable[..., Result]], Callable[Arguments, Result]]:
    """A decorator that says of a function that it takes the arguments of another one.

    Type checkers, `help` and `inspect.signature` then know them by name, and they are written only
    once.

    >>> def scaled(x: float, *, factor: float = 2.0) -> float:
    ...     return factor * x
    >>> @same_arguments(scaled)
    ... def described(x: float, **options: float) -> str:
    ...     return f"scaled to {scaled(x, **options)}"
    >>> inspect.signature(described)
    <Signature (x: float, *, factor: float = 2.0) -> str>
    >>> described(1, factor=3)
    'scaled to 3'
    """

    def named(function: Callable[..., Result]) -> Callable[Arguments, Result]:
        returned = inspect.signature(function).return_annotation
        signature = inspect.signature(model).replace(return_annotation=returned)
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function

    return named
