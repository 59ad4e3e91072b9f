"""Geometries with a factor that the test chooses."""

from functools import cache

import numpy as np

import sads
from sads.geometry import Geometry
from sads.geometry.geometry import exact_geometry
from sads.geometry.plan import Plan
from sads.geometry.running_sums import State
from sads.inspection.readout import Convolution, DenseLayer, Sampled, TokenWise

READOUTS = {
    "dense": lambda shape: Sampled(shape),
    "channels": lambda shape: Convolution(shape, kernel=(1, 1)),
    "tokens": lambda shape: TokenWise(shape, patch=2),
    "isotropic": lambda shape: DenseLayer(shape),
}


@cache
def _plan() -> Plan:
    return sads.estimate_geometry("dit-2").plan


def geometry_with(factor: np.ndarray, shape: tuple[int, ...], kind: str = "dense") -> Geometry:
    """An exact geometry with a given factor."""
    plan = _plan()
    changed = {"readout": READOUTS[kind](shape), "shape": shape, "symmetries": (), "scale": 1.0}
    return exact_geometry(plan.model_copy(update=changed), factor, 0.0)


def sampled_with(
    folds: np.ndarray, shape: tuple[int, ...], kind: str = "dense", count: int = 1000
) -> Geometry:
    """A sampled geometry with given independent estimates of its factor."""
    plan = geometry_with(folds[0], shape, kind).plan
    plan = plan.model_copy(update={"estimator": "integrated"})
    counts = np.full(len(folds), count, dtype=np.int64)
    return Geometry(plan, State.of(folds * count, counts, finished=True))


def random_psd(size: int, seed: int, decay: float = 3.0) -> np.ndarray:
    """A random positive definite matrix with a wide spectrum."""
    rng = np.random.default_rng(seed)
    vectors = np.linalg.qr(rng.standard_normal((size, size)))[0]
    values = np.exp(-decay * rng.random(size))
    return (vectors * values) @ vectors.T
