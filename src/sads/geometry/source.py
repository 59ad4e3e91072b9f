"""Where batches of networks come from: which networks, looked at where, accumulated how.

Two estimators of one quantity, G = E_t[w_t E[eps eps^T]]:

- `naive`, the paper's: t uniform, one outer product w_t eps eps^T per network, every network made
  by the factory.
- `integrated`: t drawn in proportion to the squared scale from the last layer to the score
  (`tail`); the last layer integrated exactly (`readout`), declared by our networks and found in
  others (`foreign`); many networks at once (`ensemble`); averaged over the symmetries that the
  architecture declares and the data do not veto.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..devices import usable_device
from ..draws import DRAWS
from ..errors import InputError, NetworkError
from ..inspection.members import Members
from ..inspection.readout import ReadOut, readout_of, sampled
from ..inspection.tracing import NoLastLayer, Traced
from ..inspection.zero_outputs import POLICIES
from ..networks import ScoreFamily, ScoreNetwork
from ..probes import Probe
from ..randomness import checked_seed, fast_stream, stream
from .checks import check_family
from .closed_form import closed_form_factor
from .drawing import drawn_ensemble
from .ensemble import BuiltEnsemble, DrawnEnsemble, Ensemble, Features, Outputs
from .foreign import Reading, read_foreign
from .integration import Integration
from .plan import (
    ESTIMATORS,
    Plan,
    software_versions,
    timestep_distribution,
    timestep_range,
)
from .precision import Precision, choose_precision, networks_to_compare
from .state import require_factor
from .tail import plain_tail


@dataclass(frozen=True)
class Source:
    """A family, where it is looked at, and the plan of its estimate.

    Attributes:
        plan: what is estimated.
        family: the networks.
        probe: their inputs.
        ensemble: how they are drawn and evaluated.
        proposal: distribution of the timestep.
        weights: of an outer product at each timestep, beyond the plan's scale.
        integration: of the last layer of other people's networks; None for ours and for outputs.
        exact: the factor, where a closed form is known.
    """

    plan: Plan
    family: ScoreFamily
    probe: Probe
    ensemble: Ensemble
    proposal: Float[np.ndarray, " T"]
    weights: Float[np.ndarray, " T"]
    integration: Integration | None
    exact: Float[np.ndarray, "n n"] | None

    def with_plan(self, plan: Plan) -> "Source":
        """The same source under the plan of an earlier run that it continues."""
        return replace(self, plan=plan)

    def precision(self, allowed: float, planned: int | None) -> Precision:
        """Float32 if it agrees with float64 on a few of the networks that are planned."""
        rng = stream(self.plan.seed, "inputs of the comparison of precisions")
        t, x = self.inputs(networks_to_compare(self.plan.readout, planned), rng)

        def moment(part: slice, own: np.random.Generator, dtype: torch.dtype) -> np.ndarray:
            return self.moment_at(x[part], t[part], own, dtype)

        seed, chunk = self.plan.seed, self.ensemble.chunk
        return choose_precision(moment, self.plan.readout, len(t), chunk, seed, allowed)

    def inputs(self, count: int, rng: np.random.Generator) -> tuple[Int[np.ndarray, " N"], Tensor]:
        """Timesteps and probe inputs of `count` networks."""
        t = rng.choice(len(self.proposal), size=count, p=self.proposal)
        return t, self.probe.draw(t, self.family.shape, self.family.schedule, rng)

    def moment(self, batch: int, count: int) -> Float[np.ndarray, "r r"]:
        """The summed moment of one batch; a function of the seed and the batch's number alone."""
        rng = fast_stream(self.plan.seed, "a batch of networks", batch)
        t, x = self.inputs(count, rng)
        dtype = self.plan.precision.dtype if self.plan.precision else torch.float32
        total = self.moment_at(x, t, rng, dtype)
        if not np.isfinite(total).all():
            raise NetworkError(
                f"{self.plan.network} returned NaN or infinity in batch {batch}: check its initial "
                "scale, or leave out timesteps where it fails"
            )
        return total

    def moment_at(
        self, x: Tensor, t: Int[np.ndarray, " N"], rng: np.random.Generator, dtype: torch.dtype
    ) -> Float[np.ndarray, "r r"]:
        """The summed moment of fresh networks at (x_i, t_i)."""
        try:
            readings = self.ensemble.evaluate(x, t, rng, dtype)
        except NoLastLayer as why:
            raise NetworkError(f"{self.plan.network}: {why}; use --estimator naive") from why
        root = np.sqrt(self.weights[t])
        if self.integration is not None:
            try:
                return self.integration.moment(readings, x, t, root, rng).cpu().numpy()
            except NetworkError as error:
                raise NetworkError(f"{self.plan.network}: {error}") from error
        h = readings.h
        factor = torch.from_numpy(root).to(h.device, h.dtype).view(-1, *(1,) * (h.ndim - 1))
        return self.plan.readout.moment(h * factor).cpu().numpy()


