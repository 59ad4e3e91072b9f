"""Strings to subspaces, in which the geometry of large samples is estimated.

| subspace                  | which rows of the factor it keeps                               |
|---------------------------|-----------------------------------------------------------------|
| `full`                    | all of them                                                     |
| `dct:K`                   | the lowest K frequencies of every axis, K x K of an image       |
| `adaptive:M[,sketch=N]`   | M directions in which a sketch from N networks is largest       |
| `geometry=DIR`            | those of a stored geometry, so that one can compare with it     |
"""

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from .digests import geometry_digest
from .grammar import convert, fields_of
from .spec import Rename, Spec

if TYPE_CHECKING:
    from ..inspection.subspaces import Adaptive, LowFrequencies, Whole

KNOWN = "full, dct:K, adaptive:M, adaptive:M,sketch=N or geometry=DIR"
_GEOMETRY = "geometry="


class SubspaceSpec(Spec, frozen=True):
    """A subspace of the grammar.

    Attributes:
        kind: `full`, `dct`, `adaptive` or `geometry`.
        count: K or M in the table of this module.
        sketch: the number of networks of a sketch, where it is given.
        where: the directory of a geometry.
    """

    kind: str
    count: int | None = None
    sketch: int | None = None
    where: str | None = None

    @classmethod
    def parse(cls, text: str) -> "SubspaceSpec":
        """The subspace that a text names.

        >>> str(SubspaceSpec.parse("adaptive:512,sketch=24"))
        'adaptive:512,sketch=24'
        """
        if text == "full":
            return cls(kind="full")
        if text.startswith(_GEOMETRY):
            return cls(kind="geometry", where=text.removeprefix(_GEOMETRY))
        kind, _, rest = text.partition(":")
        size, *options = rest.split(",")
        fields = fields_of(options, text)
        allowed = {"sketch"} if kind == "adaptive" else set()
        if kind not in ("dct", "adaptive") or not size or not set(fields) <= allowed:
            raise InputError(f"unknown subspace {text!r}: expected {KNOWN}")
        numbers = {
            "count": convert(f"the size of {kind}", size, int),
            **{name: convert(name, value, int) for name, value in fields.items()},
        }
        if min(numbers.values()) < 1:
            raise InputError(f"the numbers of a subspace are 1 or more, got {text!r}")
        return cls(kind=kind, **numbers)

    def written(self, rename: Rename, root: Path) -> str:
        if self.where is not None:
            return f"{_GEOMETRY}{rename(self.where, geometry_digest)}"
        if self.count is None:
            return self.kind
        sketch = "" if self.sketch is None else f",sketch={self.sketch}"
        return f"{self.kind}:{self.count}{sketch}"

    def subspace(self) -> "Whole | LowFrequencies | Adaptive":
        """The value that estimates take.

        Raises:
            ArtefactError: if there is no geometry in the directory.
        """
        from ..geometry import load_geometry  # torch takes long to load
        from ..inspection.subspaces import Adaptive, LowFrequencies, Whole

        if self.where is not None:
            return load_geometry(self.where).subspace or Whole()
        if self.count is None:
            return Whole()
        dct = self.kind == "dct"
        return LowFrequencies(self.count) if dct else Adaptive(self.count, self.sketch)
