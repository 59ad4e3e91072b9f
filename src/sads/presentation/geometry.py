"""A geometry, and the plan of one that is not estimated yet, in plain values and in words."""

from dataclasses import asdict
from typing import Any

from ..devices import available_memory
from ..directions import Spectrum
from ..geometry import Geometry
from ..geometry.plan import OUTPUTS, Plan
from . import assumptions, directions
from .directions import headline
from .markup import facts
from .numbers import sizes

LOOKED_AT = 1024  # rows of a factor that a notebook decomposes without being asked


def provenance(plan: Plan) -> dict[str, Any]:
    """What a plan says of an estimate, for `--json`."""
    return {
        "network": plan.network,
        "assumptions": None if plan.assumptions is None else asdict(plan.assumptions),
        "shape": list(plan.shape),
        "probe": plan.probe,
        "of": plan.of,
        "estimator": plan.estimator,
        "weighting": plan.weighting,
        "timesteps": list(plan.timesteps),
        "seed": plan.seed,
        "structure": plan.readout.structure.imposed.kind,
        "subspace": plan.subspace,
        "readout": plan.readout.last_layer,
        "readout_note": plan.note,
        "zero_output": plan.zero_output,
        "redrawn": list(plan.redrawn),
        "precision": "float64" if plan.precision is None else plan.precision.features,
        "precision_check": None if plan.precision is None else plan.precision.difference,
        "symmetries": list(plan.symmetries),
        "versions": plan.versions,
    }


def summary(geometry: Geometry) -> dict[str, Any]:
    """What `sads geometry --json` prints."""
    spectrum = geometry.spectrum()
    names = ("first", "last", "overlap", "overlap_error", "certified", "null", "exact")
    return {
        **provenance(geometry.plan),
        "networks": geometry.networks,
        "finished": geometry.state.finished,
        "seconds": geometry.state.seconds,
        "symmetries": list(geometry.symmetries),
        "vetoed_symmetries": _vetoed(geometry),
        "trace": geometry.trace,
        "inside": geometry.inside[0],
        "inside_error": geometry.inside[1],
        "whitened_error": geometry.whitened_error,
        "eigenvalues": spectrum.eigenvalues.tolist(),
        "eigenvalue_errors": spectrum.eigenvalue_errors.tolist(),
        "bands": [{name: getattr(band, name) for name in names} for band in spectrum.bands],
        "resolution": [asdict(level) for level in spectrum.resolution],
        "resolution_median": spectrum.resolution_median,
        "resolution_worst": spectrum.resolution_worst,
    }


def _vetoed(geometry: Geometry) -> list[str]:
    """Symmetries that the architecture declares and the networks contradict."""
    return [name for name in geometry.plan.symmetries if name not in geometry.symmetries]


def title(geometry: Geometry) -> str:
    """A title for plots."""
    if geometry.exact:
        return f"{geometry.plan.network}: exact geometry"
    error = geometry.whitened_error
    known = "" if error is None else f", whitened error {error:.2g}"
    return f"{geometry.plan.network}: {geometry.networks:,} untrained networks{known}"


def html(geometry: Geometry) -> str:
    """How it was made, and its spectrum unless that takes long."""
    rows = [
        ("shape", sizes(geometry.shape)),
        ("probe", geometry.plan.probe),
        ("networks", networks_behind(geometry)),
        ("whitened error", whitened_error(geometry)),
    ]
    if not geometry.state.finished:
        rows.append(("state", "not finished"))
    small = geometry.structure.rows <= LOOKED_AT
    picture = directions.html(geometry.spectrum()) if small else ""
    return facts(f"Geometry of {geometry.plan.network}", rows) + picture


def networks_behind(geometry: Geometry) -> str:
    """How many networks were drawn."""
    return "none: a closed form" if geometry.exact else f"{geometry.networks:,}"


def whitened_error(geometry: Geometry) -> str:
    """The whitened error, where it is known."""
    error = geometry.whitened_error
    return "not yet known" if error is None else f"{error:.2g}"


def sentences(geometry: Geometry) -> list[str]:
    """What a reader wants to know first."""
    spectrum, plan = geometry.spectrum(), geometry.plan
    subject = f"{plan.network} on {sizes(plan.shape)}, probe {plan.probe}"
    lines = [*taken_as(plan), f"{subject}: {_how(geometry)}.", *subspace(geometry), *_redrawn(plan)]
    if plan.note:
        lines.append(f"Estimated from {_sampled_from(plan)}: {plan.note}.")
    if not geometry.state.finished:
        lines.append("The run is not finished: the same command continues it.")
    lines += [_range_of_eigenvalues(geometry), known(spectrum)]
    if vetoed := _vetoed(geometry):
        lines.append(
            f"The networks contradict the declared symmetry {', '.join(vetoed)}; it is not used."
        )
    return lines


def subspace(geometry: Geometry) -> list[str]:
    """The subspace in which it was estimated and what lies outside; empty for the whole space."""
    plan, structure = geometry.plan, geometry.structure
    if plan.subspace is None:
        return []
    rows, (share, error) = structure.imposed.rows, geometry.inside
    return [
        f"Estimated in the subspace {plan.subspace}: {structure.directions:,} of "
        f"{structure.size:,} directions, with {share:.2%} ± {error:.1%} of tr G inside. "
        "Eigenvalues, windows and certificates are of the geometry compressed to it.",
        f"The whole factor of {rows:,} x {rows:,} would take {_gibibytes(plan.whole_memory)}.",
    ]


