"""What an atlas is about: a TOML file with a table `[[network]]` for each architecture.

[[network]]
name = "DiT-S/2"
network = "diffusers:configurations/dit-s-2.json"
shape = "4x32x32"
kind = "transformer"
published = "Peebles and Xie 2023"
reduced = ""        # what is smaller than published
networks = 48       # untrained networks to examine
batch = 16          # batch size of the forecast step
forecast = 12       # untrained networks behind the forecast
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from ..directions import FOLDS
from ..errors import InputError, expected_one_of
from ..overview import FORECAST
from ..specs import NetworkSpec, parse_shape
from ..storage.sealed import json_digest
from ..storage.toml import toml_as_json

NETWORKS = 48
LONGEST = 200  # characters of a text

Text = Annotated[str, Field(max_length=LONGEST)]


class AtlasEntry(BaseModel, frozen=True, extra="forbid"):
    """One architecture of an atlas.

    Attributes:
        name: the name that people see.
        network: a text in the grammar of networks.
        shape: the shape of one sample.
        kind: `U-Net`, `transformer` and the like, for the filter.
        published: the publication of its configuration.
        reduced: what is smaller than published; empty if nothing is.
        networks: the number of untrained networks to examine.
        batch: the batch size of the forecast step; that of a summary unless given.
        forecast: the number of untrained networks behind the forecast.

    >>> entry = AtlasEntry(name="Small CNN", network="cnn", shape="1x8x8", kind="CNN")
    >>> entry.slug
    'small-cnn'
    """

    name: Annotated[Text, Field(min_length=1)]
    network: NetworkSpec
    shape: Text
    kind: Text
    published: Text = ""
    reduced: Text = ""
    networks: int = Field(default=NETWORKS, ge=FOLDS, le=100_000)
    batch: int | None = Field(default=None, ge=2, le=4_096)
    forecast: int = Field(default=FORECAST, ge=8, le=1_024)

    @field_validator("shape")
    @classmethod
    def _is_a_shape(cls, shape: str) -> str:
        parse_shape(shape)
        return shape

    @property
    def slug(self) -> str:
        """Its name in files."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")

    def identity(self) -> str:
        """A digest of everything that decides what is measured, with the content of its files.

        The number of networks behind the forecast is left out: a row states it, and where another
        number is asked for only the forecast is made again.
        """
        about = {"network": self.network.digest(), "shape": self.shape, "networks": self.networks}
        return json_digest(about | ({} if self.batch is None else {"batch": self.batch}))


class Atlas(BaseModel, frozen=True, extra="forbid"):
    """All entries; their names differ."""

    network: Annotated[tuple[AtlasEntry, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_differ(self) -> "Atlas":
        slugs = [entry.slug for entry in self.network]
        twice = sorted({slug for slug in slugs if slugs.count(slug) > 1 or not slug})
        if twice:
            raise ValueError(f"names must differ in letters or digits, got {twice[0]!r} twice")
        return self


def named(entries: Sequence[AtlasEntry], only: Sequence[str]) -> list[AtlasEntry]:
    """The entries with these names; all of them where no name is given.

    Raises:
        InputError: for a name that no entry has.
    """
    known = {entry.name: entry for entry in entries}
    for name in only:
        if name not in known:
            raise InputError(
                f"no architecture {name!r} in this atlas{expected_one_of(name, known)}"
            )
    return [known[name] for name in only] or list(entries)


def load_atlas(path: str | Path) -> tuple[AtlasEntry, ...]:
    """The entries of an atlas.

    Raises:
        InputError: if the file is not there, is not TOML, or does not describe an atlas.
    """
    text = toml_as_json(path, "an atlas")
    try:
        return Atlas.model_validate_json(text).network
    except ValidationError as error:
        first = error.errors()[0]
        where = " ".join(str(p + 1) if isinstance(p, int) else p for p in first["loc"])
        raise InputError(f"{path}: {where or 'atlas'}: {first['msg']}") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
