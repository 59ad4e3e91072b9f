"""Pieces that the grammars of networks, data and probes share."""

from collections.abc import Sequence
from typing import Any, get_args, get_origin

from ..errors import InputError


def parse_shape(text: str) -> tuple[int, ...]:
    """`3x32x32` to (3, 32, 32).

    >>> parse_shape("1x16x16")
    (1, 16, 16)
    """
    try:
        shape = tuple(int(part) for part in text.lower().split("x"))
    except ValueError:
        shape = ()
    if not 1 <= len(shape) <= 3 or min(shape) < 1:
        raise InputError(f"a shape looks like 1x16x16 (CxHxW), 1x64 (CxL) or 5, got {text!r}")
    return shape


def split_fields(text: str) -> tuple[str, dict[str, str]]:
    """`name,a=1,b=2` to the name and its fields; a field without a value is `true`."""
    name, *rest = text.split(",")
    fields: dict[str, str] = {}
    for part in rest:
        key, _, value = part.partition("=")
        key = key.strip().replace("-", "_")
        if not key or key in fields:
            what = "twice" if key in fields else "without a name"
            raise InputError(f"{text!r} gives a field {what}: fields are written name=value")
        fields[key] = value.strip() if "=" in part else "true"
    return name.strip(), fields


def convert(name: str, text: str, annotation: Any) -> Any:
    """A field's text as the type that a signature declares; sequences are written 1x1x2."""
    options = get_args(annotation)
    if get_origin(annotation) is Sequence:
        return tuple(convert(name, part, options[0]) for part in text.split("x"))
    if options:  # an optional type: the first alternative is the type proper
        return convert(name, text, options[0])
    if annotation is bool:
        if text.lower() not in ("true", "false"):
            raise InputError(f"{name} is true or false, got {text!r}")
        return text.lower() == "true"
    try:
        return annotation(text)
    except ValueError:
        kind = "a whole number" if annotation is int else "a number"
        raise InputError(f"{name} is {kind}, got {text!r}") from None


def parse_timesteps(text: str) -> tuple[int, int]:
    """`A:B` to (A, B).

    >>> parse_timesteps("0:100")
    (0, 100)
    """
    first, colon, end = text.partition(":")
    if not colon or not text.isascii() or not first.isdigit() or not end.isdigit():
        raise InputError(f"timesteps are a range like 0:100, got {text!r}")
    return int(first), int(end)