def prepare(
    family: ScoreFamily,
    probe: Probe,
    *,
    estimator: str,
    weighting: str,
    timesteps: tuple[int, int] | None,
    seed: int,
    device: str,
    zero_output: str,
) -> Source:
    """Check the family and settle how it is sampled; the precision is chosen later."""
    for what, value, known in (
        ("estimator", estimator, ESTIMATORS),
        ("policy for zero outputs", zero_output, POLICIES),
    ):
        if value not in known:
            raise InputError(f"unknown {what} {value!r}: expected one of {', '.join(known)}")
    seed = checked_seed(seed)
    span = timestep_range(timesteps, family.schedule)
    probabilities, weights = timestep_distribution(family.schedule, span, weighting)
    target = usable_device(device)
    if estimator == "naive":
        require_factor(sampled(family.shape))
    checked = check_family(family, probe, seed, zero_output, span)
    members, declared = checked.members, checked.declared
    family = members.family
    integrated = estimator == "integrated"
    exact = None
    if integrated and declared:
        exact = closed_form_factor(declared, probe, family.schedule, probabilities, weights)
    rng = stream(seed, "reading other networks")
    if not integrated:
        reading = _naive_reading(members, weights)
    elif declared:
        # Drawn in proportion to the weight, which then is the constant c = E_t[w_t].
        constant = float(probabilities @ weights)
        reading = _declared_reading(declared, constant, exact is not None, family.schedule.steps)
    else:
        reading = read_foreign(members, probe, probabilities * weights, rng)
    require_factor(reading.readout, exact=exact is not None)
    tail = reading.tail
    proposal = probabilities
    if integrated:
        proposal = probabilities * weights * tail.proposal / tail.total
        weights = np.ones_like(weights)
        weights[proposal > 0] = 1 / tail.proposal[proposal > 0]
    ensemble = _ensemble(members, declared, reading, probe, target, rng, integrated)
    plan = Plan(
        network=family.name,
        fingerprint=family.fingerprint,
        shape=family.shape,
        schedule=family.schedule.kind,
        steps=family.schedule.steps,
        probe=probe.describe(),
        estimator="closed form" if exact is not None else estimator,
        weighting=weighting,
        timesteps=span,
        seed=seed,
        batch=ensemble.chunk,
        readout=reading.readout,
        scale=1.0 if exact is not None else tail.total,
        precision=None,
        symmetries=declared.symmetries if integrated and declared and probe.shift_free else (),
        versions=software_versions(),
        zero_output=zero_output if checked.redrawn else "explain",
        redrawn=checked.redrawn,
        drawn=isinstance(ensemble, DrawnEnsemble),
        note=reading.note,
        draws=DRAWS,
        assumptions=checked.assumptions,
    )
    return Source(plan, family, probe, ensemble, proposal, weights, reading.integration, exact)


def _naive_reading(members: Members, weights: Float[np.ndarray, " T"]) -> Reading:
    ones = np.ones_like(weights)
    return Reading(sampled(members.family.shape), plain_tail(ones, 1.0), None, "")


def _declared_reading(member: ScoreNetwork, total: float, exact: bool, steps: int) -> Reading:
    """Our networks predict noise: the tail is the identity."""
    found = readout_of(member)
    # A closed form is its own factor: of the read-out only the structure remains.
    readout = ReadOut(found.kind, found.shape, patch=found.patch) if exact else found
    return Reading(readout, plain_tail(np.ones(steps), total), None, "")


def _ensemble(
    members: Members,
    declared: ScoreNetwork | None,
    reading: Reading,
    probe: Probe,
    device: torch.device,
    rng: np.random.Generator,
    integrated: bool,
) -> Ensemble:
    if declared is not None:
        known = declared.distributions()
        if reading.readout.kind == "sampled":
            return DrawnEnsemble(Outputs(declared), known, device)
        own = {n: d for n, d in known.items() if not n.startswith("head.")}
        return DrawnEnsemble(Features(declared), own, device)
    own, reader = reading.integration, Outputs
    if own is not None:
        layer = own.layer
        reader = partial(Traced, index=layer.index, values=own.values, late_bias=layer.late_bias)
    built = BuiltEnsemble(members.family, device, reader, members.size)
    drawn = drawn_ensemble(members, built, own, probe, rng) if integrated else None
    return drawn or built
