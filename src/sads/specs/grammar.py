"""Pieces that the grammars of networks, data and probes share."""

import math
import re
from collections.abc import Sequence
from typing import Any, get_args, get_origin

from ..errors import InputError

LARGEST_NUMBER = 2**63 - 1  # larger whole numbers fit no array and no seed
LARGEST_SAMPLE = 2**31 - 1  # values of one sample; as float32 they take 8 GB

_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")


def parse_shape(text: str) -> tuple[int, ...]:
    """`3x32x32` to (3, 32, 32).

    >>> parse_shape("1x16x16")
    (1, 16, 16)
    """
    parts = text.lower().split("x")
    whole = all(part.isascii() and part.isdigit() and len(part) < 100 for part in parts)
    shape = tuple(map(int, parts)) if whole else ()
    if not 1 <= len(shape) <= 4 or min(shape) < 1:
        raise InputError(
            "a shape looks like 1x16x16 (CxHxW), 1x64 (CxL), 5 or 4x8x32x32 (CxTxHxW), got "
            f"{text!r}"
        )
    if math.prod(shape) > LARGEST_SAMPLE:
        raise InputError(
            f"samples of shape {text} do not fit in memory: a sample has at most "
            f"{LARGEST_SAMPLE:,} values, choose a smaller shape"
        )
    return shape


def fields_of(options: Sequence[str], text: str) -> dict[str, str]:
    """Options such as `a=1` and `b` as fields by name; one without a value is `true`."""
    fields: dict[str, str] = {}
    for option in options:
        key, equals, value = option.partition("=")
        key = key.strip().replace("-", "_")
        if not key or key in fields:
            what = "twice" if key in fields else "without a name"
            raise InputError(f"{text!r} gives a field {what}: fields are written name=value")
        fields[key] = value.strip() if equals else "true"
    return fields


def convert(name: str, text: str, annotation: Any) -> Any:
    """A field's text in the type that a signature declares; sequences are written 1x1x2."""
    options = get_args(annotation)
    if get_origin(annotation) is Sequence:
        return tuple(convert(name, part, options[0]) for part in text.split("x"))
    if options:  # an optional type: the first alternative is the type itself
        return convert(name, text, options[0])
    if annotation is bool:
        if text.lower() not in ("true", "false"):
            raise InputError(f"{name} is true or false, got {text!r}")
        return text.lower() == "true"
    if annotation is int:
        return _whole_number(name, text)
    try:
        return annotation(text)
    except ValueError:
        raise InputError(f"{name} is a number, got {text!r}") from None


def _whole_number(name: str, text: str) -> int:
    """A whole number in plain digits that fits 64 bits."""
    number = int(text) if _WHOLE.fullmatch(text.strip()) else None
    if number is None and not re.fullmatch(r"[+-]?[0-9]+", text.strip()):
        raise InputError(f"{name} is a whole number, got {text!r}")
    if number is None or abs(number) > LARGEST_NUMBER:
        raise InputError(f"{name} is a whole number below 2^63, got one of {len(text)} digits")
    return number


def parse_timesteps(text: str) -> tuple[int, int]:
    """`A:B` to (A, B).

    >>> parse_timesteps("0:100")
    (0, 100)
    """
    first, colon, end = text.partition(":")
    if not colon or not (_WHOLE.fullmatch(first) and _WHOLE.fullmatch(end)) or "-" in text:
        raise InputError(f"timesteps are a range like 0:100, got {text!r}")
    return int(first), int(end)


def parse_numbers(name: str, text: str) -> tuple[float, ...]:
    """`0.1,1,10` to numbers.

    >>> parse_numbers("sigmas", "0.5,2")
    (0.5, 2.0)
    """
    return tuple(convert(name, part, float) for part in text.split(","))
