"""Where batches of networks come from: which networks, looked at where, accumulated how.

Two estimators of one quantity, G = E_t[w_t E[eps eps^T]]:

- `naive`, the paper's: t uniform, one outer product w_t eps eps^T per network.
- `integrated`: t drawn in proportion to w_t, which makes the weight constant, c = E_t[w_t]; the
  last layer integrated exactly (`readout`); many networks at once (`ensemble`); averaged over the
  symmetries that the architecture declares and the data do not veto.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..devices import usable_device
from ..errors import InputError, NetworkError
from ..networks import ScoreFamily, ScoreNetwork
from .checks import check_family
from .closed_form import closed_form_factor
from .ensemble import BuiltEnsemble, DrawnEnsemble, Ensemble
from .plan import (
    ESTIMATORS,
    Plan,
    software_versions,
    timestep_distribution,
    timestep_range,
)
from .precision import Precision, choose_precision, networks_to_compare
from .probes import Probe
from .readout import ReadOut, readout_of, sampled


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
        exact: the factor, where a closed form is known.
    """

    plan: Plan
    family: ScoreFamily
    probe: Probe
    ensemble: Ensemble
    proposal: Float[np.ndarray, " T"]
    weights: Float[np.ndarray, " T"]
    exact: Float[np.ndarray, "n n"] | None

    def with_plan(self, plan: Plan) -> "Source":
        """The same source under the plan of an earlier run that it continues."""
        return replace(self, plan=plan)

    def precision(self, allowed: float) -> Precision:
        """Float32 if it agrees with float64 on a few networks."""
        rng = np.random.default_rng([self.plan.seed, 2])
        t, x = self.inputs(networks_to_compare(self.plan.readout), rng)
        seed = self.plan.seed
        return choose_precision(self.ensemble, self.plan.readout, x, t, seed, allowed)

    def inputs(self, count: int, rng: np.random.Generator) -> tuple[Int[np.ndarray, " N"], Tensor]:
        """Timesteps and probe inputs of `count` networks."""
        t = rng.choice(len(self.proposal), size=count, p=self.proposal)
        return t, self.probe.draw(t, self.family.shape, self.family.schedule, rng)

    def moment(self, batch: int, count: int) -> Float[np.ndarray, "r r"]:
        """The summed moment of one batch; a function of the seed and the batch's number alone."""
        sequence = np.random.SeedSequence(self.plan.seed, spawn_key=(batch,))
        rng = np.random.Generator(np.random.SFC64(sequence))
        t, x = self.inputs(count, rng)
        dtype = self.plan.precision.dtype if self.plan.precision else torch.float32
        h = self.ensemble.evaluate(x, t, rng, dtype)
        root = torch.from_numpy(np.sqrt(self.weights[t])).to(h.device, h.dtype)
        total = self.plan.readout.moment(h * root.view(-1, *(1,) * (h.ndim - 1))).cpu().numpy()
        if not np.isfinite(total).all():
            raise NetworkError(
                f"{self.plan.network} returned NaN or infinity in batch {batch}: check its initial "
                "scale, or leave out timesteps where it fails"
            )
        return total


def prepare(
    family: ScoreFamily,
    probe: Probe,
    *,
    estimator: str,
    weighting: str,
    timesteps: tuple[int, int] | None,
    seed: int,
    device: str,
) -> Source:
    """Check the family and settle how it is sampled; the precision is chosen later."""
    if estimator not in ESTIMATORS:
        known = ", ".join(ESTIMATORS)
        raise InputError(f"unknown estimator {estimator!r}: expected one of {known}")
    if seed < 0:
        raise InputError(f"a seed is a non-negative integer, got {seed}")
    span = timestep_range(timesteps, family.schedule)
    probabilities, weights = timestep_distribution(family.schedule, span, weighting)
    target = usable_device(device)
    member, declared = check_family(family, probe, seed)
    integrated = estimator == "integrated"
    exact, scale, proposal = None, 1.0, probabilities
    if integrated:
        if declared:
            exact = closed_form_factor(declared, probe, family.schedule, probabilities, weights)
        # Drawn in proportion to the weight, which then is the constant c = E_t[w_t].
        constant = float(probabilities @ weights)
        scale, proposal = (
            (1.0 if exact is not None else constant),
            probabilities * weights / constant,
        )
        weights = np.ones_like(weights)
    readout = sampled(family.shape)
    if integrated and declared:
        readout = _readout(declared, exact is not None)
    ensemble = _ensemble(family, declared, readout, target)
    plan = Plan(
        network=family.name,
        fingerprint=family.fingerprint(member),
        shape=family.shape,
        schedule=family.schedule.kind,
        steps=family.schedule.steps,
        probe=probe.describe(),
        estimator="closed form" if exact is not None else estimator,
        weighting=weighting,
        timesteps=span,
        seed=seed,
        batch=ensemble.chunk,
        readout=readout,
        scale=scale,
        precision=None,
        symmetries=declared.symmetries if integrated and declared and probe.shift_free else (),
        versions=software_versions(),
    )
    return Source(plan, family, probe, ensemble, proposal, weights, exact)


def _readout(member: ScoreNetwork, exact: bool) -> ReadOut:
    found = readout_of(member)
    # A closed form is its own factor: of the read-out only the structure remains.
    return ReadOut(found.kind, found.shape, patch=found.patch) if exact else found


def _ensemble(
    family: ScoreFamily, declared: ScoreNetwork | None, readout: ReadOut, device: torch.device
) -> Ensemble:
    if declared is None:
        return BuiltEnsemble(family, device)
    return DrawnEnsemble(declared, "forward" if readout.kind == "sampled" else "features", device)
