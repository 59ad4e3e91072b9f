"""Spectrum, eigenvectors and their DFT energy, laid out as in figure 6 of the paper."""

from pathlib import Path

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...directions import Band, Resolution, Spectrum
from ...errors import InputError
from ...storage.files import atomic_write
from ..mosaics import pictured
from ..palette import BLACK, CERTIFIED, MAGNITUDE, SIGNED, UNCERTIFIED

SHOWN = 9
INTERVAL = 2.2  # 95 % of a t distribution with 11 degrees of freedom


def shown_indices(size: int, count: int = SHOWN) -> list[int]:
    """First, last and evenly spaced indices; at D = 256 those of figure 6.

    >>> shown_indices(256)
    [0, 31, 63, 95, 127, 159, 191, 223, 255]
    """
    count = min(count, size)
    steps = max(1, count - 1)
    return sorted({0} | {size * i // steps - 1 for i in range(1, count)})


def draw_directions(spectrum: Spectrum, title: str) -> Figure:
    """The figure for one spectrum."""
    size = spectrum.structure.directions
    indices = shown_indices(size)
    figure = Figure(figsize=(9.5, 6.2), layout="constrained")
    upper, lower = np.asarray(figure.subfigures(2, 1, height_ratios=[1.35, 1]))
    axes = upper.subplots()
    _draw_spectrum(axes, spectrum, indices)
    axes.set_title(title, fontsize=11)
    pictures = lower.subplots(2, len(indices), squeeze=False)
    for column, index in enumerate(indices):
        picture = pictured(spectrum.vector(index), spectrum.structure)
        _picture(pictures[0, column], picture, signed=True)
        _picture(pictures[1, column], dft_energy(picture), signed=False)
        pictures[0, column].set_title(
            f"$u_{{{index + 1}}}$\n{_mark(spectrum.resolution_of(index))}", fontsize=8
        )
    tokens = spectrum.structure.imposed.kind == "tokens"
    label = "eigenvector\nover patches" if tokens else "eigenvector"
    pictures[0, 0].set_ylabel(label, fontsize=8)
    pictures[1, 0].set_ylabel("DFT energy", fontsize=8)
    return figure


def _draw_spectrum(axes: Axes, spectrum: Spectrum, indices: list[int]) -> None:
    values = spectrum.eigenvalues / spectrum.eigenvalues[0]
    errors = spectrum.eigenvalue_errors / spectrum.eigenvalues[0]
    positive = values[values > 0]
    index = np.arange(len(values))
    alone = spectrum.windows == 0
    kinds = (
        (alone, CERTIFIED, "known alone (window 0)"),
        (~alone, UNCERTIFIED, "known with its neighbours only"),
    )
    for kind, colour, label in kinds:
        part = kind & (values > 0)
        axes.errorbar(
            index[part],
            values[part],
            yerr=INTERVAL * errors[part],
            color=colour,
            marker=".",
            markersize=3,
            linewidth=0,
            elinewidth=0.8,
        )
        axes.plot([], [], marker="o", linestyle="", color=colour, label=label, markersize=4)
    _draw_null_space(axes, [band for band in spectrum.bands if band.null])
    for i in indices:
        axes.axvline(i, color=BLACK, linewidth=0.4, alpha=0.4, zorder=0)
    axes.set_yscale("log")
    axes.set_ylim(positive.min() / 1.6, 1.8)
    axes.set_xlabel("index of the direction (0: largest eigenvalue)")
    axes.set_ylabel("eigenvalue / largest")
    axes.legend(loc="upper right", fontsize=8, framealpha=1.0, edgecolor="none")


def _draw_null_space(axes: Axes, bands: list[Band]) -> None:
    if not bands:
        return
    first, last = bands[0].first, bands[-1].last  # all at the end
    axes.axvspan(first - 0.5, last + 0.5, color="0.9", zorder=0)
    axes.text(
        (first + last) / 2,
        0.5,
        f"{'null space' if bands[0].certified else 'not seen yet'} ({last - first + 1})",
        ha="center",
        va="center",
        rotation=90,
        fontsize=8,
        color="0.35",
        transform=axes.get_xaxis_transform(),
    )


def _mark(level: Resolution) -> str:
    """The window of a direction, or the number of directions that share its eigenvalue exactly."""
    if level.null:
        return "null"
    group = f"1 of {level.multiplicity}" if level.multiplicity > 1 else ""
    spread = f"± {level.window}" if level.window or not group else ""
    return ", ".join(part for part in (group, spread) if part)


def dft_energy(image: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Squared magnitude of the DFT, zero frequency in the centre."""
    return np.abs(np.fft.fftshift(np.fft.fftn(image, norm="ortho"))) ** 2


def _picture(axes: Axes, values: np.ndarray, *, signed: bool) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    top = np.abs(values).max() or 1.0
    if values.ndim == 1:  # the axis includes zero, so that a constant looks constant
        place = np.arange(len(values))
        axes.plot(place, values, color=CERTIFIED, linewidth=0.8)
        axes.fill_between(place, values, color=CERTIFIED, alpha=0.25, linewidth=0)
        axes.axhline(0, color=BLACK, linewidth=0.5)
        axes.set_ylim(-1.1 * top if signed else -0.03 * top, 1.1 * top)
        return
    colours = SIGNED if signed else MAGNITUDE
    axes.imshow(values, cmap=colours, vmin=-top if signed else 0, vmax=top)


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure; the suffix decides the format."""
    kind = path.suffix.removeprefix(".") or "png"
    try:
        atomic_write(path, lambda place: figure.savefig(place, dpi=150, format=kind))
    except ValueError as error:  # matplotlib raises it for an unknown suffix
        raise InputError(f"{path} cannot be drawn: {error}") from error
