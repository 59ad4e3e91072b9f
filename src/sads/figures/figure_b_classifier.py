"""Figure B, beyond the paper: one backbone as classifier and as score network.

The paper leaves open why classifiers are said to prefer the *largest* eigenvalues (open question
1). Here both see the same directions u_i of one geometry.

*Score network*: rank-one data along u_i, SW2 of the samples, as in figure 6.

*Classifier*: x = y c u_i + w with y = ±1 and w white noise without a part along u_i, so that u_i
alone tells the classes apart. The backbone's features are averaged over positions and read by one
linear layer. In the end every direction is learned, so the preference is how soon: the mean loss
over a short training, each batch of which is new.
"""

import itertools
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor, nn

from ..directions import Spectrum
from ..foundation.versions import DRAWS
from ..networks.base import ScoreNetwork
from ..networks.isolation import seeded
from ..presentation.plots.directions import shown_indices
from ..randomness import stream, torch_stream
from ..specs.coercion import as_family
from ..statistics.means import paired_values
from ..statistics.ranks import bootstrapped, rank_correlation
from ..statistics.resampling import percentiles
from ..storage.cached_results import remembered
from ..storage.files import checksum
from ..sweep.correlation import LEAST_BANDS
from .data import Data, Experiment, Request, Rows
from .style import BLUE, ORANGE, PAGE, error_bars, sheet
from .trials import (
    FIVE,
    SHORT,
    SMALL_UNET,
    THREE,
    Examined,
    Protocol,
    Setup,
    index_of,
    run_parts,
)
from .verdict import Finding

FOLDER = "figure-B"
DISTANCE = 1.0  # c: half the distance between the classes, against noise of deviation 1
TESTED = 1_024


@dataclass(frozen=True)
class Settings(Examined):
    """The network and its geometry, directions, seeds and both trainings."""

    directions: int
    seeds: tuple[int, ...]
    protocol: Protocol
    steps: int
    batch: int


SCALES: Mapping[str, Settings] = {
    "smoke": Settings(SMALL_UNET, "1x8x8", 1_536, 4, (0,), "smoke", 10, 16),
    "laptop": Settings("iddpm-16", "1x8x8", 8_192, 9, THREE, SHORT, 150, 64),
    "paper": Settings("iddpm-16", "1x16x16", 100_000, 9, FIVE, "paper", 2_000, 1_000),
}


class Classifier(nn.Module):
    """Features of a score network, averaged over positions, and one logit."""

    def __init__(self, backbone: ScoreNetwork, width: int):
        super().__init__()
        self.backbone: ScoreNetwork = backbone
        self.read: nn.Linear = nn.Linear(width, 1)

    def forward(self, x: Float[Tensor, "N ..."]) -> Float[Tensor, " N"]:
        features = self.backbone.features(x, torch.zeros(len(x)))
        return self.read(features.flatten(2).mean(dim=2))[:, 0]


def classify(settings: Settings, v: Float[np.ndarray, " D"], seed: int) -> dict[str, Any]:
    """Mean loss of a short training to tell classes apart along v, and accuracy after it."""
    family = as_family(settings.network, shape=settings.shape)
    backbone = family.member(seed)
    if not isinstance(backbone, ScoreNetwork):
        raise TypeError("the backbone of figure B is one of our networks")
    generator = torch_stream(seed, "batches of a classifier")
    width = backbone.features(torch.zeros(1, *family.shape), torch.zeros(1)).shape[1]
    model = seeded(lambda: Classifier(backbone, width), seed, "a classifier's last layer").train()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    direction = torch.from_numpy(v).float()

    def draw_batch(count: int) -> tuple[Tensor, Tensor]:
        sign = torch.randint(0, 2, (count,), generator=generator) * 2.0 - 1
        noise = torch.randn(count, len(direction), generator=generator)
        noise = noise - (noise @ direction)[:, None] * direction
        x = noise + DISTANCE * sign[:, None] * direction
        return x.view(count, *family.shape), sign

    losses = []
    for _ in range(settings.steps):
        x, sign = draw_batch(settings.batch)
        loss = F.softplus(-sign * model(x)).mean()
        losses.append(loss.item())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        x, sign = draw_batch(TESTED)
        margin = sign * model.eval()(x)
    return {"loss": float(np.mean(losses)), "accuracy": (margin > 0).float().mean().item()}


