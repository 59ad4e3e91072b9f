"""Geometries whose truth is known: sample second moments, or a closed form."""

import numpy as np

from sads.directions import FOLDS
from sads.geometry import Geometry
from sads.geometry.geometry import exact_geometry
from sads.geometry.plan import Plan
from sads.geometry.running_sums import State
from sads.inspection.readout import Sampled
from sads.inspection.readout_base import ReadOut


def plan_of(readout: ReadOut, **fields) -> Plan:
    values = {
        "network": "synthetic",
        "fingerprint": "0",
        "shape": readout.shape,
        "schedule": "linear",
        "steps": 1000,
        "probe": "zero",
        "estimator": "naive",
        "weighting": "score",
        "timesteps": (0, 1000),
        "seed": 0,
        "batch": 1,
        "readout": readout,
        "scale": 1.0,
        "precision": None,
        "symmetries": (),
        "versions": {},
    }
    return Plan.model_validate(values | fields)


def sampled(factor: np.ndarray, counts: int | np.ndarray, rng: np.random.Generator, **fields):
    """Twelve folds of outer products of N(0, factor)."""
    counts = np.broadcast_to(counts, FOLDS).astype(np.int64)
    values, vectors = np.linalg.eigh(factor)
    root = vectors * np.sqrt(np.maximum(values, 0))
    draws = [rng.standard_normal((n, len(factor))) @ root.T for n in counts]
    readout = fields.pop("readout", Sampled((1, 1, len(factor))))
    state = State.of(np.stack([x.T @ x for x in draws]), counts)
    return Geometry(plan_of(readout, **fields), state)


def exact(factor: np.ndarray, **fields) -> Geometry:
    readout = fields.pop("readout", Sampled((1, 1, len(factor))))
    return exact_geometry(plan_of(readout, estimator="closed form", **fields), factor, 0.0)


def spread_factor(size: int, rng: np.random.Generator, ratio: float = 100.0) -> np.ndarray:
    """Eigenvalues in a geometric row, in a random basis."""
    basis = np.linalg.qr(rng.standard_normal((size, size)))[0]
    return basis * np.geomspace(ratio, 1, size) @ basis.T
