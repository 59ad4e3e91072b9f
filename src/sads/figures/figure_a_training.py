"""Figure A, beyond the paper: the geometry through training, and the order of learning.

Many seeds are trained on isotropic data N(0, I), where no direction is harder than another: the
optimal noise prediction is eps*(x_t) = sqrt(1 - abar_t) x_t. So whatever order appears is the
architecture's. At each checkpoint two things are measured.

*Geometry over seeds.* At x = 0 the optimum is zero, so the output of a network there is its
error, and G_s = E[F F^T] over seeds and noise levels after s steps is the geometry of the trained
networks. Its energy along an eigenvector u_i of the geometry at initialisation, u_i^T G_s u_i,
needs no eigenvectors of the few seeds' G_s and says whether the order of the directions persists.
The cosines of the principal angles between the first k eigenvectors of G_s and those of the
geometry at initialisation show the drift. With few seeds they are below one even for s = 0, which
is therefore what the later ones are to be compared with.

*Order of learning.* The error along u_i, E[(u_i^T (eps - eps*))^2] / E[(u_i^T eps*)^2], starts at
one plus the network's own initial output, which is larger along large eigenvalues and has nothing
to do with learning. So the verdict is about how much of the target has been learned,

    g_i = E[(u_i^T eps) (u_i^T eps*)] / E[(u_i^T eps*)^2],

zero on average over untrained networks and one for the optimum, averaged over checkpoints.
Conjecture 1 predicts that it grows first along small eigenvalues.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import nn

from ..diffusion import settings_for, train
from ..networks import ScoreFamily
from ..randomness import stream
from ..specs.coercion import as_family
from ..statistics.ranks import rank_correlation
from ..statistics.resampling import bootstrap_interval
from ..storage.cached_results import remembered
from ..storage.files import checksum
from .data import Data, Experiment, Request, Rows
from .style import BLUE, CYCLE, ORANGE, PAGE, sheet
from .trials import SMALL_UNET, Examined, Setup
from .verdict import Finding

FOLDER = "figure-A"
LEADING = 4  # k
SAMPLES = 4_096
EVALUATED = 512
RATE = 1e-3
FIELDS = ("eigenvalue", "error", "learned", "energy", "cosine")
LEVELS = 8  # noise levels at which the output at zero is taken


@dataclass(frozen=True)
class Settings(Examined):
    """The network and its initial geometry, seeds, checkpoints and batch size."""

    seeds: int
    checkpoints: tuple[int, ...]
    batch: int


SCALES: Mapping[str, Settings] = {
    "smoke": Settings(SMALL_UNET, "1x8x8", 1_536, 6, (5, 10, 20), 16),
    "laptop": Settings("iddpm-16", "1x8x8", 8_192, 32, (10, 25, 50, 100, 200), 64),
    "paper": Settings("iddpm-16", "1x16x16", 100_000, 64, (100, 500, 2_000), 1_000),
}


def data(request: Request) -> Data:
    """Error, learned share and energy along the eigenvectors by seed and checkpoint; cosines."""
    settings = SCALES[request.scale]
    setup = Setup(settings.network, settings.shape, "smoke", (), settings.networks)
    spectrum = setup.geometry(request, FOLDER)[1].spectrum()
    vectors, steps = spectrum.eigenvectors, (0, *settings.checkpoints)
    measured = []
    for seed in range(settings.seeds):
        request.say(f"figure A: seed {seed + 1} of {settings.seeds}")
        measured.append(measure(settings, seed, vectors, request.work(FOLDER, f"seed-{seed}")))
    rows: list[dict[str, Any]] = []
    for number, step in enumerate(steps):
        stages = [own[number] for own in measured]
        outputs = np.array([stage["outputs"] for stage in stages])  # (seeds, levels, D)
        energies = np.square(outputs @ vectors).mean(axis=1)
        for seed, stage in enumerate(stages):
            columns = (spectrum.eigenvalues, stage["errors"], stage["shares"], energies[seed])
            for i, values in enumerate(zip(*columns, strict=True)):
                rows.append(_row(step, i, seed, **dict(zip(FIELDS, values, strict=False))))
        cosines = principal_cosines(outputs.reshape(-1, len(vectors)), vectors)
        rows += [_row(step, i, None, cosine=c) for i, c in enumerate(cosines)]
    protocol = {
        "network": settings.network,
        "shape": settings.shape,
        "data": "N(0, I)",
        "seeds": settings.seeds,
        "checkpoints": list(steps),
        "batch_size": settings.batch,
        "learning_rate": RATE,
        "networks of the initial geometry": settings.networks,
        "leading eigenvectors": LEADING,
    }
    return Data(rows, protocol)


def _row(step: int, index: int, seed: int | None, **values: float) -> dict[str, Any]:
    """One seed's direction, or one principal cosine of all seeds together."""
    known = {name: float(f"{value:.7g}") for name, value in values.items()}
    return {"step": step, "seed": seed, "index": index} | dict.fromkeys(FIELDS) | known


