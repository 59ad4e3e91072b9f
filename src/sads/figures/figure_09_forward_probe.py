"""Figure 9: the geometry along the forward process of one image adapts to that image.

The probe is x_t = sqrt(abar_t) x + sqrt(1 - abar_t) eps for one image x. Adaptation is measured
across images: with P_j the projection on the first k eigenvectors of the geometry probed at image
j, and x_i image i without its mean,

    e_ij = |P_j x_i|^2 / |x_i|^2,

the eigenvectors adapt if images lie more in their own geometry than in those of others: if the mean
of e_ii - e_ij over j is positive. Harmonic structure means that the mean frequency of an
eigenvector's DFT energy grows as its eigenvalue falls.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from ..data import read_digits
from ..geometry import Forward, estimate_geometry
from ..presentation.plots.directions import dft_energy
from ..specs.coercion import as_family
from ..statistics.ranks import rank_correlation
from .data import Data, Experiment, Request, Rows
from .style import PAGE, bare, sheet, show
from .trials import SMALL_UNET
from .verdict import Finding

SHOWN = 7  # eigenvectors of the first two images
LEADING = 8  # k
HARMONICS = 32  # eigenvectors whose frequencies are looked at


@dataclass(frozen=True)
class Settings:
    """Network, size of the digits, how many, and networks of each geometry."""

    network: str
    side: int
    images: int
    networks: int


SCALES: Mapping[str, Settings] = {
    "smoke": Settings(SMALL_UNET, 8, 3, 192),
    "laptop": Settings("iddpm-16", 16, 6, 3_072),
    "paper": Settings("iddpm-16", 16, 10, 100_000),
}


def data(request: Request) -> Data:
    """Shares e_ij, and eigenvalue and frequency of the leading eigenvectors of each geometry."""
    settings = SCALES[request.scale]
    shape = (1, settings.side, settings.side)
    images = read_digits(settings.side)[: settings.images]
    rows: list[dict[str, Any]] = []
    pictures: dict[str, np.ndarray] = {"images": images[:, 0]}
    for j in range(len(images)):
        request.say(f"figure 9: geometry at image {j + 1} of {len(images)}")
        geometry = estimate_geometry(
            as_family(settings.network, shape=shape),
            probe=Forward(images[j : j + 1]),
            networks=settings.networks,
            out=request.work("figure-09", f"image-{j}"),
        )
        values, vectors = np.linalg.eigh(geometry.matrix())
        values, vectors = values[::-1], vectors[:, ::-1]
        for i, image in enumerate(images):
            share = _share(image.reshape(-1), vectors[:, :LEADING])
            rows.append(_row("share", image=i, probe=j, value=share))
        for index in range(HARMONICS):
            own = frequency(vectors[:, index].reshape(shape[1:]))
            rows.append(
                _row("frequency", probe=j, index=index, value=own, eigenvalue=values[index])
            )
        pictures[f"vectors-{j}"] = vectors[:, :SHOWN].T.reshape(-1, *shape[1:]).copy()
    protocol = {
        "network": settings.network,
        "data": f"the first {settings.images} embedded digits, {settings.side}x{settings.side}",
        "networks": settings.networks,
        "leading eigenvectors": LEADING,
    }
    return Data(rows, protocol, pictures)


def _row(quantity: str, *, probe: int, value: float, **fields: Any) -> dict[str, Any]:
    empty = {"quantity": quantity, "probe": probe, "image": None, "index": None}
    return empty | {"eigenvalue": None, "value": float(value)} | fields


def _share(image: Float[np.ndarray, " D"], vectors: Float[np.ndarray, "D k"]) -> float:
    centred = image - image.mean()
    return float(np.square(vectors.T @ centred).sum() / np.square(centred).sum())


def frequency(image: Float[np.ndarray, "H W"]) -> float:
    """Mean distance from the zero frequency, weighted by the DFT energy, in cycles a pixel."""
    energy = dft_energy(image)
    axes = [np.fft.fftshift(np.fft.fftfreq(n)) for n in image.shape]
    radius = np.hypot(*np.meshgrid(*axes, indexing="ij"))
    return float((energy * radius).sum() / energy.sum())


def draw(data: Data) -> Figure:
    """Two images with the first eigenvectors of their geometries."""
    figure = sheet(PAGE, 2.4)
    axes = np.asarray(figure.subplots(2, SHOWN + 1))
    for j in range(2):
        axes[j, 0].imshow(data.pictures["images"][j], cmap="gray", vmin=-1, vmax=1)
        axes[j, 0].set_title("image $x$" if j == 0 else "", fontsize=7)
        bare(axes[j, 0])
        values = [r["eigenvalue"] for r in data.rows if r["index"] is not None and r["probe"] == j]
        for index in range(SHOWN):
            place = axes[j, index + 1]
            show(place, data.pictures[f"vectors-{j}"][index])
            place.set_title(rf"$\lambda_{index + 1}={values[index]:.3g}$", fontsize=7)
    return figure


def adaptation(rows: Rows) -> list[float]:
    """e_ii minus the mean of e_ij over the other geometries, for each image."""
    shares = {(r["image"], r["probe"]): r["value"] for r in rows if r["quantity"] == "share"}
    images = sorted({i for i, _ in shares})
    return [
        shares[i, i] - float(np.mean([shares[i, j] for j in images if j != i]))
        for i in images
        if len(images) > 1
    ]


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """Images lie in their own eigenvectors, and these are harmonic."""
    curves: dict[int, list[float]] = {}
    for row in rows:
        if row["quantity"] == "frequency":
            curves.setdefault(row["probe"], []).append(row["value"])
    orders = [rank_correlation(np.arange(len(c)), np.array(c)) for c in curves.values()]
    return (
        Finding.of_mean(
            "the leading eigenvectors adapt to the image that the geometry is probed with",
            f"share of an image in its own first {LEADING} eigenvectors minus that in others'",
            adaptation(rows),
        ),
        Finding.of_mean(
            "frequencies increase as eigenvalues decrease",
            f"Spearman correlation of index and frequency over the first {HARMONICS} eigenvectors",
            orders,
        ),
    )


FIGURE_09 = Experiment(
    "geometry probed along the forward process of an image",
    SCALES,
    data,
    draw,
    verdict,
    trials=False,
)
