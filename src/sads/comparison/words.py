"""A comparison in words."""

from .values import BandDifference, Comparison

MOST_ROWS = 20


def comparison_sentences(found: Comparison) -> list[str]:
    """What a reader wants to know first, then a table of the bands that stand out."""
    first, second = found.whitened_errors
    bands = [band for band in found.bands if band.different]
    return [
        _verdict(found),
        *([f"{_scale(found)} {_shape(found, bands)}"] if found.different else []),
        f"Whitened distance {found.distance:.3g} +- {found.distance_error:.2g}, without the mean "
        f"{found.shape_distance:.3g} +- {found.shape_distance_error:.2g}; the errors of the two "
        f"geometries are {first:.2g} and {second:.2g}.",
        *found.notes,
        *_table(bands),
    ]


def _verdict(found: Comparison) -> str:
    what = "in shape " if found.ignore_scale else ""
    p_value = found.shape_p_value if found.ignore_scale else found.p_value
    if not found.different:
        return f"No difference {what}found (p = {p_value:.2g}, level {found.level:g})."
    how = {
        (True, True): "by a common factor and in shape",
        (True, False): "by a common factor, which turns no direction",
        (False, True): "in shape, not by a common factor",
        (False, False): "but these networks do not tell whether by a common factor or in shape",
    }[found.scale_different, found.shape_different]
    return f"They differ {what}(p = {p_value:.2g}): {how}."


def _scale(found: Comparison) -> str:
    share = f"{100 * (1 - found.level):g} % interval"
    factor = (
        f"{found.scale:.4g} ({share} {found.scale_low:.4g} to {found.scale_high:.4g}, p = "
        f"{found.scale_p_value:.2g})"
    )
    if found.scale_different:
        return f"Scale: most directions of the second are {factor} times the first."
    if found.shape_different:
        return f"Scale: most directions agree; their common factor is {factor}."
    return f"Scale: a common factor is not seen; its estimate is {factor}."


def _shape(found: Comparison, bands: list[BandDifference]) -> str:
    said = f"(p = {found.shape_p_value:.2g})"
    if not found.shape_different:
        return f"Shape: no difference is seen beyond that factor {said}."
    if not bands:
        return f"Shape: they differ beyond that factor {said}, but no single band stands out."
    if len(found.bands) == 1:
        return f"Shape: they differ beyond that factor {said}, in the only band there is."
    verb = "stands" if len(bands) == 1 else "stand"
    return (
        f"Shape: {len(bands)} of {len(found.bands)} bands {verb} out from that factor {said}, "
        f"indices {_indices(bands)}."
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
    lines = [
        f"{'indices':>13}  {'eigenvalue ratio':>18}  {'over the factor':>18}  {'p':>7}  "
        f"{'rotation':>18}  {'p':>7}"
    ]
    for band in bands[:MOST_ROWS]:
        ratio = relative = "none"
        if band.ratio is not None:
            ratio = f"{band.ratio:.4g} +- {band.ratio_error:.2g}"
            relative = f"{band.relative_low:.3g} to {band.relative_high:.3g}"
        rotation = f"{band.rotation:.3g} +- {band.rotation_error:.2g}"
        lines.append(
            f"{_indices([band]):>13}  {ratio:>18}  {relative:>18}  {band.ratio_p_value:>7.2g}  "
            f"{rotation:>18}  {band.rotation_p_value:>7.2g}"
        )
    left = len(bands) - MOST_ROWS
    return [*lines, f"and {left} bands more; --json has all"] if left > 0 else lines
