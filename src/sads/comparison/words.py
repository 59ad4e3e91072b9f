"""A comparison in words."""

from .compare import BandDifference, Comparison

MOST_ROWS = 20


def comparison_sentences(found: Comparison) -> list[str]:
    """What a reader wants to know first, then a table of the bands that differ."""
    first, second = found.whitened_errors
    bands = [band for band in found.bands if band.different]
    return [
        _verdict(found, bands),
        f"Whitened distance {found.distance:.3g} +- {found.distance_error:.2g}; the errors of the "
        f"two geometries are {first:.2g} and {second:.2g}.",
        f"Scale: the second is {found.scale:.4g} +- {found.scale_error:.2g} times the first "
        f"(p = {found.scale_p_value:.2g}). Shape, without scale: distance "
        f"{found.shape_distance:.3g} +- {found.shape_distance_error:.2g} "
        f"(p = {found.shape_p_value:.2g}).",
        *found.notes,
        *_table(bands),
    ]


def _verdict(found: Comparison, bands: list[BandDifference]) -> str:
    what = "in shape " if found.ignore_scale else ""
    p_value = found.shape_p_value if found.ignore_scale else found.p_value
    if not found.different:
        return f"No difference {what}found (p = {p_value:.2g}, level {found.level:g})."
    where = f"{len(bands)} of {len(found.bands)} bands, indices {_indices(bands)}"
    if not bands:
        where = "no single band stands out"
    elif found.shape_p_value > found.level:
        where = "by a common factor, which turns no direction"
    elif len(bands) == len(found.bands):
        where = f"all {len(bands)} bands"
    return f"They differ {what}(p = {p_value:.2g}): {where}."


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
    lines = [f"{'indices':>13}  {'eigenvalue ratio':>18}  {'p':>7}  {'rotation':>18}  {'p':>7}"]
    for band in bands[:MOST_ROWS]:
        ratio = "none" if band.ratio is None else f"{band.ratio:.4g} +- {band.ratio_error:.2g}"
        rotation = f"{band.rotation:.3g} +- {band.rotation_error:.2g}"
        lines.append(
            f"{_indices([band]):>13}  {ratio:>18}  {band.ratio_p_value:>7.2g}  "
            f"{rotation:>18}  {band.rotation_p_value:>7.2g}"
        )
    left = len(bands) - MOST_ROWS
    return [*lines, f"and {left} bands more; --json has all"] if left > 0 else lines