def _gibibytes(size: int) -> str:
    return f"{size / 2**30:,.3g} GiB"


def _range_of_eigenvalues(geometry: Geometry) -> str:
    spectrum, size = geometry.spectrum(), geometry.structure.directions
    null = spectrum.null_directions
    if geometry.structure.imposed.kind == "isotropic":
        return f"All {size} directions are alike: the geometry is isotropic."
    if len(spectrum.bands) == 1 and not null:
        return "The networks drawn so far do not distinguish any directions: draw more."
    largest, smallest = spectrum.eigenvalues[0], spectrum.eigenvalues[size - null - 1]
    ratio = largest / smallest if smallest > 0 else float("inf")
    never = "it cannot produce" if geometry.plan.of == OUTPUTS else "no step moves it along"
    missing = "no network has shown yet" if spectrum.unseen else f"{never} at all"
    without = f" and {null} directions that {missing}" if null else ""
    within = " in the subspace" if geometry.compressed else ""
    return (
        f"Largest eigenvalue {largest:.4g} ({_meaning(geometry.plan)}), smallest "
        f"{smallest:.4g}{within}{without}: a ratio of {ratio:.3g}."
    )


def _meaning(plan: Plan) -> str:
    return "most output before training" if plan.of == OUTPUTS else "moved most by a training step"


def known(spectrum: Spectrum) -> str:
    """How well the directions are known, as a sentence."""
    text = headline(spectrum)
    return f"{text[0].upper()}{text[1:]}."


def _how(geometry: Geometry) -> str:
    if geometry.exact:
        return "exact, by a closed form, no network was drawn"
    error, precision = geometry.whitened_error, geometry.plan.precision
    known = "too few networks to tell the error" if error is None else f"whitened error {error:.2g}"
    features = "" if precision is None else f", features in {precision.features}"
    if precision is not None and precision.difference is None:
        features += ", not checked against float64"
    return (
        f"{known} from {geometry.networks:,} networks in {geometry.state.seconds:.1f} s "
        f"({geometry.plan.estimator}{features})"
    )


def taken_as(plan: Plan) -> list[str]:
    """The first line of every result: what the networks are taken for."""
    return [] if plan.assumptions is None else [assumptions.sentence(plan.assumptions)]


def _redrawn(plan: Plan) -> list[str]:
    """What was redrawn in networks that output zero."""
    if not plan.redrawn:
        return []
    shown = ", ".join(plan.redrawn[:3]) + (", ..." if len(plan.redrawn) > 3 else "")
    return [f"It outputs zero at initialisation; redrawn for this estimate: {shown}."]


def _sampled_from(plan: Plan) -> str:
    """What is drawn at random where the last layer is not integrated exactly."""
    kinds = {"random": "random last layers", "tangent": "products of Jacobians"}
    return kinds.get(plan.readout.last_layer, "plain outputs")


def plan_summary(plan: Plan) -> dict[str, Any]:
    """What `sads geometry --dry-run --json` prints."""
    return provenance(plan) | {
        "rows": plan.readout.rows,
        "batch": plan.batch,
        "memory_bytes": _bytes(plan),
        "memory_available": available_memory(),
    }


def plan_sentences(plan: Plan) -> list[str]:
    """What `sads geometry --dry-run` prints."""
    rows = plan.readout.rows
    subject = f"{plan.network} on {sizes(plan.shape)}, probe {plan.probe}"
    lines = [*taken_as(plan), f"{subject}.", *_redrawn(plan)]
    if plan.estimator == "closed form":
        lines.append("Its geometry is known by a closed form: no network will be drawn.")
    else:
        lines += [_last_layer(plan), _precision(plan)]
    if plan.subspace is not None:
        whole = plan.readout.structure.imposed.rows
        lines.append(
            f"Estimated in the subspace {plan.subspace}, {rows:,} of {whole:,} rows of the factor; "
            f"the whole would take {_gibibytes(plan.whole_memory)}."
        )
    needed, there = (size / 2**30 for size in (_bytes(plan), available_memory()))
    lines.append(
        f"The factor has {rows:,} x {rows:,} entries; at its peak the estimate needs about "
        f"{max(needed, 0.01):.2g} GiB of memory for it, {there:.3g} GiB are available."
    )
    return [*lines, "Nothing was estimated: leave out --dry-run to do so."]


def _bytes(plan: Plan) -> int:
    return plan.readout.peak_memory(exact=plan.exact)


def _last_layer(plan: Plan) -> str:
    kinds = {"convolution": "a convolution", "tokens": "linear on tokens", "dense": "dense"}
    if plan.readout.last_layer in kinds:
        return f"Its last layer ({kinds[plan.readout.last_layer]}) is integrated exactly."
    why = plan.note or f"the estimator is {plan.estimator}"
    return f"Its last layer is not integrated, {_sampled_from(plan)} are sampled: {why}."


def _precision(plan: Plan) -> str:
    precision = plan.precision
    if precision is None or precision.difference is None:
        return "Features in float32, the only precision that it runs in."
    return (
        f"Features in {precision.features}: float32 and float64 differ by "
        f"{precision.difference:.1g} on {precision.networks} networks, {precision.allowed:.1g} is "
        "allowed."
    )
