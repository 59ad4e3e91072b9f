"""How similar the eigenbases of G and of the tangent kernel K are, for every preset.

    python benchmarks/tangent.py [--tangents N] [NETWORK...]

Rows of `docs/results/tangent-kernel.json`; those that are there are not made again. All presets on
images are looked at on 8x8, with their own number of channels, at x = 0 and at x ~ N(0, I). G is of
1,024 networks or more with its last layer integrated, K of N with eight products each (192 unless
given), and once more of N others.

Eigenvalues of G repeat, once a channel behind a convolution and once an entry of a patch behind a
transformer; a single eigenvector of such a group means nothing. So the window of the windowed
similarity (`sads.directions.similarity`) has as many places on either side as a group has members.

| field      | what it is                                                                         |
|------------|------------------------------------------------------------------------------------|
| `first`    | energy of K's first group of eigenvectors in G's first group                       |
| `leading`  | mean windowed similarity of the first eight groups                                 |
| `all`      | of all eigenvectors                                                                |
| `ceiling`  | of all eigenvectors of K with those of the other networks: what noise leaves        |
| `baseline` | of unrelated bases                                                                 |
| `order`    | Spearman's correlation of u^T K u with the eigenvalue over G's eigenvectors u      |
"""

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import sads
from sads.directions.similarity import similarity_baseline, windowed_similarity
from sads.errors import SadsError
from sads.geometry import Geometry
from sads.networks.presets import PRESETS
from sads.statistics.ranks import rank_correlation
from sads.storage.files import atomic_write, write_bytes

TABLE = Path(__file__).resolve().parents[1] / "docs" / "results" / "tangent-kernel.json"
PROBES = ("zero", "gaussian:1")
OUTPUTS = 1_024  # networks behind G
LEADING = 8  # groups


def small_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Images of 8x8; signals and vectors as they are."""
    return (shape[0], 8, 8) if len(shape) == 3 else shape


def row(name: str, probe: str, tangents: int) -> dict[str, Any]:
    """G and K of one preset."""
    started, shape = time.process_time(), small_shape(PRESETS[name].shape)
    g = sads.estimate_geometry(name, shape=shape, probe=probe, networks=OUTPUTS)
    first, second = (
        sads.estimate_geometry(
            name, shape=shape, probe=probe, of="tangent", networks=tangents, seed=seed
        )
        for seed in (0, 1)
    )
    return {
        "network": name,
        "shape": "x".join(map(str, shape)),
        "probe": probe,
        "networks": tangents,
        **compared(g, first, second),
        "error": rounded(first.whitened_error),
        "seconds": round(time.process_time() - started, 1),
    }


def compared(g: Geometry, first: Geometry, second: Geometry) -> dict[str, Any]:
    """The fields of the table above; None where G has no order."""
    spectrum = g.spectrum()
    group, size = g.structure.copies, g.structure.size
    if g.structure.rows == 1:
        return dict.fromkeys(("first", "leading", "all", "ceiling", "baseline", "order")) | {
            "group": size
        }
    u, v, w = (one.spectrum().eigenvectors.astype(float) for one in (g, first, second))
    half = min(group, (size - 1) // 2)
    similar = windowed_similarity(u, v, half_width=half)
    along = np.einsum("ij,ij->j", u, np.asarray(first.matvec(u.T)).T)
    return {
        "group": group,
        "first": rounded(float(((u[:, :group].T @ v[:, :group]) ** 2).sum() / group)),
        "leading": rounded(float(similar[: LEADING * group].mean())),
        "all": rounded(float(similar.mean())),
        "ceiling": rounded(float(windowed_similarity(w, v, half_width=half).mean())),
        "baseline": rounded(similarity_baseline(size, half_width=half)),
        "order": rounded(rank_correlation(along, spectrum.eigenvalues)),
    }


def rounded(value: float | None) -> float | None:
    """Three digits; None where there is no number."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.3g}")


def main() -> None:
    torch.set_num_threads(1)
    rows = json.loads(TABLE.read_text()) if TABLE.exists() else []
    done = {(r["network"], r["probe"]) for r in rows}
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("networks", nargs="*", default=list(PRESETS))
    parser.add_argument("--tangents", type=int, default=192, metavar="N")
    arguments = parser.parse_args()
    for name in arguments.networks:
        for probe in PROBES:
            if (name, probe) in done:
                continue
            try:
                rows.append(row(name, probe, arguments.tangents))
            except SadsError as error:  # a linear network has no geometry at zero
                rows.append({"network": name, "probe": probe, "reason": str(error)})
            print(rows[-1], flush=True)
            atomic_write(TABLE, write_bytes((json.dumps(rows, indent=1) + "\n").encode()))


if __name__ == "__main__":
    main()
