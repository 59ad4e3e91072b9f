"""A geometry in plain values and in words."""

from dataclasses import asdict
from typing import Any

from ..directions import Spectrum, headline
from .plan import Plan
from .planned import provenance, redrawn, sampled_from, taken_as
from .result import Geometry


def summary(geometry: Geometry) -> dict[str, Any]:
    """What `sads geometry --json` prints."""
    spectrum = geometry.spectrum()
    plan = geometry.plan
    return {
        **provenance(plan),
        "networks": geometry.networks,
        "finished": geometry.state.finished,
        "seconds": geometry.state.seconds,
        "symmetries": list(geometry.symmetries),
        "vetoed_symmetries": [s for s in plan.symmetries if s not in geometry.symmetries],
        "trace": geometry.trace,
        "whitened_error": geometry.whitened_error,
        "eigenvalues": spectrum.eigenvalues.tolist(),
        "eigenvalue_errors": spectrum.eigenvalue_errors.tolist(),
        "bands": [
            {
                "first": band.first,
                "last": band.last,
                "overlap": band.overlap,
                "overlap_error": band.overlap_error,
                "certified": band.certified,
                "null": band.null,
                "exact": band.exact,
            }
            for band in spectrum.bands
        ],
        "resolution": [asdict(level) for level in spectrum.resolution],
        "resolution_median": spectrum.resolution_median,
        "resolution_worst": spectrum.resolution_worst,
    }


def title(geometry: Geometry) -> str:
    """One short line."""
    if geometry.exact:
        return f"{geometry.plan.network}: exact geometry"
    error = geometry.whitened_error
    known = "" if error is None else f", whitened error {error:.2g}"
    return f"{geometry.plan.network}: {geometry.networks:,} untrained networks{known}"


def sentences(geometry: Geometry) -> list[str]:
    """What a reader wants to know first."""
    spectrum = geometry.spectrum()
    plan, size = geometry.plan, geometry.structure.size
    values = spectrum.eigenvalues
    shape = "x".join(map(str, plan.shape))
    said = [*taken_as(plan), f"{plan.network} on {shape}, probe {plan.probe}: {_how(geometry)}."]
    said += redrawn(plan)
    if plan.note:
        said.append(f"Estimated from {sampled_from(plan)}: {plan.note}.")
    null = spectrum.null_directions
    if not geometry.state.finished:
        said.append("The run is not finished: the same command goes on with it.")
    if geometry.structure.kind == "isotropic":
        said.append(f"All {size} directions are alike: the geometry is isotropic.")
    elif len(spectrum.bands) == 1 and not null:
        said.append("So far the networks tell no direction apart from the others: take more.")
    else:
        smallest = values[size - null - 1]
        missing = "no network has shown yet" if spectrum.unseen else "it cannot produce at all"
        ratio = values[0] / smallest if smallest > 0 else float("inf")
        said.append(
            f"Largest eigenvalue {values[0]:.4g}{_meaning(plan)}, smallest {smallest:.4g}"
            f"{f' and {null} directions that {missing}' if null else ''}: "
            f"a ratio of {ratio:.3g}."
        )
    said.append(known(spectrum))
    vetoed = [s for s in plan.symmetries if s not in geometry.symmetries]
    if vetoed:
        said.append(f"The networks contradict the declared symmetry {', '.join(vetoed)}: not used.")
    return said


def _meaning(plan: Plan) -> str:
    return " (modelled worst)" if plan.of == "outputs" else " (moved most by a training step)"


def known(spectrum: Spectrum) -> str:
    """How well the directions are known, as a sentence."""
    text = headline(spectrum)
    return f"{text[0].upper()}{text[1:]}."


def _how(geometry: Geometry) -> str:
    if geometry.exact:
        return "exact, by a closed form, no network was drawn"
    error = geometry.whitened_error
    known = "too few networks to tell the error" if error is None else f"whitened error {error:.2g}"
    precision = geometry.plan.precision
    features = "" if precision is None else f", features in {precision.features}"
    if precision is not None and precision.difference is None:
        features += ", not checked against float64"
    return (
        f"{known} from {geometry.networks:,} networks in {geometry.state.seconds:.1f} s "
        f"({geometry.plan.estimator}{features})"
    )
