"""An alignment and a rotation in plain values and in words."""

from typing import Any

from ..directions import headline
from ..geometry import Geometry
from ..geometry.planned import provenance, taken_as
from .align import Alignment
from .rotation import Rotation

COARSE = 0.05  # a geometry whose median window is a larger share of its levels gets a warning


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
    said = [
        *taken_as(alignment.geometry.plan),
        f"{alignment.data} ({alignment.samples:,} samples) in the geometry of "
        f"{network}: alpha {alignment.alpha:.5g} ± {alignment.alpha_error:.2g}.",
    ]
    if alignment.position is None:
        said.append("The geometry is isotropic: all rotations of the data are alike.")
        return said + notes(alignment)
    said.append(
        f"Over all rotations alpha goes from {alignment.alpha_min:.5g} to "
        f"{alignment.alpha_max:.5g}; the data is at {alignment.position:.1%} of the way."
    )
    said.append(
        f"That is {alignment.relative:.3g} ± {alignment.relative_error:.1g} times the alpha of "
        "data without preferred directions (below 1: the data lies where this network models well)."
    )
    return said + notes(alignment)


def notes(alignment: Alignment) -> list[str]:
    """What limits the numbers."""
    said = []
    geometry = alignment.geometry
    if alignment.singular:
        said.append(
            f"Fewer samples ({alignment.samples:,}) than dimensions ({len(alignment.sigmas):,}): "
            "the second moment is singular and the extremes are those of these samples."
        )
    low, high = alignment.debiased
    if not geometry.exact and alignment.position is not None:
        said.append(
            "The extremes are exact for these estimates, and too far apart for the true ones, "
            f"since noise spreads both spectra; without the bias of G's: {low:.5g} to {high:.5g}."
        )
    if coarse(geometry):
        said.append(
            f"Of this geometry, {headline(geometry.spectrum())}: alpha is sound, but single "
            "directions and rotations are not; let sads geometry run longer."
        )
    return said


def coarse(geometry: Geometry) -> bool:
    """Whether directions are spread over so many neighbours that single ones mean little."""
    spectrum = geometry.spectrum()
    return spectrum.resolution_median > COARSE * len(spectrum.resolution) or spectrum.unseen


def rotation_summary(rotation: Rotation) -> dict[str, Any]:
    """What `sads rotate --json` prints."""
    return rotation.origin.model_dump(mode="json") | {
        "error": rotation.error,
        "digest": rotation.digest,
    }


# Measured by benchmarks/rotations.py; docs/results.md has the protocol and the errors.
MEASURED = (
    "What to expect (iddpm, five seeds, held-out SW2): min brought 8x8 digits from 1.2 to 0.19 "
    "and 16x16 MNIST from 6.6 to 0.29; random brought them to 0.20 and 0.23 and was better after "
    "short trainings. Leaving the largest eigenvalue is what helped, not reaching the smallest: "
    "try --kind random beside it. --rank 1 keeps most directions in place and brought the digits "
    "to 0.15, MNIST to 0.15 to 0.42 in four seeds of five and to 4.5 in the other."
)


def rotation_sentences(rotation: Rotation) -> list[str]:
    """What was made, what it does to alpha, and where it was a choice."""
    origin = rotation.origin
    moved = "all data directions" if origin.rank is None else f"the leading {origin.rank}"
    said = [
        f"Rotation {origin.kind} of {moved}: alpha from {origin.alpha_before:.5g} to "
        f"{origin.alpha:.5g}, orthogonal within {rotation.error:.1g}."
    ]
    network, data = origin.repeated
    if network or data:
        said.append(
            f"Eigenvalues repeat ({network:,} of the geometry's directions, {data:,} of the "
            "data's): other rotations reach the same alpha; this choice depends on the eigenspaces "
            "alone."
        )
    if origin.kind == "min":
        said.append(MEASURED)
    return said
