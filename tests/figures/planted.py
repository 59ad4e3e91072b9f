"""Rows with a known answer, for each figure: an effect of a given size, with some noise.

`effect` is 1 where the paper's claim is true, -1 where the opposite is. `seeds` is how much data
there is; 1 is too little to decide anything.
"""

import itertools
from collections.abc import Callable

import numpy as np

Rows = list[dict]
NOISE = 0.05


def _noise(generator: np.random.Generator) -> float:
    return float(NOISE * generator.standard_normal())


def sphere(effect: float, seeds: int) -> Rows:
    rng = np.random.default_rng(0)
    means = {"first": 5 + effect, "last": 5.0}
    return [
        {"part": part, "seed": seed, "sw2": mean + _noise(rng)}
        for part, mean in means.items()
        for seed in range(seeds)
    ]


def bases(effect: float, seeds: int) -> Rows:
    """Low frequencies worse, localised bases better, the border best; all by `effect`."""
    rng = np.random.default_rng(0)
    side = 4
    rows = []
    for basis in ("canonical", "dct", "dst", "hadamard", "haar"):
        for row, column, seed in itertools.product(range(side), range(side), range(seeds)):
            value = 10 - effect * np.hypot(row, column)
            if basis in ("canonical", "haar"):
                value = 10 - 20 * effect
            if basis == "canonical" and 0 < row < side - 1 and 0 < column < side - 1:
                value += 2 * effect
            place = {"basis": basis, "row": row, "column": column, "seed": seed}
            rows.append(place | {"msw2": float(value) + _noise(rng)})
    return rows


def impulse(effect: float, seeds: int) -> Rows:
    rng = np.random.default_rng(0)
    right = effect > 0
    small, large = 1e-12, 0.5
    return [
        {
            "resampling": name,
            "seed": seed,
            "asymmetry": (large if (name == "nearest") == right else small)
            * float(np.exp(_noise(rng))),
        }
        for name in ("nearest", "area")
        for seed in range(seeds)
    ]


def theorem(effect: float, seeds: int) -> Rows:
    rng = np.random.default_rng(0)
    rows = []
    for i, eigenvalue in enumerate((8.0, 5.0, 3.0, 2.0, 1.0)):

        def add(quantity, value, theory=None, i=i, eigenvalue=eigenvalue):
            about = {"direction": i + 1, "eigenvalue": eigenvalue, "quantity": quantity}
            rows.append(about | {"step": None, "value": value, "theory": theory})

        add("contraction", 0.98 if effect > 0 else 0.981, 0.98)
        add("covariance trace", 12 * eigenvalue * (1 if effect > 0 else 1.05), 12 * eigenvalue)
        add("lemma 1 relative error", 0.001 if effect > 0 else 0.1, 0.0)
        for _ in range(seeds):
            add("settled sgd error", 1 + effect * 0.1 * eigenvalue + 0.1 * _noise(rng))
    return rows


def contours(effect: float, seeds: int) -> Rows:
    rows = []
    for angle in range(0, 180, 10):
        chance = 0.2 - 0.1 * effect * np.cos(np.radians(2 * angle))
        error = 0.01 if seeds > 1 else 1.0
        bound = chance + 0.1 * effect
        rows.append(
            {"angle": angle, "probability": chance, "probability_error": error, "bound": bound}
        )
    return rows


def eigenvectors(effect: float, seeds: int) -> Rows:
    rng = np.random.default_rng(0)
    blank = dict.fromkeys(("network", "shape", "rotation", "geometry", "rank", "spectrum"))
    return [
        blank
        | {
            "part": "nearest",
            "status": "done",
            "protocol": {},
            "data": f"rank-one:geometry=g:{index}",
            "seed": seed,
            "band_first": index,
            "msw2": 10 - effect * place + _noise(rng),
        }
        for place, index in enumerate((0, 31, 63, 95, 127, 159, 191, 223, 255))
        if seeds > 1 or place < 3
        for seed in range(seeds)
    ]


