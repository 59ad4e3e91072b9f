"""Strings to probes, which say where networks are looked at.

| probe          | inputs                                               |
|----------------|------------------------------------------------------|
| `zero`         | x = 0                                                |
| `gaussian:STD` | N(0, STD^2 I), a standard deviation of 1 unless given |
| `point:FILE`   | one point, the array in a NumPy file                 |
| `forward:DATA` | the forward process of data                          |

The classes of `sads.probes` say how they are spelled; this module only takes texts apart. Other
packages add kinds of probes, see `plug_ins`.
"""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from . import plug_ins
from .data import DataSpec
from .digests import path_digest
from .grammar import convert
from .spec import Rename, Spec

if TYPE_CHECKING:
    from ..probes import Probe


class ProbeSpec(Spec, frozen=True):
    """A probe of the grammar.

    Attributes:
        kind: the kind of a class of `sads.probes`, or the name of a plug-in.
        where: what follows the colon; None without one.
    """

    kind: str
    where: str | None = None

    @classmethod
    def parse(cls, text: str) -> "ProbeSpec":
        kind, colon, where = text.partition(":")
        return cls(kind=kind, where=where if colon else None)

    @property
    def takes(self) -> str | None:
        """What a probe of this kind is made from; None for a plug-in's."""
        from ..probes import PROBES  # torch and NumPy take long to load

        return PROBES[self.kind].takes if self.kind in PROBES else None

    @property
    def placeholder(self) -> str | None:
        """Its spelling, if it is made from a file or data, of which results only keep a digest."""
        from ..probes import PROBES

        return PROBES[self.kind].spelling if self.takes in ("a point", "data") else None

    def written(self, rename: Rename, root: Path) -> str:
        if self.where is None:
            return self.kind
        where = self.where
        if where and self.takes == "data":
            where = DataSpec.parse(where).written(rename, root)
        elif where and self.takes == "a point":
            where = rename(where, path_digest)
        return f"{self.kind}:{where}"

    def probe(self, shape: tuple[int, ...]) -> "Probe":
        """The probe, for networks on samples of this shape.

        Raises:
            SadsError: for an unknown probe, or one that cannot be read.

        >>> ProbeSpec.parse("gaussian:0.5").probe((1, 16, 16))
        Gaussian(std=0.5)
        """
        from ..probes import PROBES  # torch and NumPy take long to load

        known = PROBES.get(self.kind)
        if known is not None and (arguments := self._arguments(shape)) is not None:
            return known(*arguments)
        make = plug_ins.plug_in(plug_ins.PROBES, self.kind)
        if known is not None or make is None:
            spellings = ", ".join(probe.spelling for probe in PROBES.values())
            known_kinds = spellings + plug_ins.others(plug_ins.PROBES)
            raise InputError(f"unknown probe {str(self)!r}: expected one of {known_kinds}")
        return make(self.where or "", shape)

    def _arguments(self, shape: tuple[int, ...]) -> tuple[Any, ...] | None:
        """The arguments for the class of the probe; None where the text does not give them."""
        from ..data import read_npy

        if self.takes == "nothing":
            return None if self.where else ()
        if self.takes == "a number":
            named = f"the number of the {self.kind} probe"
            return (convert(named, self.where, float),) if self.where else ()
        if not self.where:
            return None
        if self.takes == "data":
            return (DataSpec.parse(self.where).dataset(shape).samples,)
        point = read_npy(self.where)
        if point.size != math.prod(shape):
            raise InputError(f"the point in {self.where} has shape {point.shape}, expected {shape}")
        return (point.reshape(shape),)
