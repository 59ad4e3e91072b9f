"""Strings to probes, which say where networks are looked at.

| probe          | inputs                                               |
|----------------|------------------------------------------------------|
| `zero`         | x = 0                                                |
| `gaussian:STD` | N(0, STD^2 I), a standard deviation of 1 unless given |
| `point:FILE`   | one point, the array in a NumPy file                 |
| `forward:DATA` | the forward process of data                          |

Other packages add kinds of probes, see `plug_ins`.
"""

import math
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from . import plug_ins
from .data import DataSpec
from .digests import path_digest
from .grammar import convert
from .spec import Rename, Spec

if TYPE_CHECKING:
    from ..geometry import Probe

KNOWN = "zero, gaussian:STD, point:FILE.npy or forward:DATA"


class ProbeSpec(Spec, frozen=True):
    """A probe of the grammar.

    Attributes:
        kind: `zero`, `gaussian`, `point`, `forward` or that of a plug-in.
        where: what stands behind the colon; None without one.
    """

    kind: str
    where: str | None = None

    @classmethod
    def parse(cls, text: str) -> "ProbeSpec":
        kind, colon, where = text.partition(":")
        return cls(kind=kind, where=where if colon else None)

    @property
    def data(self) -> DataSpec | None:
        """The data whose forward process is the probe; None for other probes."""
        return DataSpec.parse(self.where) if self.kind == "forward" and self.where else None

    def written(self, rename: Rename, root: Path) -> str:
        if self.where is None:
            return self.kind
        where = self.where
        if self.data is not None:
            where = self.data.written(rename, root)
        elif self.kind == "point" and where:
            where = rename(where, path_digest)
        return f"{self.kind}:{where}"

    def probe(self, shape: tuple[int, ...]) -> "Probe":
        """The probe, for networks on a shape.

        Raises:
            SadsError: for a probe that is not known or cannot be read.

        >>> ProbeSpec.parse("gaussian:0.5").probe((1, 16, 16))
        Gaussian(std=0.5)
        """
        from ..data import read_npy  # torch and NumPy take their time to load
        from ..geometry import Forward, Gaussian, Point, Zero

        if self.kind == "zero" and not self.where:
            return Zero()
        if self.kind == "gaussian":
            return Gaussian(convert("the probe's standard deviation", self.where or "1", float))
        if self.kind == "point" and self.where:
            point = read_npy(self.where)
            if point.size != math.prod(shape):
                raise InputError(
                    f"the point in {self.where} has shape {point.shape}, expected {shape}"
                )
            return Point(point.reshape(shape))
        if self.data is not None:
            return Forward(self.data.dataset(shape).samples)
        make = plug_ins.plug_in(plug_ins.PROBES, self.kind)
        if make is None:
            known = KNOWN + plug_ins.others(plug_ins.PROBES)
            raise InputError(f"unknown probe {str(self)!r}: expected {known}")
        return make(self.where or "", shape)
