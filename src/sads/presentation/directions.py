"""A spectrum in words and for notebooks."""

from ..directions import Spectrum
from .markup import facts, log_plot
from .numbers import counted, percentage
from .palette import CERTIFIED, UNCERTIFIED

MOST_DOTS = 2048  # of a notebook's picture


def headline(spectrum: Spectrum) -> str:
    """How well the directions are known, in one clause."""
    groups = sum(level.multiplicity > 1 and not level.null for level in spectrum.resolution)
    exact = f"{counted(groups, 'exact group')} of equal eigenvalues"
    if all(band.exact for band in spectrum.bands):
        return f"directions are exact, {exact}" if groups else "directions are exact"
    if spectrum.unseen:
        return "directions not known yet: the networks have not shown all of them"
    text = (
        f"directions known to within ± {counted(spectrum.resolution_median, 'level')} (median), "
        f"± {spectrum.resolution_worst:,} (worst), "
        f"eigenvalues within {percentage(spectrum.eigenvalue_accuracy)}"
    )
    return f"{text}; {exact}" if groups else text


def html(spectrum: Spectrum) -> str:
    """The eigenvalues, blue where a direction is known without its neighbours."""
    colours = [CERTIFIED if window == 0 else UNCERTIFIED for window in spectrum.windows]
    size, bands = spectrum.structure.directions, spectrum.bands
    rows = [
        ("directions", f"{size:,} ({spectrum.structure.imposed.kind})"),
        ("known", headline(spectrum)),
        ("bands", f"{len(bands):,}, {sum(band.certified for band in bands):,} certified"),
        ("null space", f"{spectrum.null_directions:,} directions"),
    ]
    label = "eigenvalues, largest first; orange: known only with their neighbours"
    step = -(-size // MOST_DOTS)
    values = spectrum.eigenvalues.tolist()[::step]
    return facts("Spectrum", rows) + log_plot(values, colours[::step], label)