def data(request: Request) -> Data:
    """A row for each direction and seed of either use."""
    settings = SCALES[request.scale]
    setup = Setup(
        settings.network, settings.shape, settings.protocol, settings.seeds, settings.networks
    )
    place, geometry = setup.geometry(request, FOLDER)
    spectrum = geometry.spectrum()
    indices = shown_indices(spectrum.structure.size, settings.directions)
    plan = setup.planned({"geometry": place, "indices": indices})
    trials = run_parts(request, FOLDER, {"score": plan})["score"]
    rows = [
        row | _about("score", spectrum, index_of(row), row["seed"], row["sw2"]) for row in trials
    ]
    empty = {key: {} if isinstance(value, dict) else None for key, value in trials[0].items()}
    empty |= {"protocol": dict.fromkeys(trials[0]["protocol"]), "draws": DRAWS}
    for seed, index in itertools.product(settings.seeds, indices):
        request.say(f"figure B: classifier, direction {index}, seed {seed}")
        vector = spectrum.vector(index)
        way = {"settings": asdict(settings), "vector": checksum({"v": vector}), "c": DISTANCE}
        result = remembered(
            request.work(FOLDER, "classifier", f"{index}-{seed}.json"),
            way,
            lambda vector=vector, seed=seed: classify(settings, vector, seed),
        )
        about = _about("classifier", spectrum, index, seed, result["loss"], result["accuracy"])
        rows.append(empty | about)
    protocol = {
        "network": settings.network,
        "shape": settings.shape,
        "seeds": list(settings.seeds),
        "score training": trials[0]["protocol"],
        "classifier training": {
            "steps": settings.steps,
            "batch_size": settings.batch,
            "rate": 1e-3,
        },
        "half distance of the classes": DISTANCE,
    }
    return Data(rows, protocol)


def _about(
    use: str, spectrum: Spectrum, index: int, seed: int, value: float, accuracy: float | None = None
) -> dict[str, Any]:
    """The fields that the rows of both uses share."""
    eigenvalue = float(spectrum.eigenvalues[index])
    about = {"use": use, "index": index, "eigenvalue": eigenvalue, "seed": seed}
    return about | {"value": value, "accuracy": accuracy}


def table(rows: Rows, use: str) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n S"]]:
    """Eigenvalues in descending order, and the value of every direction and seed."""
    own = [row for row in rows if row["use"] == use]
    _, values = paired_values((row["index"], row["seed"], row["value"]) for row in own)
    eigenvalues = {row["index"]: row["eigenvalue"] for row in own}
    order = sorted(values)
    return np.array([eigenvalues[i] for i in order]), np.array([values[i] for i in order])


def draw(data: Data) -> Figure:
    """Both preferences against the eigenvalue."""
    figure = sheet(PAGE, 2.4)
    for axes, (use, label, colour) in zip(figure.subplots(1, 2), _USES, strict=True):
        eigenvalues, values = table(data.rows, use)
        error_bars(axes, eigenvalues / eigenvalues[0], values.tolist(), color=colour)
        axes.set_xscale("log")
        axes.set_xlabel("eigenvalue / largest")
        axes.set_ylabel(label)
        axes.set_title(f"as {use}" if use == "classifier" else "as score network")
    return figure


_USES = (
    ("score", "SW$_2$ to held-out data", BLUE),
    ("classifier", "mean loss in training, nats", ORANGE),
)


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """The score network is worse along large eigenvalues, the classifier along small ones."""
    findings = []
    for use, sign, claim, measure in (
        ("score", 1, "the score network models small eigenvalues best", "SW2"),
        ("classifier", -1, "the classifier learns large eigenvalues best", "minus the mean loss"),
    ):
        eigenvalues, values = table(rows, use)
        interval = None
        if len(values) >= LEAST_BANDS and values.shape[1] > 1:
            generator = stream(0, "the order of two uses")
            draws = bootstrapped(eigenvalues, sign * values, 2_000, generator)
            interval = percentiles(draws[:, 0])
        statistic = f"Spearman correlation of {measure} with the eigenvalue"
        whole = rank_correlation(eigenvalues, sign * values.mean(axis=1))
        findings.append(Finding.above(claim, statistic, whole, interval))
    return tuple(findings)


FIGURE_B = Experiment(
    "one backbone as classifier and as score network", SCALES, data, draw, verdict
)
