"""Warnings before something public goes away."""

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_WARNED: set[str] = set()


def warn_deprecated(what: str, instead: str, removal: str) -> None:
    """Warn once in a process that something will be removed.

    Args:
        what: its name, as callers write it.
        instead: what to write in its place.
        removal: the version that removes it.
    """
    if what in _WARNED:
        return
    _WARNED.add(what)
    said = f"{what} is deprecated and will be removed in sads {removal}: use {instead}"
    warnings.warn(said, DeprecationWarning, stacklevel=3)


def deprecated(
    instead: str, *, removal: str
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Mark a public function or method as one that goes away; its first call warns.

    >>> @deprecated("sads.new", removal="0.3")
    ... def old() -> int:
    ...     return 1
    """

    def mark(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        @functools.wraps(function)
        def marked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            warn_deprecated(f"sads.{function.__qualname__}", instead, removal)
            return function(*args, **kwargs)

        return marked

    return mark
