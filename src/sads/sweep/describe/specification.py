"""A sweep in TOML: grids over networks, directions or data, rotations and seeds.

protocol = "laptop"                       # or a table: preset = "laptop", iterations = 200
seeds = [0, 1, 2]
keep = "network"                          # or "samples": artefacts without parameters

[[grid]]                                  # one or more; each is a product of its lists
networks = ["iddpm-16"]
geometry = "runs/iddpm-16"                # for `indices`, `bands`, `min` and `max`
indices = [0, 31, 63]                     # eigenvectors; "all" for every one
bands = [0, 5]                            # or directions drawn from bands; "all" for every one

[[grid]]
networks = ["iddpm-16", "mlp"]
shape = "1x16x16"
bases = ["dct", "haar"]                   # elements of bases at the indices
indices = "all"

[[grid]]
networks = ["iddpm-16"]
data = ["digits,size=16"]                 # any data
geometry = "runs/iddpm-16"
rotations = ["identity", "min", "max"]    # or "random", "whiten", or a directory
ranks = [16]                              # leading data directions that they move
"""

import math
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, field_validator

from ...errors import InputError
from ...foundation.versions import DRAWS
from ...specs import DataSpec, NetworkSpec, parse_shape
from ...storage.toml import toml_as_json
from .protocol import Protocol, protocol_fields
from .trial import Trial

Seeds = Annotated[tuple[int, ...], Field(min_length=1)]
Names = Annotated[tuple[str, ...], Field(min_length=1)]
Networks = Annotated[tuple[NetworkSpec, ...], Field(min_length=1)]
Datasets = Annotated[tuple[DataSpec, ...], Field(min_length=1)]
Places = Annotated[tuple[int, ...], Field(min_length=1)] | Literal["all"]


class Grid(BaseModel, frozen=True, extra="forbid"):
    """A product of lists; see the module's example."""

    networks: Networks
    shape: str | None = None
    data: Datasets | None = None
    bases: Names | None = None
    indices: Places | None = None
    bands: Places | None = None
    geometry: str | None = None
    rotations: Names = ("identity",)
    ranks: Seeds | None = None
    seeds: Seeds | None = None
    protocol: Protocol | None = None

    @field_validator("protocol", mode="before")
    @classmethod
    def _preset(cls, value: Any) -> Any:
        return None if value is None else protocol_fields(value)


class Specification(BaseModel, frozen=True, extra="forbid"):
    """A whole sweep.

    Attributes:
        protocol: how every trial is trained, sampled and measured: a name, or numbers.
        seeds: the seeds of the trials.
        keep: what is kept of each trial besides its numbers.
        grid: the networks, data and rotations, as products of lists.

    >>> import sads
    >>> grid = {"networks": ["mlp", "cnn"], "shape": "1x4x4", "data": ["rank-one:dct:3"]}
    >>> sweep = sads.Specification.model_validate(
    ...     {"protocol": "smoke", "seeds": [0, 1], "grid": [grid]}
    ... )
    >>> len(sweep.trials())
    4
    """

    protocol: Protocol
    seeds: Seeds
    keep: Literal["network", "samples"] = "network"
    grid: Annotated[tuple[Grid, ...], Field(min_length=1)]

    @field_validator("protocol", mode="before")
    @classmethod
    def _preset(cls, value: Any) -> Any:
        return protocol_fields(value)

    def trials(self) -> list[Trial]:
        """All trials, each once; those of the first seed come first.

        Raises:
            InputError: for a grid that does not make sense.
        """
        trials = [trial for grid in self.grid for trial in self._expand(grid)]
        order = {seed: i for i, seed in enumerate(dict.fromkeys(t.seed for t in trials))}
        return sorted(dict.fromkeys(trials), key=lambda trial: order[trial.seed])

    def _expand(self, grid: Grid) -> Iterator[Trial]:
        for seed in grid.seeds or self.seeds:
            for network in grid.networks:
                for data in _data(grid, network):
                    for rotation in _rotations(grid):
                        try:
                            yield Trial(
                                network=network,
                                data=data,
                                shape=grid.shape,
                                protocol=grid.protocol or self.protocol,
                                seed=seed,
                                draws=DRAWS,
                                **rotation,
                            )
                        except ValidationError as error:
                            raise InputError(_first(error, Trial)) from error


