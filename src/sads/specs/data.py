"""Strings to data.

| data                           | samples                                                        |
|--------------------------------|----------------------------------------------------------------|
| `digits[,size=16]`             | 1,797 digits of 1x8x8, or resized                              |
| `mnist:DIR[,size=16]`          | the IDX files in a directory; averaged over blocks and padded  |
| `npy:FILE`, `npz:FILE[:KEY]`   | an array; `scale` maps its values to [-1, 1], `scale=0.18`     |
|                                | multiplies them, `scale=channels` standardises each channel    |
| `folder:DIR`                   | pictures; `size=56`, `grey`, `crop`, `skip-corrupt`            |
| `hf:NAME[:SPLIT]`              | pictures of a Hugging Face dataset; options of folders         |
| `rank-one:BASIS:I`             | x = sqrt(D) g v; canonical, dct, dst, hadamard or haar         |
| `rank-one:geometry=DIR:I`      | v is eigenvector I, 0 for the largest eigenvalue               |
| `rank-one:geometry=DIR:band=K` | v is drawn by the seed from the subspace of band K             |
| `sphere:SOURCE:I,J,K`          | a sphere in three directions of a basis or of `geometry=DIR`   |
| `sphere:geometry=DIR:band=K`   | the three are drawn by the seed from the subspace of band K    |
| `gaussian`                     | N(0, I)                                                        |
| `gaussian:moment=DATA`         | N(0, C), C the second moment of that data's training split     |
| `mixture:FILE.npz`             | a mixture of Gaussians: `means`, `deviations`, see `mixtures`  |

Options of all: `count=`, `seed=`, `split=train|held-out`. Without a split a finite set is whole
(MNIST: its train files). Synthetic data (the last seven) has 10,000 samples unless `count` says
otherwise. Other packages add kinds of data, see `plug_ins`.
"""

from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from .digests import geometry_digest, path_digest
from .grammar import convert, fields_of
from .spec import Rename, Spec

if TYPE_CHECKING:
    from ..data import Dataset

SYNTHETIC = ("rank-one", "sphere", "gaussian", "mixture")
ARRAYS = ("npy", "npz")
SELECTION = ("count", "seed", "split")
_DIRECTIONS = ("rank-one", "sphere")
_FILES = ("npy", "folder", "mnist", "mixture")
_GEOMETRY, _BAND, _MOMENT = "geometry=", "band=", "moment="