def measure(
    settings: Settings, seed: int, vectors: Float[np.ndarray, "D D"], out: Path
) -> list[dict[str, Any]]:
    """Train one network in stages; after each, errors along the eigenvectors and outputs at zero.

    A stage that was measured before is not trained again: the stored training is past it.
    """
    family = as_family(settings.network, shape=settings.shape)
    drawn = stream(seed, "white training data").standard_normal((SAMPLES, *family.shape))
    samples = drawn.astype(np.float32)

    def stage(step: int) -> dict[str, Any]:
        member = family.member(seed).eval()
        if step:
            protocol = settings_for(
                family, iterations=step, batch_size=settings.batch, learning_rate=RATE, seed=seed
            )
            member = train(family, samples, protocol, out=out / "training").network
        errors, shares = along(family, member, vectors, seed)
        outputs = outputs_at_zero(family, member)
        measured = {"errors": errors, "shares": shares, "outputs": outputs}
        return {name: values.tolist() for name, values in measured.items()}

    about = {"settings": asdict(settings), "evaluated": EVALUATED}
    about |= {"vectors": checksum({"vectors": vectors})}
    return [
        remembered(out / f"step-{step}.json", about, lambda step=step: stage(step))
        for step in (0, *settings.checkpoints)
    ]


def outputs_at_zero(family: ScoreFamily, member: nn.Module) -> Float[np.ndarray, "levels D"]:
    """The predicted noise at x = 0, at noise levels spread like the weights of definition 2."""
    share = np.cumsum(family.schedule.score_weights) / family.schedule.score_weights.sum()
    t = np.searchsorted(share, (np.arange(LEVELS) + 0.5) / LEVELS)
    with torch.no_grad():
        output = member(torch.zeros(LEVELS, *family.shape), torch.from_numpy(t))
    return output.flatten(1).double().numpy()


def along(
    family: ScoreFamily, member: nn.Module, vectors: Float[np.ndarray, "D D"], seed: int
) -> tuple[Float[np.ndarray, " D"], Float[np.ndarray, " D"]]:
    """The error along each eigenvector, relative to predicting no noise, and the learned share.

    Every seed has points of its own: their scatter belongs to the interval over seeds.
    """
    generator = stream(seed, "points of an evaluation")
    t = generator.integers(family.schedule.steps, size=EVALUATED)
    noisy = generator.standard_normal((EVALUATED, *family.shape))  # sqrt(abar) x + sqrt(1-abar) eps
    with torch.no_grad():
        output = member(torch.from_numpy(noisy).float(), torch.from_numpy(t)).double().numpy()
    noise_level = family.schedule.noise[t]
    target = noise_level[:, None] * noisy.reshape(EVALUATED, -1) @ vectors
    own = output.reshape(EVALUATED, -1) @ vectors
    scale = np.square(target).mean(axis=0)
    return np.square(own - target).mean(axis=0) / scale, (own * target).mean(axis=0) / scale