def _data(grid: Grid, network: NetworkSpec) -> Iterator[DataSpec]:
    """The data of a grid for one of its networks."""
    if grid.data is not None:
        if grid.bases or grid.indices or grid.bands:
            raise InputError("a grid has either data, or indices or bands: write two grids")
        yield from grid.data
        return
    if grid.bases is not None:
        if grid.indices is None or grid.bands is not None:
            raise InputError("a grid with bases needs indices, and has no bands")
        for basis in grid.bases:
            for index in _numbers(grid.indices, lambda: _size(grid, network)):
                yield _rank_one(basis, index)
        return
    if grid.geometry is None or (grid.indices is None and grid.bands is None):
        raise InputError(
            "a grid needs data, or bases with indices, or a geometry with indices or bands"
        )
    source = f"geometry={grid.geometry}"
    for index in _numbers(grid.indices, lambda: _size(grid, network)):
        yield _rank_one(source, index)
    for band in _numbers(grid.bands, lambda: _bands(grid.geometry)):
        yield _rank_one(source, f"band={band}")


def _rank_one(source: str, place: int | str) -> DataSpec:
    return DataSpec(kind="rank-one", where=f"{source}:{place}")


def _numbers(places: Any, count: Any) -> Any:
    if places is None:
        return ()
    return range(count()) if places == "all" else places


def _size(grid: Grid, network: NetworkSpec) -> int:
    """The number of values in a sample, which `indices = "all"` needs."""
    return math.prod(network.family(parse_shape(grid.shape) if grid.shape else None).shape)


def _bands(geometry: str | None) -> int:
    from .position import spectrum_of

    return len(spectrum_of(str(geometry))[1].bands)


def _rotations(grid: Grid) -> Iterator[dict[str, Any]]:
    for rotation in grid.rotations:
        if rotation in ("min", "max") and grid.geometry is None:
            raise InputError(f"the rotation {rotation} needs a geometry in its grid")
        extreme = {"geometry": grid.geometry} if rotation in ("min", "max") else {}
        ranks = grid.ranks if rotation in ("min", "max", "random") and grid.ranks else (None,)
        for rank in ranks:
            yield {"rotation": rotation, "rank": rank, **extreme}


def load_specification(path: str | Path) -> Specification:
    """Read a specification; unknown keys are refused.

    Raises:
        InputError: if the file is not there, is not TOML, or does not describe a sweep.
    """
    text = toml_as_json(path, "a sweep")
    try:
        return Specification.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise InputError(f"{path}: {_first(error, Specification)}") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _first(error: ValidationError, model: type[BaseModel]) -> str:
    """The first error, with its place and what to do; a misspelt key comes before a missing one."""
    first = min(error.errors(), key=lambda complaint: complaint["type"] != "extra_forbidden")
    place = [f"{p + 1}" if isinstance(p, int) else p for p in first["loc"]]
    where, key = " ".join(place), str(first["loc"][-1]) if first["loc"] else ""
    if first["type"] == "extra_forbidden":
        nested = {"grid": Grid, "protocol": Protocol}
        known = next((nested[p] for p in reversed(place[:-1]) if p in nested), model).model_fields
        close = get_close_matches(key, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
        return f"unknown key {key!r} ({where}): {hint}"
    if first["type"] == "too_short":
        return f"{where}: expected at least one, got an empty list"
    message = first["msg"].removeprefix("Value error, ")
    got = "" if first["type"] in ("missing", "value_error") else f", got {first['input']!r}"
    return f"{where}: {message}{got}" if where else message
