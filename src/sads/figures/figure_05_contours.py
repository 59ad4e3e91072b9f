"""Figure 5: why directions with small eigenvalues are easy, on a landscape in the plane.

Moving by tau v changes the log-density by about tau |v^T F|. Along the ridge (v parallel to the
"manifold") this is small, across it (v perpendicular) it is large. Over random networks F of a
family, Markov's inequality bounds how often the change is large (equation 4):

    P(|v^T F| >= eta) <= v^T G v / eta^2,      G = E[F F^T],

and the bound is least along the eigenvector of the smallest eigenvalue of G. The left panel is an
illustration; the right one is measured on our linear networks in the plane, with the exact
G = Var(Theta) |x|^2 Phi Phi^T of the bound.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure

from ..networks.linear import Linear
from ..specs.coercion import as_family
from .data import Data, Experiment, Request, Rows
from .style import BLUE, GREEN, ORANGE, PAGE, sheet
from .verdict import Finding

NETWORK, SHAPE = "linear,eigenvalues=4x1,rotation=3", (2,)
PROBE = (1.0, 1.0)
POINT = 0.6  # abscissa of the point on the ridge


@dataclass(frozen=True)
class Settings:
    """Random networks, and directions in half a turn."""

    networks: int
    angles: int


SCALES: Mapping[str, Settings] = {
    "smoke": Settings(500, 36),
    "laptop": Settings(5_000, 72),
    "paper": Settings(20_000, 72),
}


def landscape(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A log-density with a bent ridge y = x^2 / 3."""
    return -np.square(y - np.square(x) / 3) / 0.18 - np.square(x) / 8


def outputs(count: int) -> Float[np.ndarray, "n 2"]:
    """The output of random linear networks at the probe."""
    family = as_family(NETWORK, shape=SHAPE)
    x, t = torch.tensor([PROBE]), torch.zeros(1)
    with torch.no_grad():
        return torch.cat([family.member(seed)(x, t) for seed in range(count)]).numpy()


def exact() -> Float[np.ndarray, "2 2"]:
    """E[F F^T] of these outputs."""
    member = as_family(NETWORK, shape=SHAPE).member(0)
    if not isinstance(member, Linear):
        raise TypeError("figure 5 is about linear networks")
    phi = member.phi.numpy()
    variance = member.distributions()["head.weight"].variance
    return variance * float(np.square(PROBE).sum()) * phi @ phi.T


def data(request: Request) -> Data:
    """For each direction v: how often the change is large, and the bound."""
    settings = SCALES[request.scale]
    drawn, matrix = outputs(settings.networks).astype(float), exact()
    vectors = np.linalg.eigh(matrix)[1][:, ::-1]
    eta = 1.5 * float(np.sqrt(np.trace(matrix)))
    start = float(np.arctan2(vectors[1, 1], vectors[0, 1]))
    rows = []
    for step in range(settings.angles):
        angle = np.pi * step / settings.angles
        v = np.array([np.cos(start + angle), np.sin(start + angle)])
        chance = float((np.abs(drawn @ v) >= eta).mean())
        rows.append(
            {
                "angle": float(np.degrees(angle)),
                "probability": chance,
                "probability_error": float(np.sqrt(chance * (1 - chance) / len(drawn))),
                "bound": float(v @ matrix @ v) / eta**2,
            }
        )
    protocol = {"network": NETWORK, "networks": settings.networks, "eta": eta}
    return Data(rows, protocol)


def draw(data: Data) -> Figure:
    """The landscape with both directions, and the bound over all directions."""
    figure = sheet(PAGE, 2.6)
    left, right = figure.subplots(1, 2, width_ratios=[1, 1.15])
    x, y = np.meshgrid(np.linspace(-2.2, 2.2, 200), np.linspace(-1.1, 2.2, 160))
    levels = [-13, -9, -6, -4, -2.5, -1.5, -0.8, -0.3, 0]
    left.contourf(x, y, landscape(x, y), levels=levels, cmap="Greys", alpha=0.35)
    left.contour(x, y, landscape(x, y), levels, colors="0.5", linewidths=0.5, linestyles="-")
    slope = np.array([1.0, 2 * POINT / 3]) / np.hypot(1.0, 2 * POINT / 3)
    normal = np.array([-slope[1], slope[0]])
    base = np.array([POINT, POINT**2 / 3])
    for arrow, colour, name in ((slope, BLUE, r"v_\parallel"), (normal, ORANGE, r"v_\perp")):
        shape = {"arrowstyle": "-|>", "color": colour, "lw": 1.6}
        left.annotate("", base + 0.9 * arrow, base, arrowprops=shape)
        left.annotate(f"${name}$", base + 1.05 * arrow, color=colour, fontsize=10, ha="center")
    left.plot(*base, "o", color="black", markersize=3)
    left.set_aspect("equal")
    left.set_xlabel("first coordinate")
    left.set_ylabel("second coordinate")
    left.set_title(r"a landscape $\log p_{\theta,\sigma}$ (illustration)")
    angles = [row["angle"] for row in data.rows]
    right.plot(angles, [row["bound"] for row in data.rows], color=GREEN, label="Markov's bound")
    right.plot(
        angles, [row["probability"] for row in data.rows], color="black", label="random networks"
    )
    for place, colour, name in ((0, BLUE, r"$v_\parallel$"), (90, ORANGE, r"$v_\perp$")):
        right.axvline(place, color=colour, linewidth=1, linestyle="--")
        right.annotate(name, (place + 3, 0.03), xycoords=("data", "axes fraction"), color=colour)
    right.set_xlabel("angle from the smallest eigenvalue's direction, degrees")
    right.set_ylabel(r"probability of $|v^\top F|\geq\eta$")
    right.set_ylim(0, 0.45)
    right.set_xticks(range(0, 181, 30))
    right.legend(loc="upper center", ncols=2)
    return figure


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """The bound holds everywhere, and the change is rarest along the smallest eigenvalue."""
    slack = [row["bound"] - row["probability"] for row in rows]
    lowest = min(rows, key=lambda row: abs(row["angle"]))
    highest = min(rows, key=lambda row: abs(row["angle"] - 90))
    gap = highest["probability"] - lowest["probability"]
    half = 1.96 * float(np.hypot(highest["probability_error"], lowest["probability_error"]))
    return (
        Finding.above(
            "large changes are rarer along the direction of the smallest eigenvalue",
            "probability across minus probability along",
            gap,
            (gap - half, gap + half),
        ),
        Finding(
            "Markov's bound holds in every direction",
            "smallest difference between bound and probability",
            min(slack),
            None,
            bool(min(slack) >= 0),
        ),
    )


FIGURE_05 = Experiment(
    "parallel and perpendicular directions",
    SCALES,
    data,
    draw,
    verdict,
    powerless=(),
    trials=False,
)
