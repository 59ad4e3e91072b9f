"""Figures 7, 8 and 10: image datasets under W_min, the identity and W_max.

Figure 7 shows samples of MNIST, figure 10 those of faces and CIFAR-10, figure 8 SW2 of all three
against alpha. The claim is that W_min is modelled best. The verdict does not rest on looks but on
the distances: MSW2 for figure 7, as in the paper, and SW2 for the others. The paper finds the
identity and W_max close to each other, since natural images are already aligned with the largest
eigenvalues.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..errors import InputError
from ..presentation.mosaics import mosaic
from ..specs import DataSpec, parse_shape
from ..statistics.means import mean_and_error
from .data import Data, Experiment, Request
from .images import prepared
from .rotated_trainings import (
    LABELS,
    METRICS,
    ROTATIONS,
    by_seed,
    draw_against_alpha,
    lowest_is_best,
    trained,
)
from .style import PAGE, bare, sheet
from .trials import FIVE, SMALL_UNET, THREE, Setup

TITLES = {"mnist": "MNIST", "faces": "faces", "cifar": "CIFAR-10", "digits": "digits"}
STAND_IN = "digits"
TRAIN = 10_000  # samples, as in the paper
GAP = 0.8  # grey between samples, some of which are white to the edge
_WHERE = {
    "mnist": "MNIST: pass mnist='DIR' with its four IDX files (https://yann.lecun.com/exdb/mnist)",
    "faces": "pictures of faces: pass faces='folder:DIR,grey,crop,size=56' (CelebA-HQ: "
    "https://github.com/tkarras/progressive_growing_of_gans)",
    "cifar": "CIFAR-10: pass cifar='npz:FILE:images,scale' or 'hf:uoft-cs/cifar10' "
    "(https://www.cs.toronto.edu/~kriz/cifar.html)",
}


def _laptop(iterations: int, batch: int, samples: int) -> dict[str, Any]:
    own = {"iterations": iterations, "batch_size": batch, "learning_rate": 1e-3}
    return {"preset": "laptop", **own, "steps": 50, "samples": samples, "train": TRAIN}


# The paper's U-Net does not see the timestep. On MNIST it learns all the same; faces and CIFAR-10
# it had not begun to learn in these numbers of steps. With groups of four channels it sees it.
_TIMED = "iddpm-16,groups=8"
_FULL = {"preset": "paper", "train": TRAIN}
_TINY = Setup(SMALL_UNET, "1x8x8", "smoke", (0, 1), 384)
SCALES: Mapping[str, Mapping[str, Setup]] = {
    "smoke": {
        STAND_IN: _TINY,
        "mnist": _TINY,
        "faces": _TINY,
        "cifar": replace(_TINY, shape="3x8x8"),
    },
    "laptop": {
        "mnist": Setup("iddpm-16", "1x16x16", _laptop(1_000, 64, 500), THREE, 8_192),
        "faces": Setup(_TIMED, "1x28x28", _laptop(400, 32, 300), THREE, 4_096),
        "cifar": Setup(_TIMED, "3x16x16", _laptop(400, 64, 500), THREE, 8_192),
    },
    "paper": {
        "mnist": Setup("iddpm-mnist", "1x28x28", _FULL, FIVE, 100_000),
        "faces": Setup("iddpm-celeba", "1x56x56", _FULL, FIVE, 20_000),
        "cifar": Setup("iddpm-cifar10", "3x32x32", _FULL, FIVE, 100_000),
    },
}


def wanted(names: tuple[str, ...], request: Request) -> tuple[str, ...]:
    """The datasets of a figure; at smoke scale the embedded digits if none is named.

    Raises:
        InputError: if a dataset is missing, with where to get it and the option that names it.
    """
    chosen = request.parts(names)
    known = tuple(name for name in chosen if name in request.sources)
    if request.scale == "smoke":
        return known or (STAND_IN,)
    for name in chosen:
        if name not in known:
            others = "; or choose other parts" if len(names) > 1 else ""
            raise InputError(f"missing data: {_WHERE[name]}{others}")
    return known


def data(names: tuple[str, ...], request: Request) -> Data:
    """One row for each training, with alpha; the first samples of each rotation as pictures."""
    setups = SCALES[request.scale]
    sources = {name: request.sources.get(name, STAND_IN) for name in wanted(names, request)}
    files = {
        name: prepared(request, name, source, parse_shape(str(setups[name].shape)))
        for name, source in sources.items()
    }
    result = trained(request, files, setups)
    note = {"note": "the embedded digits stand in for the paper's data"}
    # By content, since paths on this machine mean nothing to a reader.
    contents = {name: DataSpec.parse(source).digest() for name, source in sources.items()}
    protocol = {**result.protocol, **(note if STAND_IN in files else {}), "sources": contents}
    return replace(result, protocol=protocol)


def draw_samples(data: Data, metric: str) -> Figure:
    """A row for each dataset, a block of samples for each rotation, with alpha and the distance."""
    figure = sheet(PAGE, 2.55 * len(data.parts))
    axes = np.asarray(figure.subplots(len(data.parts), len(ROTATIONS), squeeze=False))
    for line, part in zip(axes, data.parts, strict=True):
        for place, rotation in zip(line, ROTATIONS, strict=True):
            _block(place, data, part, rotation, metric)
        line[0].set_ylabel(TITLES[part])
    return figure


def _block(axes: Axes, data: Data, part: str, rotation: str, metric: str) -> None:
    bare(axes)
    samples = data.pictures.get(f"samples-{part}-{rotation}")
    if samples is None:
        axes.text(0.5, 0.5, "samples not kept", ha="center", transform=axes.transAxes)
    else:
        picture = np.nan_to_num(np.clip(mosaic(samples), -1, 1) / 2 + 0.5, nan=GAP)
        axes.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    alpha = next(
        row["alpha"] for row in data.rows if row["part"] == part and row["rotation"] == rotation
    )
    mean, error = mean_and_error(list(by_seed(data.rows, part, rotation, metric).values()))
    spread = "" if error is None else rf" $\pm$ {error:.2g}"
    value = f"{METRICS[metric]} = {mean:.3g}{spread}"
    axes.set_title(rf"{LABELS[rotation]}: $\alpha$ = {alpha:.3g}, {value}", fontsize=7)


def draw_distances(data: Data, metric: str) -> Figure:
    """A panel for each dataset: mean and standard error at the three values of alpha."""
    parts = data.parts
    figure = sheet(PAGE * max(len(parts), 1.5) / 3, 2.2)
    for axes, part in zip(np.atleast_1d(figure.subplots(1, len(parts))), parts, strict=True):
        draw_against_alpha(axes, data.rows, part, metric)
        axes.set_title(TITLES[part])
    return figure


def _experiment(
    title: str, parts: tuple[str, ...], metric: str, draw: Callable[[Data, str], Figure]
) -> Experiment:
    """The figure of some datasets, drawn and judged by one metric."""
    return Experiment(
        title,
        SCALES,
        partial(data, parts),
        lambda data: draw(data, metric),
        partial(lowest_is_best, metric=metric),
        parts,
        check=partial(wanted, parts),
    )


FIGURE_07 = _experiment("MNIST samples under three rotations", ("mnist",), "msw2", draw_samples)
FIGURE_08 = _experiment(
    "SW2 against alignment for image datasets", ("mnist", "faces", "cifar"), "sw2", draw_distances
)
FIGURE_10 = _experiment(
    "samples of faces and CIFAR-10 under three rotations", ("faces", "cifar"), "sw2", draw_samples
)
