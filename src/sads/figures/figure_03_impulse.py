"""Figure 3: the response of a symmetrically initialised U-Net to a centred impulse.

Every 3x3 kernel is replaced by its mean over the eight symmetries of the square, so nothing in
the parameters prefers a side. A response z to an input with all these symmetries then has them
too, unless the layers themselves break them. Its asymmetry is

    a = |z - S z| / |z|,      S z the mean of z over the eight symmetries,

0 for a symmetric response and 1 for one without a symmetric part. The impulse is the four pixels in
the middle: on a grid of even size a single pixel is not centred.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor, nn

from ..specs.coercion import as_family
from ..statistics.means import mean_interval
from .data import Data, Experiment, Request, Rows
from .style import BLUE, COLUMN, ORANGE, sheet, show
from .verdict import Finding

NETWORK = "iddpm-16,resampling="
RESAMPLINGS = ("nearest", "area")
TIMESTEP = 500  # the network does not depend on it
ROUNDING = 1e-6  # float64, amplified by norms of nearly constant features
SCALES = {"smoke": 4, "laptop": 200, "paper": 1000}  # initialisations


def square_symmetries(x: Float[Tensor, "... H W"]) -> list[Tensor]:
    """The eight images of a square under rotations and reflections."""
    turned = [torch.rot90(x, k, (-2, -1)) for k in range(4)]
    return [*turned, *(y.transpose(-2, -1) for y in turned)]


def symmetrise(member: nn.Module) -> None:
    """Replace every 3x3 kernel by its mean over the symmetries of the square."""
    with torch.no_grad():
        for layer in member.modules():
            if isinstance(layer, nn.Conv2d) and layer.kernel_size == (3, 3):
                layer.weight.copy_(torch.stack(square_symmetries(layer.weight)).mean(dim=0))


def impulse(shape: tuple[int, ...]) -> Float[Tensor, "1 C H W"]:
    """An image that is one in the four central pixels and zero elsewhere."""
    x = torch.zeros(1, *shape, dtype=torch.float64)
    row, column = shape[-2] // 2, shape[-1] // 2
    x[..., row - 1 : row + 1, column - 1 : column + 1] = 1.0
    return x


def asymmetry(z: Float[Tensor, "*C H W"]) -> float:
    """|z - S z| / |z|."""
    mean = torch.stack(square_symmetries(z)).mean(dim=0)
    return float((z - mean).norm() / z.norm())


def data(request: Request) -> Data:
    """The asymmetry of each initialisation, and the responses of the first."""
    seeds = SCALES[request.scale]
    rows: list[dict[str, Any]] = []
    pictures: dict[str, np.ndarray] = {}
    for resampling in RESAMPLINGS:
        family = as_family(f"{NETWORK}{resampling}")
        x = impulse(family.shape)
        pictures.setdefault("impulse", x[0, 0].numpy())
        for seed in range(seeds):
            member = family.member(seed).double()
            symmetrise(member)
            with torch.no_grad():
                z = member(x, torch.full((1,), TIMESTEP))[0]
            rows.append({"resampling": resampling, "seed": seed, "asymmetry": asymmetry(z)})
            pictures.setdefault(resampling, z[0].numpy())
    protocol = {"network": "iddpm-16", "seeds": seeds, "precision": "float64"}
    return Data(rows, protocol, pictures)


def draw(data: Data) -> Figure:
    """The impulse, one response of each kind, and the asymmetry of all."""
    figure = sheet(COLUMN, 3.1)
    upper, lower = np.asarray(figure.subfigures(2, 1, height_ratios=[1, 0.85]))
    axes = upper.subplots(1, 3)
    for place, name in zip(axes, ("impulse", *RESAMPLINGS), strict=True):
        show(place, data.pictures[name])
        place.set_title("input" if name == "impulse" else f"{name}, seed 0")
    chart = lower.subplots()
    for level, (name, colour) in enumerate(zip(RESAMPLINGS, (ORANGE, BLUE), strict=True)):
        values = np.maximum(_values(data.rows, name), 1e-17)
        spread = np.linspace(-0.3, 0.3, len(values)) if len(values) > 1 else [0.0]
        chart.semilogx(values, level + np.asarray(spread), ".", color=colour, markersize=2.5)
    chart.set_yticks([0, 1], RESAMPLINGS)
    chart.set_ylim(-0.6, 1.6)
    chart.set_xlim(1e-17, 2)
    chart.axvline(ROUNDING, color="0.6", linewidth=0.8, linestyle=":")
    chart.annotate("rounding", (ROUNDING, 0.5), fontsize=6, rotation=90, va="center", ha="right")
    chart.set_xlabel("asymmetry $\\|z-Sz\\|\\,/\\,\\|z\\|$ (one dot a network)")
    return figure


def _values(rows: Rows, resampling: str) -> Float[np.ndarray, " n"]:
    return np.array([row["asymmetry"] for row in rows if row["resampling"] == resampling])


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """The verdict: `nearest` breaks the symmetry and `area` keeps it."""
    nearest, area = (_values(rows, name) for name in RESAMPLINGS)
    mean, interval = mean_interval(nearest.tolist())
    return (
        Finding.above(
            "nearest resampling makes the response to a symmetric input asymmetric",
            "mean asymmetry with nearest resampling",
            mean,
            interval,
            bound=ROUNDING,
        ),
        Finding.below(
            "area resampling does not",
            "largest asymmetry with area resampling",
            float(area.max()) if len(area) else None,
            bound=ROUNDING,
        ),
    )


FIGURE_03 = Experiment(
    "impulse responses, nearest against area resampling",
    SCALES,
    data,
    draw,
    verdict,
    powerless=(),
    trials=False,
)
