"""Strings to probes: `zero`, `gaussian:STD`, `point:FILE`, `forward:DATA`."""

import math

from ..data import read_npy
from ..errors import InputError
from ..geometry import Forward, Gaussian, Point, Probe, Zero
from .data import parse_data
from .grammar import convert


def parse_probe(text: str, *, shape: tuple[int, ...]) -> Probe:
    """The probe that a string names, for networks on the given shape.

    >>> parse_probe("gaussian:0.5", shape=(1, 16, 16))
    Gaussian(std=0.5)
    """
    kind, _, rest = text.partition(":")
    if kind == "zero" and not rest:
        return Zero()
    if kind == "gaussian":
        return Gaussian(convert("the probe's standard deviation", rest or "1", float))
    if kind == "point" and rest:
        point = read_npy(rest)
        if point.size != math.prod(shape):
            raise InputError(f"the point in {rest} has shape {point.shape}, expected {shape}")
        return Point(point.reshape(shape))
    if kind == "forward" and rest:
        return Forward(parse_data(rest, shape=shape))
    raise InputError(
        f"unknown probe {text!r}: expected zero, gaussian:STD, point:FILE.npy or forward:DATA"
    )