def principal_cosines(
    outputs: Float[np.ndarray, "N D"], vectors: Float[np.ndarray, "D D"]
) -> Float[np.ndarray, " k"]:
    """Cosines between the first eigenvectors of the outputs' second moment and those given."""
    own = np.linalg.svd(outputs, full_matrices=False)[2][:LEADING]
    return np.linalg.svd(own @ vectors[:, :LEADING], compute_uv=False)


def tabled(rows: Rows, field: str) -> Float[np.ndarray, "steps S D"]:
    """A quantity by checkpoint, seed and direction."""
    known = {(r["step"], r["seed"], r["index"]): r[field] for r in rows if r["seed"] is not None}
    axes = [sorted({key[i] for key in known}) for i in range(3)]
    return np.array([[[known[a, b, c] for c in axes[2]] for b in axes[1]] for a in axes[0]])


def learned(rows: Rows) -> Float[np.ndarray, "S D"]:
    """The learned share after the start, mean over checkpoints."""
    return tabled(rows, "learned")[1:].mean(axis=0)


def draw(data: Data) -> Figure:
    """Errors by checkpoint, predicted against realised order, and the drift."""
    figure = sheet(PAGE, 2.4)
    left, middle, right = figure.subplots(1, 3)
    steps = sorted({row["step"] for row in data.rows})
    errors, eigenvalues = tabled(data.rows, "error"), tabled(data.rows, "eigenvalue")[0, 0]
    for number, step in enumerate(steps):
        means = errors[number].mean(axis=0)
        colour = CYCLE[number % len(CYCLE)]
        left.semilogy(range(1, len(means) + 1), means, color=colour, label=f"step {step}")
    left.set_xlabel("index of the eigenvector (1: largest)")
    left.set_ylabel("error along it / no prediction")
    left.legend(fontsize=6)
    shares = learned(data.rows).mean(axis=0)
    middle.semilogx(eigenvalues, shares, ".", color=BLUE, markersize=3)
    middle.set_xlabel("eigenvalue at initialisation")
    middle.set_ylabel("learned share in training")
    for i in range(LEADING):
        own = [r["cosine"] for r in data.rows if r["seed"] is None and r["index"] == i]
        right.plot(steps, own, marker="o", markersize=3, color=ORANGE, alpha=1 - 0.2 * i)
    right.set_ylim(0, 1.03)
    right.set_xlabel("step of the training")
    right.set_ylabel(f"principal cosines with the\nfirst {LEADING} initial eigenvectors")
    return figure


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """Whether small eigenvalues are learned first, and whether the order of the geometry stays."""
    eigenvalues = tabled(rows, "eigenvalue")[0, 0]
    return (
        _follows(
            "directions of small eigenvalues are learned first",
            "Spearman correlation of eigenvalue and what is not learned yet",
            eigenvalues,
            1 - learned(rows),
        ),
        _follows(
            "the order of the directions in the geometry persists through training",
            "Spearman correlation of eigenvalue and energy at zero at the last checkpoint",
            eigenvalues,
            tabled(rows, "energy")[-1],
        ),
    )


def _follows(
    claim: str, statistic: str, x: Float[np.ndarray, " D"], table: Float[np.ndarray, "S D"]
) -> Finding:
    """Whether means over seeds follow x, with a bootstrap over seeds."""

    def correlation(seeds: np.ndarray) -> float:
        return rank_correlation(x, table[seeds].mean(axis=0))

    enough = len(table) > 1
    interval = bootstrap_interval(len(table), correlation, resamples=1_000) if enough else None
    return Finding.above(claim, statistic, correlation(np.arange(len(table))), interval)


FIGURE_A = Experiment(
    "geometry through training and the order of learning",
    SCALES,
    data,
    draw,
    verdict,
    trials=False,
)
