"""The errors this package raises on purpose: what was expected, what was given, what to do."""

from collections.abc import Iterable
from difflib import get_close_matches


class SadsError(Exception):
    """Base of all errors raised on purpose; the command line shows it as one line.

    >>> import sads
    >>> try:
    ...     sads.network("iddpm-61")
    ... except sads.SadsError as error:
    ...     print(type(error).__name__)
    InputError
    """


def brief(error: BaseException) -> str:
    """The type and the first line of an error that other code raised."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else 'no message'}"


# How torch, the C++ library and the system say that memory ran out.
_NO_MEMORY = (
    *("can't allocate memory", "cannot allocate memory", "not enough memory", "out of memory"),
    *("storage size calculation overflowed", "std::bad_alloc"),
    "can't start new thread",  # whose stack does not fit
    "failed to map segment from shared object",  # a library that does not fit
)


def is_memory_error(error: BaseException) -> bool:
    """Whether an error says that memory ran out; torch raises a `RuntimeError` for it."""
    if isinstance(error, MemoryError):
        return True
    text = str(error).lower()
    kinds = (RuntimeError, OSError, ImportError)
    return isinstance(error, kinds) and any(part in text for part in _NO_MEMORY)


def expected_one_of(name: object, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the closest known name, and all known names.

    >>> expected_one_of("cosin", ["linear", "cosine"])
    ": did you mean 'cosine'? Known: linear, cosine"
    """
    names = list(known)
    close = get_close_matches(str(name), names, n=1)
    hint = f"did you mean {close[0]!r}? Known:" if close else "expected one of"
    return f": {hint} {', '.join(names)}"


class InputError(SadsError, ValueError):
    """An argument, option or specification that cannot be used.

    >>> import sads
    >>> sads.Schedule("quadratic")
    Traceback (most recent call last):
    sads.errors.InputError: unknown schedule 'quadratic': expected one of linear, cosine
    """


class NetworkError(SadsError):
    """A network whose geometry cannot be computed as asked.

    >>> import sads
    >>> sads.ScoreFamily(lambda: 1 / 0, (1,), name="mine").member(0)
    Traceback (most recent call last):
    sads.errors.NetworkError: the factory of mine failed: ZeroDivisionError: division by zero
    """


class ArtefactError(SadsError):
    """A file or directory that cannot be read or written as an artefact of this package.

    >>> import sads
    >>> sads.load_geometry("nowhere")
    Traceback (most recent call last):
    sads.errors.ArtefactError: no geometry in nowhere...
    """


def needs_figures() -> None:
    """Refuse to draw where matplotlib is not installed.

    Raises:
        InputError: if it is not installed.
    """
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise InputError("pictures need matplotlib: install it with pip install 'sads[figures]'")
