"""A comparison in words."""

from ..comparison.compare import BandDifference, Comparison
from .numbers import with_error
from .tables import text_table

MOST_ROWS = 20


def comparison_sentences(comparison: Comparison) -> list[str]:
    """The main results, then a table of the bands that stand out."""
    first, second = comparison.whitened_errors
    bands = [band for band in comparison.bands if band.different]
    distance = with_error(comparison.distance, comparison.distance_error, 3)
    shape_distance = with_error(comparison.shape_distance, comparison.shape_distance_error, 3)
    lines = [_verdict(comparison)]
    if comparison.different:
        lines.append(f"{_scale(comparison)} {_shape(comparison, bands)}")
    return [
        *lines,
        f"Whitened distance {distance}, without the mean {shape_distance}; the errors of the two "
        f"geometries are {first:.2g} and {second:.2g}.",
        *comparison.notes,
        *_table(bands),
    ]


def _verdict(comparison: Comparison) -> str:
    what = "in shape " if comparison.ignore_scale else ""
    p_value = comparison.shape_p_value if comparison.ignore_scale else comparison.p_value
    if not comparison.different:
        return f"No difference {what}found (p = {p_value:.2g}, level {comparison.level:g})."
    how = {
        (True, True): "by a common factor and in shape",
        (True, False): "by a common factor, which turns no direction",
        (False, True): "in shape, not by a common factor",
        (False, False): "but these networks do not show whether by a common factor or in shape",
    }[comparison.scale_different, comparison.shape_different]
    return f"They differ {what}(p = {p_value:.2g}): {how}."


def _scale(comparison: Comparison) -> str:
    interval = f"{comparison.scale_low:.4g} to {comparison.scale_high:.4g}"
    factor = (
        f"{comparison.scale:.4g} ({100 * (1 - comparison.level):g} % interval {interval}, p = "
        f"{comparison.scale_p_value:.2g})"
    )
    if comparison.scale_different:
        return f"Scale: most directions of the second are {factor} times the first."
    if comparison.shape_different:
        return f"Scale: most directions agree; their common factor is {factor}."
    return f"Scale: no common factor is seen; its estimate is {factor}."


def _shape(comparison: Comparison, bands: list[BandDifference]) -> str:
    p_value = f"(p = {comparison.shape_p_value:.2g})"
    if not comparison.shape_different:
        return f"Shape: no difference is seen beyond that factor {p_value}."
    if not bands:
        return f"Shape: they differ beyond that factor {p_value}, but no single band stands out."
    if len(comparison.bands) == 1:
        return f"Shape: they differ beyond that factor {p_value}, in the only band there is."
    verb = "stands" if len(bands) == 1 else "stand"
    return (
        f"Shape: {len(bands)} of {len(comparison.bands)} bands {verb} out from that factor "
        f"{p_value}, indices {_indices(bands)}."
    )


def _indices(bands: list[BandDifference]) -> str:
    """Ranges of indices, neighbours joined: `0, 3 to 5`."""
    ranges: list[list[int]] = []
    for band in bands:
        if ranges and ranges[-1][1] == band.first - 1:
            ranges[-1][1] = band.last
        else:
            ranges.append([band.first, band.last])
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in ranges)


def _table(bands: list[BandDifference]) -> list[str]:
    if not bands:
        return []
    header = ["indices", "eigenvalue ratio", "over the factor", "p", "rotation", "p"]
    lines = text_table(header, map(_row, bands[:MOST_ROWS]), numbers=header)
    left = len(bands) - MOST_ROWS
    return [*lines, f"and {left} bands more; --json has all"] if left > 0 else lines


def _row(band: BandDifference) -> list[str]:
    ratio = relative = "none"
    if band.ratio is not None:
        ratio = with_error(band.ratio, band.ratio_error)
        relative = f"{band.relative_low:.3g} to {band.relative_high:.3g}"
    rotation = with_error(band.rotation, band.rotation_error, 3)
    p_values = f"{band.ratio_p_value:.2g}", f"{band.rotation_p_value:.2g}"
    return [_indices([band]), ratio, relative, p_values[0], rotation, p_values[1]]