class DataSpec(Spec, frozen=True):
    """A dataset of the grammar.

    Attributes:
        kind: `digits`, `npy`, `rank-one` and so on.
        where: what follows the colon, up to the options; None without a colon.
        options: each as it is written, `size=16` or `grey`.

    >>> spec = DataSpec.parse("rank-one:geometry=runs/a:band=3,count=100")
    >>> spec.geometry, spec.band, spec.fields
    ('runs/a', 3, {'count': '100'})
    """

    kind: str
    where: str | None = None
    options: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "DataSpec":
        name, *options = text.split(",")
        # Indices after commas, as in `sphere:dct:1,2,3`, belong to the name.
        while options and options[0].strip().lstrip("-").isdigit():
            name += f",{options.pop(0).strip()}"
        fields_of(options, text)
        kind, colon, where = name.strip().partition(":")
        return cls(kind=kind, where=where if colon else None, options=tuple(options))

    @cached_property
    def fields(self) -> dict[str, str]:
        """The options by name; one without a value is `true`."""
        return fields_of(self.options, ",".join(self.options))

    def own_fields(self, known: Collection[str]) -> dict[str, str]:
        """The options that are not common to all data.

        Raises:
            InputError: for one that is not among those known.
        """
        own = {name: value for name, value in self.fields.items() if name not in SELECTION}
        for name in own:
            if name not in known:
                takes = ", ".join([*known, *SELECTION]).replace("_", "-")
                raise InputError(f"{self.kind} data has no option {name!r}: it takes {takes}")
        return own

    @property
    def synthetic(self) -> bool:
        """Whether it is drawn from a law, with as many samples as one asks for."""
        return self.kind in SYNTHETIC

    @property
    def tells_shape(self) -> bool:
        """Whether the data itself has a shape."""
        if self.geometry is not None or self.moment is not None:
            return True
        return not self.synthetic or self.kind == "mixture"

    @property
    def evaluation_split(self) -> str | None:
        """The split to measure something against: arrays are taken whole, as they are."""
        return None if self.kind in ARRAYS else "held-out"

    @property
    def source(self) -> str:
        """Of rank-one data and spheres: the basis, or `geometry=DIR`; empty if none is named."""
        return (self.where or "").rpartition(":")[0] if self.kind in _DIRECTIONS else ""

    @property
    def places(self) -> tuple[str, ...]:
        """Of rank-one data and spheres: what names the directions, indices or `band=K`."""
        last = (self.where or "").rpartition(":")[2]
        return tuple(last.split(",")) if self.kind in _DIRECTIONS else ()

    @property
    def geometry(self) -> str | None:
        """The directory of the geometry that directions come from; None for other data."""
        return self.source.removeprefix(_GEOMETRY) if self.source.startswith(_GEOMETRY) else None

    @property
    def band(self) -> int | None:
        """The band of the geometry that directions are drawn from; None for other data."""
        if self.geometry is None or not self.places[0].startswith(_BAND):
            return None
        return convert("band", self.places[0].removeprefix(_BAND), int)

    @property
    def indices(self) -> tuple[int, ...]:
        """The indices of directions; empty for a band and for other data."""
        if self.band is not None:
            return ()
        return tuple(convert("the index of a direction", place, int) for place in self.places)

    @property
    def moment(self) -> "DataSpec | None":
        """The data whose second moment this Gaussian data takes; None for other data."""
        if self.kind != "gaussian" or not (self.where or "").startswith(_MOMENT):
            return None
        named = zip(self.options, self.fields, strict=True)
        own = [option for option, name in named if name not in SELECTION]
        return self.parse(",".join([str(self.where).removeprefix(_MOMENT), *own]))

    def file(self, root: Path = Path()) -> tuple[str, str]:
        """The file or dataset that follows the colon, and its `:KEY` or `:SPLIT`.

        A colon is part of a file's name only if there is such a file.
        """
        where = self.where or ""
        if ":" not in where or (root / where).exists():
            return where, ""
        name, colon, key = where.partition(":") if self.kind == "hf" else where.rpartition(":")
        return name, f"{colon}{key}"

    def written(self, rename: Rename, root: Path) -> str:
        name = self.kind if self.where is None else f"{self.kind}:{self._where(rename, root)}"
        return ",".join([name, *self.options])

    def _where(self, rename: Rename, root: Path) -> str:
        where = str(self.where)
        if self.geometry:
            return f"{_GEOMETRY}{rename(self.geometry, geometry_digest)}:{','.join(self.places)}"
        if self.moment is not None:
            inner = self.parse(where.removeprefix(_MOMENT))
            return f"{_MOMENT}{inner.written(rename, root)}"
        if self.kind in _FILES:
            return rename(where, path_digest) if where else ""
        if self.synthetic:
            return where
        name, key = self.file(root)
        # A dataset of the hub has a name and no file; a plug-in may have either.
        named = bool(name) and (self.kind == "npz" or (root / name).exists())
        return f"{rename(name, path_digest)}{key}" if named else where

    def dataset(
        self,
        shape: tuple[int, ...] | None = None,
        split: str | None = None,
        *,
        count: int | None = None,
        seed: int = 0,
    ) -> "Dataset":
        """The samples, with what is known about them.

        Args:
            shape: shape of one sample; needed if the data has no shape of its own, otherwise
                checked.
            split: `train`, `held-out` or None, where the text names none.
            count: how many samples, where the text does not say it.
            seed: of the draw, where the text names none.

        Raises:
            SadsError: for data that is not known or cannot be read.

        >>> DataSpec.parse("digits,count=100,split=held-out").dataset().shape
        (1, 8, 8)
        """
        from ..data import Selection  # NumPy and the like take long to load
        from .readers import read_dataset

        given = self.fields
        if "count" in given:
            count = convert("count", given["count"], int)
        if "seed" in given:
            seed = convert("seed", given["seed"], int)
        return read_dataset(self, Selection(given.get("split", split), count, seed), shape)
