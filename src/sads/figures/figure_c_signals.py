"""Figure C, beyond the paper: signals instead of images, under the three rotations.

Signals of length L are sums of waves with random phases whose amplitudes fall as 1/k,

    x(s) = sum_{k=0}^{6} a_k cos(2 pi k s / L + phi_k),   a_k normal with deviation 1 / max(k, 1),

scaled to unit variance, so most of their energy is in low frequencies, like that of many measured
series. The network is the U-Net in one dimension.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from ..randomness import fixed_stream
from ..specs import parse_shape
from .data import Data, Experiment, Request
from .images import keep_array
from .rotated_trainings import LABELS, ROTATIONS, draw_against_alpha, lowest_is_best, trained
from .style import BLUE, GREY, PAGE, sheet
from .trials import FIVE, THREE, Setup

NAME = "signals"
COUNT, WAVES = 4_000, 7
METRIC = "sw2"
_LAPTOP = {"preset": "laptop", "iterations": 2_000, "batch_size": 64, "learning_rate": 1e-3}
_LAPTOP |= {"steps": 50, "samples": 1_000}
_SMALL = "iddpm-1d,channels=8,groups=8,mults=1x1"
SCALES: Mapping[str, Setup] = {
    "smoke": Setup(_SMALL, "1x32", "smoke", (0, 1), 384),
    "laptop": Setup("iddpm-1d", "1x64", _LAPTOP, THREE, 8_192),
    "paper": Setup("iddpm-1d", "1x64", "paper", FIVE, 100_000),
}


def signals(count: int, length: int, seed: int = 0) -> Float[np.ndarray, "N 1 L"]:
    """Random signals as in the formula above, as float32."""
    generator = fixed_stream(seed)
    k = np.arange(WAVES)
    amplitude = generator.standard_normal((count, WAVES)) / np.maximum(k, 1)
    phase = generator.uniform(0, 2 * np.pi, (count, WAVES))
    angle = 2 * np.pi * k[:, None] * np.arange(length) / length
    waves = np.einsum("nk,nkl->nl", amplitude, np.cos(angle + phase[:, :, None]))
    return (waves / waves.std())[:, None].astype(np.float32)


def data(request: Request) -> Data:
    """One row for each training; real signals and samples as pictures."""
    setup = SCALES[request.scale]
    length = parse_shape(str(setup.shape))[-1]
    path = request.work("data", f"{NAME}.npy")
    keep_array(path, lambda: signals(COUNT, length))
    result = trained(request, {NAME: path}, {NAME: setup})
    real = {"real": signals(4, length, seed=1)}
    return replace(result, pictures={**result.pictures, **real})


def draw(data: Data) -> Figure:
    """Signals and samples under each rotation, and SW2 against alpha."""
    figure = sheet(PAGE, 2.3)
    axes = figure.subplots(1, 5, width_ratios=[1, 1, 1, 1, 1.5])
    for place, kind in zip(axes, ("real", *ROTATIONS), strict=False):
        own = data.pictures.get(kind if kind == "real" else f"samples-{NAME}-{kind}")
        for row, signal in enumerate([] if own is None else own[:4, 0]):
            place.plot(signal - 6 * row, color=GREY if kind == "real" else BLUE, linewidth=0.8)
        place.set_yticks([])
        place.spines["left"].set_visible(False)
        place.set_xlabel("position")
        place.set_title("real signals" if kind == "real" else LABELS[kind])
    draw_against_alpha(axes[4], data.rows, NAME, METRIC)
    return figure


FIGURE_C = Experiment(
    "one-dimensional signals under three rotations",
    SCALES,
    data,
    draw,
    partial(lowest_is_best, metric=METRIC),
)
