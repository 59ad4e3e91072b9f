"""Trainings on data under W_min, the identity and W_max, which figures 7, 8, 10 and C share.

A dataset is read once, averaged over blocks to the size of the scale, and kept beside the trials
under a name that depends on its source. A sixth is held out; the paper's 10,000 training samples
are drawn from the rest by the seed of the training.

alpha is that of the training data under each rotation: as they are, and the extremes of theorem 2.
"""

import hashlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from jaxtyping import Float

from ..alignment import align
from ..errors import ArtefactError, InputError
from ..geometry import load_geometry
from ..specs import DataSpec
from ..specs.sources import as_dataset
from ..statistics.means import mean_interval, paired_differences
from ..storage.files import atomic_write, write_bytes
from ..storage.sealed import seal_json, unseal_json
from ..sweep import Specification
from .data import Data, Request, Rows
from .trials import geometry_directory, planned, run_parts, samples_of
from .verdict import Finding, positive

FOLDER = "rotations"
ROTATIONS = ("min", "identity", "max")
LABELS = {"min": r"$W_\min$", "identity": "$I$", "max": r"$W_\max$"}
TITLES = {"mnist": "MNIST", "faces": "faces", "cifar": "CIFAR-10", "digits": "digits"}
MOST = 60_000  # samples of a dataset: with a sixth held out, 10,000 to compare with
TRAIN = 10_000  # as in the paper
SHOWN = 16  # samples of a picture
LEAST_FILLED = 0.8  # of the side of a picture; the rest is background
STAND_IN = "digits"


@dataclass(frozen=True)
class Set:
    """A dataset at one scale: network, shape, networks of the geometry, training, seeds."""

    network: str
    shape: tuple[int, ...]
    networks: int
    protocol: str | Mapping[str, Any]
    seeds: tuple[int, ...]


def _laptop(iterations: int, batch: int, samples: int) -> dict[str, Any]:
    own = {"iterations": iterations, "batch_size": batch, "learning_rate": 1e-3}
    return {"preset": "laptop", **own, "steps": 50, "samples": samples, "train": TRAIN}


_SMALL = "iddpm-16,channels=8,groups=8,mults=1x1"
_THREE, _FIVE = (0, 1, 2), (0, 1, 2, 3, 4)
_SMOKE = {
    name: Set(_SMALL, shape, 384, "smoke", (0, 1))
    for name, shape in (
        (STAND_IN, (1, 8, 8)),
        ("mnist", (1, 8, 8)),
        ("faces", (1, 8, 8)),
        ("cifar", (3, 8, 8)),
    )
}
# The paper's U-Net does not see the timestep. On MNIST it learns all the same; faces and CIFAR-10
# it had not begun to learn in these numbers of steps. With groups of four channels it sees it.
_TIMED = "iddpm-16,groups=8"
_LAPTOP = {
    "mnist": Set("iddpm-16", (1, 16, 16), 8_192, _laptop(1_000, 64, 500), _THREE),
    "faces": Set(_TIMED, (1, 28, 28), 4_096, _laptop(400, 32, 300), _THREE),
    "cifar": Set(_TIMED, (3, 16, 16), 8_192, _laptop(400, 64, 500), _THREE),
}
_FULL = {"preset": "paper", "train": TRAIN}
_PAPER = {
    "mnist": Set("iddpm-mnist", (1, 28, 28), 100_000, _FULL, _FIVE),
    "faces": Set("iddpm-celeba", (1, 56, 56), 20_000, _FULL, _FIVE),
    "cifar": Set("iddpm-cifar10", (3, 32, 32), 100_000, _FULL, _FIVE),
}
SETS: Mapping[str, Mapping[str, Set]] = MappingProxyType(
    {"smoke": _SMOKE, "laptop": _LAPTOP, "paper": _PAPER}
)
_WHERE = {
    "mnist": "MNIST: pass --mnist DIR with its four IDX files (https://yann.lecun.com/exdb/mnist)",
    "faces": "pictures of faces: pass --faces folder:DIR,grey,crop,size=56 (CelebA-HQ: "
    "https://github.com/tkarras/progressive_growing_of_gans)",
    "cifar": "CIFAR-10: pass --cifar npz:FILE:images,scale or hf:uoft-cs/cifar10 "
    "(https://www.cs.toronto.edu/~kriz/cifar.html)",
}


def wanted(request: Request, names: tuple[str, ...]) -> tuple[str, ...]:
    """The datasets of a figure; at smoke scale the embedded digits if none is named.

    Raises:
        InputError: if a dataset is missing, with where to get it and the option that names it.
    """
    chosen = request.parts(names)
    known = tuple(name for name in chosen if name in request.sources)
    if request.scale == "smoke":
        return known or (STAND_IN,)
    for name in chosen:
        if name not in known:
            others = "; --only leaves parts out" if len(names) > 1 else ""
            raise InputError(f"missing data: {_WHERE[name]}{others}")
    return known


def rotated_data(request: Request, names: tuple[str, ...]) -> Data:
    """One row for each training, with alpha; the first samples of each rotation as pictures."""
    sets = SETS[request.scale]
    files = {
        name: prepared(request, name, request.sources.get(name, "digits"), sets[name].shape)
        for name in wanted(request, names)
    }
    found = trained(request, files, sets)
    # By content: where the files are on this machine says nothing to a reader.
    sources = {name: DataSpec.parse(request.sources.get(name, "digits")).digest() for name in files}
    return replace(found, protocol={**found.protocol, "sources": sources})


