"""The geometry of five kinds of architecture, untrained: figures and rows of docs/architectures.md.

    python benchmarks/architectures.py [NETWORK...]

The same as `sads geometry NETWORK --tolerance 0.03 --out DIR` and `sads directions DIR --png FILE`,
and beside them how high the frequencies of the first and the last band are, and the ratio of the
eigenvalues under `--probe gaussian:1 --tolerance 0.05`.
"""

import json
import sys
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import sads
from sads.directions import Band, Spectrum
from sads.geometry import Gaussian
from sads.presentation.geometry import summary, title
from sads.presentation.mosaics import pictured
from sads.presentation.plots.directions import dft_energy, draw_directions, save_figure

WORK, TABLE = Path("runs/architectures"), Path("docs/results/architectures.json")
TOLERANCE, GAUSSIAN_TOLERANCE = 0.03, 0.05
NETWORKS = {
    "mlp": "mlp",
    "cnn": "cnn",
    "vit": "vit",
    "vit,positions=sincos": "vit-sincos",
    "ssm": "ssm",
    "iddpm-1d": "iddpm-1d",
}


def frequency(spectrum: Spectrum, band: Band) -> float:
    """Mean frequency of a band: 0 is constant, 1 alternates at every step, all directions 0.5.

    The energy-weighted |f| over its directions, averaged over axes; the same in every basis of it.
    """
    found = []
    for index in range(band.first, band.last + 1):
        energy = dft_energy(pictured(spectrum.vector(index), spectrum.structure))
        axes = [2 * np.abs(np.fft.fftshift(np.fft.fftfreq(size))) for size in energy.shape]
        mean = sum(np.meshgrid(*axes, indexing="ij")) / len(axes)
        found.append(float((energy * mean).sum() / energy.sum()))
    return float(np.mean(found))


def row(name: str) -> dict:
    """Estimate, draw and describe one architecture."""
    place = NETWORKS[name]
    geometry = sads.estimate_geometry(name, tolerance=TOLERANCE, out=WORK / place)
    spectrum = geometry.spectrum()
    picture = Path(f"docs/images/{place}.png")
    save_figure(draw_directions(spectrum, title(geometry)), picture)
    said = summary(geometry)
    noisy = sads.estimate_geometry(
        name, probe=Gaussian(1.0), tolerance=GAUSSIAN_TOLERANCE, out=WORK / f"{place}-gaussian"
    )
    noisy_spectrum = noisy.spectrum()
    bands = [band for band in spectrum.bands if not band.null]
    frequencies = [frequency(spectrum, band) for band in bands]
    kept = ("shape", "networks", "seconds", "whitened_error", "structure", "precision")
    kept += ("precision_check", "symmetries", "vetoed_symmetries")
    kept += ("resolution_median", "resolution_worst")
    return {
        "network": name,
        **{key: said[key] for key in kept},
        "ratio": float(spectrum.eigenvalues[0] / spectrum.eigenvalues[bands[-1].last]),
        "null": sum(band.width for band in spectrum.bands if band.null),
        "bands": len(bands),
        "first_band_share": float(
            spectrum.eigenvalues[: bands[0].last + 1].sum() / spectrum.eigenvalues.sum()
        ),
        "first_band_frequency": frequencies[0],
        "last_band_frequency": frequencies[-1],
        "frequency_rank_correlation": (
            float(np.asarray(spearmanr(range(len(bands)), frequencies))[0])
            if len(bands) > 2
            else None
        ),
        "gaussian": {
            "networks": noisy.networks,
            "seconds": noisy.state.seconds,
            "whitened_error": noisy.whitened_error,
            "null": sum(band.width for band in noisy_spectrum.bands if band.null),
            "bands": len(noisy_spectrum.bands),
            "ratio": float(noisy_spectrum.eigenvalues[0] / noisy_spectrum.eigenvalues[-1]),
        },
    }


def main() -> None:
    known = json.loads(TABLE.read_text()) if TABLE.exists() else []
    rows = {entry["network"]: entry for entry in known}
    for name in sys.argv[1:] or NETWORKS:
        rows[name] = row(name)
        print(json.dumps(rows[name]), flush=True)
        text = json.dumps([rows[n] for n in NETWORKS if n in rows], indent=1)
        TABLE.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
