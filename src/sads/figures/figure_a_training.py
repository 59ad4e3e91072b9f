"""Figure A, beyond the paper: the geometry through training, and the order of learning.

Many seeds are trained on isotropic data N(0, I), where no direction is harder than another: the
optimal noise prediction is eps*(x_t) = sqrt(1 - abar_t) x_t. So whatever order appears is the
architecture's. At each checkpoint two things are measured.

*Drift.* The geometry over seeds at x = 0 is E[F F^T] of the trained networks. The cosines of the
principal angles between the spans of its first k eigenvectors, at the start and at a checkpoint,
say how much of it persists.

*Order of learning.* The error along an eigenvector u_i of the geometry at initialisation,
E[(u_i^T (eps - eps*))^2] / E[(1 - abar_t)], averaged over checkpoints on a logarithmic scale.
Conjecture 1 predicts that it grows with the eigenvalue.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import nn

from ..api import network, train
from ..data import Dataset
from ..diffusion import initial_network
from ..geometry import load_geometry
from ..networks import ScoreFamily
from .data import Data, Request, Rows
from .style import BLUE, CYCLE, ORANGE, PAGE, sheet
from .trials import geometry_directory, remembered
from .verdict import Finding, bootstrap_interval, positive, rank_correlation

TITLE = "geometry through training and the order of learning"
PARTS: tuple[str, ...] = ()
POWERLESS = ("smoke",)
FOLDER = "figure-A"
LEADING = 4  # k
SAMPLES = 4_096
EVALUATED = 256


@dataclass(frozen=True)
class Settings:
    """Network, shape, networks of the initial geometry, seeds, checkpoints and batch size."""

    network: str
    shape: str
    networks: int
    seeds: int
    checkpoints: tuple[int, ...]
    batch: int


_SMALL = "iddpm-16,channels=8,groups=8,mults=1x1"
SCALES: Mapping[str, Settings] = MappingProxyType(
    {
        "smoke": Settings(_SMALL, "1x8x8", 1_536, 6, (5, 10, 20), 16),
        "laptop": Settings("iddpm-16", "1x8x8", 8_192, 16, (20, 50, 100, 200, 400), 64),
        "paper": Settings("iddpm-16", "1x16x16", 100_000, 64, (100, 500, 2_000), 1_000),
    }
)


def data(request: Request) -> Data:
    """Errors along all eigenvectors and outputs at zero, for each seed and checkpoint."""
    settings = SCALES[request.scale]
    place = geometry_directory(
        request, FOLDER, settings.network, shape=settings.shape, networks=settings.networks
    )
    spectrum = load_geometry(place).spectrum()
    found = []
    for seed in range(settings.seeds):
        request.say(f"figure A: seed {seed + 1} of {settings.seeds}")
        out = request.work(FOLDER, f"seed-{seed}")
        found.append(
            remembered(
                out / "measured.json",
                lambda seed=seed, out=out: measure(settings, seed, spectrum.eigenvectors, out),
            )
        )
    steps = (0, *settings.checkpoints)
    rows = [
        _row("error", step, seed=seed, index=i, value=value, eigenvalue=spectrum.eigenvalues[i])
        for seed, own in enumerate(found)
        for step, errors in zip(steps, own["errors"], strict=True)
        for i, value in enumerate(errors)
    ]
    outputs = np.array([own["outputs"] for own in found])  # (seeds, steps, D)
    for number, step in enumerate(steps):
        cosines = principal_cosines(outputs[:, 0], outputs[:, number])
        rows += [_row("cosine", step, index=i, value=c) for i, c in enumerate(cosines)]
    protocol = {
        "network": settings.network,
        "shape": settings.shape,
        "data": "N(0, I)",
        "seeds": settings.seeds,
        "checkpoints": list(steps),
        "batch_size": settings.batch,
        "learning_rate": 1e-3,
        "networks of the initial geometry": settings.networks,
        "leading eigenvectors": LEADING,
    }
    return Data(rows, protocol)


def _row(quantity: str, step: int, *, index: int, value: float, **fields: Any) -> dict[str, Any]:
    empty = {"quantity": quantity, "step": step, "seed": None, "index": index, "eigenvalue": None}
    return (
        empty
        | {"value": float(value)}
        | {k: float(v) if k == "eigenvalue" else v for k, v in fields.items()}
    )


def measure(
    settings: Settings, seed: int, vectors: Float[np.ndarray, "D D"], out: Path
) -> dict[str, Any]:
    """Train one network in stages; errors along the eigenvectors and the output at zero."""
    family = network(settings.network, shape=settings.shape)
    samples = np.random.default_rng(seed).standard_normal((SAMPLES, *family.shape))
    whole = Dataset(samples.astype(np.float32), "N(0, I)")
    members: list[nn.Module] = [initial_network(family, seed).eval()]
    errors, outputs = [], []
    for step in (0, *settings.checkpoints):
        if step:
            run = train(
                family,
                whole,
                iterations=step,
                batch_size=settings.batch,
                learning_rate=1e-3,
                seed=seed,
                out=out / "training",
            )
            members = [run.network]
        errors.append(along(family, members[0], vectors).tolist())
        with torch.no_grad():
            zero = members[0](torch.zeros(1, *family.shape), torch.zeros(1))
        outputs.append(zero.flatten().double().tolist())
    return {"errors": errors, "outputs": outputs}


def along(
    family: ScoreFamily, member: nn.Module, vectors: Float[np.ndarray, "D D"]
) -> Float[np.ndarray, " D"]:
    """The error along each eigenvector, relative to that of predicting no noise."""
    generator = np.random.default_rng(0)
    t = generator.integers(family.schedule.steps, size=EVALUATED)
    noisy = generator.standard_normal((EVALUATED, *family.shape))  # sqrt(abar) x + sqrt(1-abar) eps
    noise_level = np.sqrt(1 - family.schedule.abar[t])
    with torch.no_grad():
        found = member(torch.from_numpy(noisy).float(), torch.from_numpy(t)).double().numpy()
    target = noise_level[:, None] * noisy.reshape(EVALUATED, -1)
    wrong = (found.reshape(EVALUATED, -1) - target) @ vectors
    return np.square(wrong).mean(axis=0) / np.square(noise_level).mean()


def principal_cosines(
    a: Float[np.ndarray, "N D"], b: Float[np.ndarray, "N D"]
) -> Float[np.ndarray, " k"]:
    """Cosines between the spans of the first eigenvectors of the second moments."""
    u, v = (np.linalg.svd(x, full_matrices=False)[2][:LEADING] for x in (a, b))
    return np.linalg.svd(u @ v.T, compute_uv=False)


def learning(rows: Rows) -> tuple[Float[np.ndarray, "S D"], Float[np.ndarray, " D"]]:
    """The mean log error after the start by seed and direction, and the eigenvalues."""
    values: dict[tuple[int, int], list[float]] = {}
    eigenvalues: dict[int, float] = {}
    for row in rows:
        if row["quantity"] == "error":
            eigenvalues[row["index"]] = row["eigenvalue"]
            if row["step"] > 0:
                values.setdefault((row["seed"], row["index"]), []).append(np.log(row["value"]))
    seeds, indices = sorted({s for s, _ in values}), sorted(eigenvalues)
    table = np.array([[np.mean(values[s, i]) for i in indices] for s in seeds])
    return table, np.array([eigenvalues[i] for i in indices])


def draw(data: Data) -> Figure:
    """Errors by checkpoint, predicted against realised order, and the drift."""
    figure = sheet(PAGE, 2.4)
    left, middle, right = figure.subplots(1, 3)
    table, eigenvalues = learning(data.rows)
    steps = sorted({row["step"] for row in data.rows})
    for number, step in enumerate(steps):
        errors: dict[int, list[float]] = {}
        for row in data.rows:
            if row["quantity"] == "error" and row["step"] == step:
                errors.setdefault(row["index"], []).append(row["value"])
        means = [np.mean(errors[i]) for i in sorted(errors)]
        colour = CYCLE[number % len(CYCLE)]
        left.semilogy(range(1, len(means) + 1), means, color=colour, label=f"step {step}")
    left.set_xlabel("index of the eigenvector (1: largest)")
    left.set_ylabel("error along it")
    left.legend(fontsize=6)
    middle.loglog(eigenvalues, np.exp(table.mean(axis=0)), ".", color=BLUE, markersize=3)
    middle.set_xlabel("eigenvalue at initialisation")
    middle.set_ylabel("error, mean over training")
    for i in range(LEADING):
        own = [r["value"] for r in data.rows if r["quantity"] == "cosine" and r["index"] == i]
        right.plot(steps, own, marker="o", markersize=3, color=ORANGE, alpha=1 - 0.2 * i)
    right.set_ylim(0, 1.03)
    right.set_xlabel("step of the training")
    right.set_ylabel(f"principal cosines of the\nfirst {LEADING} eigenvectors with step 0")
    return figure


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """Whether small eigenvalues are learned first, and whether the geometry persists."""
    table, eigenvalues = learning(rows)

    def correlation(seeds: np.ndarray) -> float:
        return rank_correlation(eigenvalues, table[seeds].mean(axis=0))

    enough = len(table) > 1
    interval = bootstrap_interval(len(table), correlation, resamples=1_000) if enough else None
    last = max(row["step"] for row in rows)
    cosines = [r["value"] for r in rows if r["quantity"] == "cosine" and r["step"] == last]
    mean = float(np.mean(cosines)) if cosines else None
    return (
        Finding(
            "directions of small eigenvalues are learned first",
            "Spearman correlation of eigenvalue and error during training",
            correlation(np.arange(len(table))),
            interval,
            positive(interval),
        ),
        Finding(
            "the leading directions of the geometry persist through training",
            f"mean principal cosine of the first {LEADING} eigenvectors, to be above 0.9",
            mean,
            None,
            None if mean is None else mean > 0.9,
        ),
    )