def trained(request: Request, files: Mapping[str, Path], sets: Mapping[str, Set]) -> Data:
    """The same for datasets that are there already."""
    chosen = tuple(files)
    plans, alphas = {}, {}
    for name, place in files.items():
        plans[name], alphas[name] = plan(request, name, place, sets[name])
    found = run_parts(request, FOLDER, plans)
    rows = [row | alphas[name][row["rotation"]] for name in chosen for row in found[name]]
    pictures = {}
    for row in rows:
        samples = samples_of(request, FOLDER, row) if row["seed"] == 0 else None
        if samples is not None:
            pictures[f"samples-{row['part']}-{row['rotation']}"] = samples[:SHOWN]
    return Data(rows, protocol(sets, chosen, rows), pictures)


def protocol(sets: Mapping[str, Set], chosen: tuple[str, ...], rows: Rows) -> dict[str, Any]:
    """How the rows were made."""
    note = {"note": "the embedded digits stand in for the paper's data"}
    return {
        "datasets": {
            name: {
                "network": sets[name].network,
                "shape": list(sets[name].shape),
                "networks of the geometry": sets[name].networks,
                "training": next(r["protocol"] for r in rows if r["part"] == name),
                "seeds": list(sets[name].seeds),
            }
            for name in chosen
        }
    } | (note if STAND_IN in chosen else {})


def prepared(request: Request, name: str, source: str, shape: tuple[int, ...]) -> Path:
    """The file of a dataset at the size of the scale, written if it is not there yet."""
    content = hashlib.sha256(DataSpec.parse(source).digest().encode()).hexdigest()[:8]
    path = request.work("data", f"{name}-{content}.npy")

    def made() -> np.ndarray:
        request.say(f"reading {source}")
        return shrunk(as_dataset(source).samples[:MOST], shape)

    keep_array(path, made)
    return path


def keep_array(path: Path, make: Callable[[], np.ndarray]) -> None:
    """Write an array as it is, unless its file is there and as it was written."""
    note = path.with_suffix(".json")  # NumPy's format has no room for a checksum
    with suppress(ArtefactError, OSError):
        if unseal_json(note.read_bytes(), note).get("sha256") == _file_digest(path):
            return
    samples = make()

    def save(place: Path) -> None:
        with place.open("wb") as stream:
            np.save(stream, samples, allow_pickle=False)

    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write(path, save)
    atomic_write(note, write_bytes(seal_json({"sha256": _file_digest(path)})))


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def shrunk(
    samples: Float[np.ndarray, "N C H W"], shape: tuple[int, ...]
) -> Float[np.ndarray, "N C h w"]:
    """Images averaged over the smallest blocks that fit, with a little background around.

    >>> shrunk(np.ones((1, 1, 28, 28), dtype=np.float32), (1, 16, 16))[0, 0, 8, :3].tolist()
    [-1.0, 1.0, 1.0]
    """
    wanted, got = ("x".join(map(str, size)) for size in (shape, samples.shape[1:]))
    channels, *sides = samples.shape[1:]
    if samples.ndim != 4 or channels != shape[0] or len({*sides}) > 1 or sides[0] < shape[1]:
        raise InputError(f"expected square images of at least {wanted}, got {got}")
    block = next(
        b for b in range(1, sides[0] + 1) if sides[0] % b == 0 and sides[0] // b <= shape[1]
    )
    small = sides[0] // block
    if small < LEAST_FILLED * shape[1]:
        raise InputError(
            f"images of {got} cannot be averaged over blocks to {wanted}: resize them to a "
            f"multiple of {shape[1]} first (size={2 * shape[1]} for a folder)"
        )
    means = samples.reshape(-1, channels, small, block, small, block).mean(axis=(3, 5))
    before = (shape[1] - small) // 2
    around = (before, shape[1] - small - before)
    return np.pad(means, ((0, 0), (0, 0), around, around), constant_values=-1.0)


def plan(
    request: Request, name: str, place: Path, chosen: Set
) -> tuple[Specification, dict[str, dict[str, float]]]:
    """The trials of one dataset, and alpha under each rotation."""
    shape = "x".join(map(str, chosen.shape))
    source = f"npy:{place.as_posix()}"
    geometry = geometry_directory(
        request, f"{FOLDER}-{name}", chosen.network, shape=shape, networks=chosen.networks
    )
    grid = {
        "networks": [chosen.network],
        "shape": shape,
        "data": [source],
        "geometry": geometry,
        "rotations": list(ROTATIONS),
    }
    known = load_geometry(geometry)
    found = align(known, as_dataset(source, shape=known.shape, split="train"))
    values = {"min": found.alpha_min, "identity": found.alpha, "max": found.alpha_max}
    unit = found.relative / found.alpha
    return planned(chosen.protocol, chosen.seeds, grid), {
        rotation: {"alpha": value, "alpha_relative": value * unit}
        for rotation, value in values.items()
    }


def means(rows: Rows, part: str, rotation: str, metric: str) -> dict[int, float]:
    """A metric of one rotation by seed."""
    return {
        row["seed"]: row[metric]
        for row in rows
        if row["part"] == part and row["rotation"] == rotation
    }


def lowest_is_best(rows: Rows, metric: str) -> tuple[Finding, ...]:
    """For each dataset: whether W_min has a smaller metric than the identity, and than W_max."""
    found = []
    for part in dict.fromkeys(row["part"] for row in rows):
        least = means(rows, part, "min", metric)
        for rotation in ("identity", "max"):
            other = means(rows, part, rotation, metric)
            value, interval = mean_interval(paired_differences(other, least))
            other_name = "data as they are" if rotation == "identity" else "the largest"
            found.append(
                Finding(
                    f"{part}: the least alignment is modelled better than {other_name}",
                    f"{metric.upper()} of {rotation} minus that of W_min, paired over seeds",
                    value,
                    interval,
                    positive(interval),
                )
            )
    return tuple(found)
