"""What plain float32 does to geometries.

    python benchmarks/precision.py

At x = 0 the first level of a U-Net is spatially constant. The usual GroupNorm leaves the rounding
of its mean there and multiplies it by 1/sqrt(eps) = 316, once for every norm of the level. Our norm
subtracts a constant first. The same networks are evaluated in four ways: with the usual norm in
float32, one after the other as a plain loop does and stacked under `vmap`, whose group norm is
computed in other steps; with our norm in float32, one after the other; and with the usual norm in
float64, which is the truth for all.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch
from torch import nn
from torch.func import functional_call

import sads
from sads.directions.whitening import whitened_distance
from sads.geometry import Geometry
from sads.geometry.ensemble import DrawnEnsemble, Readings
from sads.geometry.precision import Precision
from sads.geometry.source import Source
from sads.networks.layers import GroupNorm
from sads.storage.files import atomic_write, write_bytes

TABLE = Path("docs/results/precision.json")
NETWORKS = {"iddpm-16": 1_536, "iddpm-mnist": 768, "iddpm-cifar10": 768}
LEADING = (1, 10, 100)


@torch.inference_mode()
def one_by_one(ensemble: DrawnEnsemble, stacked, x, t, dtype) -> Readings:
    """What `DrawnEnsemble.read` gives, in a loop over the networks."""
    member = ensemble._member(dtype)
    found = [
        functional_call(
            member.module,
            {name: p[i].to(dtype) for name, p in stacked.items()} | member.constants,
            (x[i : i + 1].to(dtype), torch.from_numpy(t[i : i + 1])),
        )[0]
        for i in range(len(t))
    ]
    return Readings(torch.cat(found), None)


@contextmanager
def arithmetic(features: str, *, usual_norm: bool, stacked: bool) -> Iterator[None]:
    """Fix the precision of the features, the norm, and how networks are evaluated."""
    forced = Precision(features, None, 0.0, 0)
    norm = nn.GroupNorm.forward if usual_norm else GroupNorm.forward
    read = DrawnEnsemble.read if stacked else one_by_one
    with (
        patch.object(Source, "precision", lambda *_: forced),
        patch.object(GroupNorm, "forward", norm),
        patch.object(DrawnEnsemble, "read", read),
    ):
        yield


def estimate(
    name: str, features: str = "float32", *, usual_norm: bool = True, stacked: bool = False
) -> Geometry:
    """The geometry of the same networks in one arithmetic."""
    with arithmetic(features, usual_norm=usual_norm, stacked=stacked):
        return sads.estimate_geometry(name, networks=NETWORKS[name])


def compared(found: Geometry, truth: Geometry) -> dict:
    """Distance of two geometries and overlap of their leading eigenvectors."""
    own, true = (np.linalg.eigh(g.factor)[1][:, ::-1] for g in (found, truth))
    return {
        "whitened_distance": whitened_distance(found.factor, truth.factor, truth.factor),
        "trace_ratio": found.trace / truth.trace,
        "overlap": {k: float(np.square(own[:, :k].T @ true[:, :k]).sum() / k) for k in LEADING},
    }


def row(name: str) -> dict:
    """One network in four arithmetics."""
    truth = estimate(name, "float64")
    ways = {
        "usual norm, one by one": estimate(name),
        "usual norm, stacked": estimate(name, stacked=True),
        "our norm, one by one": estimate(name, usual_norm=False),
    }
    return {
        "network": name,
        "networks": NETWORKS[name],
        "whitened_error": truth.whitened_error,
        **{way: compared(found, truth) for way, found in ways.items()},
    }


def main() -> None:
    """Measure, print and keep."""
    rows = []
    for name in NETWORKS:
        rows.append(row(name))
        print(json.dumps(rows[-1], indent=1), flush=True)
    atomic_write(TABLE, write_bytes((json.dumps(rows, indent=1) + "\n").encode()))


if __name__ == "__main__":
    main()