def rotations(effect: float, seeds: int) -> Rows:
    rng = np.random.default_rng(0)
    means = {"min": 5.0, "identity": 5 + effect, "max": 5 + effect}
    return [
        {
            "part": "mnist",
            "rotation": name,
            "seed": seed,
            "sw2": mean + _noise(rng),
            "msw2": mean + _noise(rng),
            "alpha": 1.0,
            "alpha_relative": 1.0,
        }
        for name, mean in means.items()
        for seed in range(seeds)
    ]


def forward_probe(effect: float, seeds: int) -> Rows:
    rng = np.random.default_rng(0)
    rows = []
    for i, j in itertools.product(range(seeds), repeat=2):
        value = 0.5 + (0.2 * effect if i == j else 0) + 0.1 * _noise(rng)
        rows.append({"quantity": "share", "image": i, "probe": j, "index": None, "value": value})
    for j, index in itertools.product(range(seeds), range(8)):
        value = effect * index + _noise(rng)
        rows.append(
            {"quantity": "frequency", "image": None, "probe": j, "index": index, "value": value}
        )
    return rows


def probe_sensitivity(effect: float, seeds: int) -> Rows:
    rng = np.random.default_rng(0)
    return [
        {
            "network": "iddpm-16",
            "first": i,
            "second": j,
            "index": d,
            "similarity": (0.97 if effect > 0 else 0.3) + 0.1 * _noise(rng),
            "probe_share": None,
        }
        for i, j in itertools.combinations(range(max(2, seeds)), 2)
        for d in range(8)
    ]


def training(effect: float, seeds: int) -> Rows:
    """Small eigenvalues are learned first, and energies keep their order."""
    rng = np.random.default_rng(0)
    rows = []
    for step, seed, index in itertools.product((0, 10), range(seeds), range(8)):
        values = {
            "eigenvalue": 8.0 - index,
            "error": 1.0,
            # What is there at the start does not count.
            "learned": (-effect if step == 0 else 0.05 * effect) * index + 0.1 * _noise(rng),
            "energy": float(np.exp(-0.2 * effect * index + _noise(rng))),
        }
        rows.append({"step": step, "seed": seed, "index": index, "cosine": None} | values)
    empty = dict.fromkeys(("seed", "eigenvalue", "error", "learned", "energy"))
    for step, index in itertools.product((0, 10), range(4)):
        rows.append(empty | {"step": step, "index": index, "cosine": 0.9 - 0.1 * index})
    return rows


def classifier(effect: float, seeds: int) -> Rows:
    rng = np.random.default_rng(0)
    return [
        {
            "use": use,
            "index": index,
            "eigenvalue": 9.0 - index,
            "seed": seed,
            "value": sign * effect * (9 - index) + _noise(rng),
            "accuracy": None,
        }
        for use, sign in (("score", 1), ("classifier", -1))
        for index in range(9 if seeds > 1 else 2)
        for seed in range(seeds)
    ]


def regularisation(effect: float, seeds: int) -> Rows:
    """A gap in every cell, which little data and decay narrow."""
    rng = np.random.default_rng(0)
    return [
        {
            "train": train,
            "decay": decay,
            "index": index,
            "seed": seed,
            "sw2": 5 + (0 if index else effect * (train // 64 - decay / 2)) + _noise(rng),
        }
        for train, decay, index in itertools.product((64, 640), (0.0, 1.0), (0, 63))
        for seed in range(seeds)
    ]


PLANTED: dict[str, Callable[[float, int], Rows]] = {
    "1": sphere,
    "2": bases,
    "3": impulse,
    "4": theorem,
    "5": contours,
    "6": eigenvectors,
    "7": rotations,
    "8": rotations,
    "9": forward_probe,
    "10": rotations,
    "11": probe_sensitivity,
    "A": training,
    "B": classifier,
    "C": rotations,
    "D": regularisation,
}
