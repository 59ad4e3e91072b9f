"""Strings to networks.

| network                       | family                                                      |
|-------------------------------|-------------------------------------------------------------|
| `PRESET[,field=value...]`     | a preset with some of its fields replaced                   |
| `FILE.py:factory`             | what a function of a Python file makes                      |
| `package.module:factory`      | what a function of a module makes                           |
| `diffusers:FILE.json`         | a network of the diffusers library, from its configuration  |

All take the options of `paths`: what is predicted, on which path from data to noise, and at which
times. Other packages add presets, see `plug_ins`.
"""

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from . import plug_ins
from .digests import beside_digest, module_digest, python_digest
from .grammar import fields_of
from .spec import Rename, Spec

if TYPE_CHECKING:
    from ..networks import ScoreFamily
    from ..path import DiffusionPath


class NetworkSpec(Spec, frozen=True):
    """A family of networks of the grammar.

    Attributes:
        name: what stands before the first comma.
        options: each as it is written, `groups=8`.

    >>> spec = NetworkSpec.parse("models/net.py:make,prediction=v")
    >>> spec.place, spec.factory, spec.fields
    ('models/net.py', 'make', {'prediction': 'v'})
    """

    name: str
    options: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "NetworkSpec":
        name, *options = text.split(",")
        fields_of(options, text)
        return cls(name=name.strip(), options=tuple(options))

    @cached_property
    def fields(self) -> dict[str, str]:
        """The options by name; one without a value is `true`."""
        return fields_of(self.options, ",".join(self.options))

    @property
    def place(self) -> str:
        """The file or module of a factory, `diffusers` for its networks; empty for a preset."""
        return self.name.rpartition(":")[0]

    @property
    def factory(self) -> str:
        """The name of the preset or of the factory, or the file of diffusers."""
        return self.name.rpartition(":")[2]

    @property
    def of_diffusers(self) -> bool:
        """Whether it is a configuration file of the diffusers library."""
        return self.place == "diffusers" and self.factory.endswith(".json")

    def written(self, rename: Rename, root: Path) -> str:
        name = self.name
        if self.of_diffusers:
            name = f"diffusers:{rename(self.factory, beside_digest)}"
        elif self.place.endswith(".py"):
            name = f"{rename(self.place, python_digest)}:{self.factory}"
        return ",".join([name, *self.options])

    def digest(self) -> str:
        if self.of_diffusers or self.place.endswith(".py"):
            return super().digest()
        if self.place:
            name = f"{self.place}@{module_digest(self.place)}:{self.factory}"
        elif entry := plug_ins.entry_points_of(plug_ins.NETWORKS).get(self.name):
            name = f"{self.name}@{module_digest(entry.module)}"
        else:
            name = self.name
        return ",".join([name, *self.options])

    def family(
        self, shape: tuple[int, ...] | None = None, *, schedule: "DiffusionPath | None" = None
    ) -> "ScoreFamily":
        """The family of networks, with its own shape and path unless others are given.

        Raises:
            SadsError: for a network that is not known or cannot be made, or that names another
                path than the given one.

        >>> NetworkSpec.parse("iddpm-16,resampling=area").family().shape
        (1, 16, 16)
        """
        from .factories import make_family  # torch takes seconds to load

        return make_family(self, shape, schedule)
