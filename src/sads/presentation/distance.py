"""The distances between two sets of samples in words."""

from ..distances import Distance


def sentences(distance: Distance) -> list[str]:
    """What a reader wants to know first."""
    error = "" if distance.standard_error is None else f" ± {distance.standard_error:.4f}"
    lines = [
        f"SW2 {distance.sw2:.4f}{error}, MSW2 {distance.msw2:.4f} over "
        f"{distance.projections:,} random directions.",
        f"MSW2 along the worst direction found is {distance.msw2_optimised:.4f}; equal "
        f"distributions would give {distance.msw2_null:.4f}: p = {distance.p_value:.3g}.",
    ]
    if distance.w2_direction is not None:
        lines.append(
            "W2 along the data's own direction, against its exact law: "
            f"{distance.w2_direction:.4f}."
        )
    return lines
