"""An alignment and a rotation in plain values and in words."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from ..alignment import Alignment, Rotation
from ..alignment.measured_rotations import (
    SEES_TIME,
    TIME_BLIND,
    MeasuredRotation,
    loss_range,
    measured_rotations,
    outcomes,
)
from ..geometry import Geometry
from .directions import headline
from .geometry import provenance, taken_as
from .markup import facts, log_plot
from .palette import DATA

COARSE = 0.05  # a median window above this share of the levels gets a warning


def summary(alignment: Alignment) -> dict[str, Any]:
    """What `sads align --json` prints."""
    low, high = alignment.debiased
    return {
        "network": alignment.geometry.plan.network,
        "assumptions": provenance(alignment.geometry.plan)["assumptions"],
        "data": alignment.data,
        "samples": alignment.samples,
        "alpha": alignment.alpha,
        "alpha_error": alignment.alpha_error,
        "alpha_low": alignment.limits[0],
        "alpha_high": alignment.limits[1],
        "energy_inside": alignment.energy,
        "alpha_min": alignment.alpha_min,
        "alpha_max": alignment.alpha_max,
        "alpha_min_debiased": low,
        "alpha_max_debiased": high,
        "position": alignment.position,
        "relative": alignment.relative,
        "relative_error": alignment.relative_error,
        "profile": [
            {
                "first": part.band.first,
                "last": part.band.last,
                "eigenvalue": part.eigenvalue,
                "share": part.share,
                "certified": part.band.certified,
            }
            for part in alignment.profile
        ],
        "notes": notes(alignment),
    }


def sentences(alignment: Alignment) -> list[str]:
    """What a reader wants to know first."""
    network = alignment.geometry.plan.network
    lines = [
        *taken_as(alignment.geometry.plan),
        f"{alignment.data} ({alignment.samples:,} samples) in the geometry of "
        f"{network}: alpha {alignment.alpha:.5g} ± {alignment.alpha_error:.2g}.",
    ]
    lines += _outside(alignment)
    if alignment.position is None:
        lines.append("The geometry is isotropic: all rotations of the data are alike.")
    else:
        lines += [
            f"Over all rotations alpha goes from {alignment.alpha_min:.5g} to "
            f"{alignment.alpha_max:.5g}; the data is at {alignment.position:.1%} of the way.",
            f"That is {alignment.relative:.3g} ± {alignment.relative_error:.1g} times the alpha of "
            "data without preferred directions (above 1: the data lies on large eigenvalues, along "
            "which untrained networks put out most).",
        ]
    return lines + notes(alignment)


def _outside(alignment: Alignment) -> list[str]:
    """What a subspace leaves open; empty for a geometry of the whole space."""
    geometry = alignment.geometry
    if not geometry.compressed:
        return []
    low, high = alignment.limits
    return [
        f"That is inside the subspace {geometry.plan.subspace}, with {alignment.energy:.2%} of the "
        f"data's energy and {geometry.inside[0]:.2%} of tr G; whatever lies outside, the alpha of "
        f"the whole is between {low:.5g} and {high:.5g}. Rotations are those of the subspace."
    ]


def html(alignment: Alignment) -> str:
    """Where the data lies, and its share on every direction."""
    relative = f"{alignment.relative:.3g} ± {alignment.relative_error:.1g}"
    rows = [
        ("samples", f"{alignment.samples:,}"),
        ("alpha", f"{alignment.alpha:.5g} ± {alignment.alpha_error:.2g}"),
        ("over all rotations", f"{alignment.alpha_min:.5g} to {alignment.alpha_max:.5g}"),
        ("against no preference", f"{relative} times"),
    ]
    if alignment.position is not None:
        rows.append(("position", f"{alignment.position:.1%} of the way from least to largest"))
    title = f"{alignment.data} in the geometry of {alignment.geometry.plan.network}"
    shares = alignment.row_shares / alignment.geometry.structure.copies
    label = "share of the data on a direction, largest eigenvalue first"
    return facts(title, rows) + log_plot(shares.tolist(), [DATA] * len(shares), label)


def notes(alignment: Alignment) -> list[str]:
    """What limits the numbers."""
    lines = []
    geometry = alignment.geometry
    if alignment.singular:
        lines.append(
            f"Fewer samples ({alignment.samples:,}) than dimensions ({len(alignment.sigmas):,}): "
            "the second moment is singular and the extremes are those of these samples."
        )
    low, high = alignment.debiased
    if not geometry.exact and alignment.position is not None:
        lines.append(
            "The extremes are exact for these estimates, and too far apart for the true ones, "
            f"since noise spreads both spectra; without the bias of G's: {low:.5g} to {high:.5g}."
        )
    if coarse(geometry):
        lines.append(
            f"Of this geometry, {headline(geometry.spectrum())}: alpha is sound, but single "
            "directions and rotations are not; let sads geometry run longer."
        )
    return lines


def coarse(geometry: Geometry) -> bool:
    """Whether directions spread over so many neighbours that single ones mean little."""
    spectrum = geometry.spectrum()
    return spectrum.resolution_median > COARSE * len(spectrum.resolution) or spectrum.unseen


def rotation_summary(rotation: Rotation) -> dict[str, Any]:
    """What `sads rotate --json` prints."""
    return rotation.origin.model_dump(mode="json") | {
        "error": rotation.error,
        "digest": rotation.digest,
    }


def rotation_sentences(rotation: Rotation) -> list[str]:
    """What the rotation does to alpha, and whether another one would have done the same."""
    origin = rotation.origin
    moved = "all data directions" if origin.rank is None else f"the leading {origin.rank}"
    what, held = ("Rotation", "orthogonal") if rotation.keeps_noise else ("Map", "inverted")
    lines = [
        f"{what} {origin.kind} of {moved}: alpha from {origin.alpha_before:.5g} to "
        f"{origin.alpha:.5g}, {held} within {rotation.error:.1g}."
    ]
    network, data = origin.repeated
    if network or data:
        lines.append(
            f"Eigenvalues repeat ({network:,} of the geometry's directions, {data:,} of the "
            "data's): other rotations reach the same alpha; this choice depends on the eigenspaces "
            "alone."
        )
    return lines + outcome_sentences() if origin.kind == "min" else lines


def measured_sentences() -> list[str]:
    """The measured effect of rotations, by network and dataset."""
    rows, lines = measured_rotations(), []
    for network, data in dict.fromkeys((row.network, row.data) for row in rows):
        own = [row for row in rows if (row.network, row.data) == (network, data)]
        steps = max(row.steps for row in own)
        parts = [f"{_over_seeds(row.sw2)} {_under(row)}" for row in own if row.steps == steps]
        lines.append(
            f"Measured on {data}, {steps:,} steps of {network}, held-out SW2 as median of "
            f"{len(own[0].sw2)} seeds (least to most): {', '.join(parts)}."
        )
    return lines


def outcome_sentences() -> list[str]:
    """How often rotations helped, where the network sees the time and where it does not."""
    return [_what_rotations_did(network) for network in (TIME_BLIND, SEES_TIME)]


def _what_rotations_did(network: str) -> str:
    """How often rotations beat the images as they are, and a random one beats W_min."""
    sight = "does not see" if network == TIME_BLIND else "sees"
    told = [
        f"{one} was better than {other} in {counts['better'] or 'none'} of {counts.total()} runs "
        f"and worse in {counts['worse'] or 'none'}"
        for one, other, counts in (
            ("W_min", "the images as they are", outcomes(network, "min", "identity")),
            ("a random rotation", "these", outcomes(network, "random", "identity")),
            ("a random rotation", "W_min", outcomes(network, "random", "min")),
        )
        if counts.total()
    ]
    if not told:
        return f"No rotation was tried with a network that {sight} the time."
    gained = f"In {network}, which {sight} the time, by SW2: {'; '.join(told)}."
    times = loss_range(network, "random")
    if times is None:
        return gained
    return (
        f"{gained} Under a random rotation its held-out loss at low, middle and high frequencies "
        f"was {times[0]:.2g} to {times[1]:.2g} times that of the images as they are."
    )


def rotating_is_worth_it(*, sees_time: bool) -> bool | None:
    """Whether a random rotation helped in most runs of such a network; None if none was tried."""
    counts = outcomes(SEES_TIME if sees_time else TIME_BLIND, "random", "identity")
    return counts["better"] > counts.total() / 2 if counts else None


def rotation_advice(*, sees_time: bool) -> str:
    """What the measured rotations advise for a network that sees the time, or does not."""
    network = SEES_TIME if sees_time else TIME_BLIND
    what = f"a network that {'sees' if sees_time else 'does not see'} the time ({network})"
    counts = outcomes(network, "random", "identity")
    measured = (
        f"With {what} a random rotation was better in {counts['better']}, worse in "
        f"{counts['worse']} and neither in {counts['open']} of {counts.total()} runs by SW2."
    )
    worth = rotating_is_worth_it(sees_time=sees_time)
    if worth is None:
        return f"No rotation was tried with {what}: train on rotated data and compare."
    if worth:
        return f"Train on rotated data and compare. {measured}"
    return f"Leave the data as it is, or compare before you rotate it. {measured}"


def _over_seeds(values: Sequence[float]) -> str:
    return f"{median(values):.2g} ({min(values):.2g} to {max(values):.2g})"


def _under(row: MeasuredRotation) -> str:
    if row.rotation == "identity":
        return "as it is"
    return f"under {row.rotation}" + ("" if row.rank is None else f" of rank {row.rank}")
