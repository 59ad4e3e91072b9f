"""Where batches of networks come from: which networks, looked at where, read how."""

import time
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..devices import usable_device
from ..errors import InputError, NetworkError
from ..foundation.versions import DRAWS
from ..inspection.checks import Checked, check_family
from ..inspection.reading import Batch, Reading
from ..inspection.tracing import NoLastLayer
from ..inspection.zero_outputs import POLICIES
from ..networks import ScoreFamily
from ..probes import Probe
from ..randomness import checked_seed, fast_stream, stream
from .ensemble import BuiltEnsemble, DrawnEnsemble, Ensemble
from .estimators import Estimator, Study
from .plan import Plan, TimestepLaw, software_versions, timestep_range
from .precision import Precision, choose_precision, networks_to_compare
from .stacked_parameters import drawn_ensemble
from .subspace_choice import Request, fitting, sketched


@dataclass(frozen=True)
class Source:
    """A family, where it is looked at, and the plan of its estimate.

    Attributes:
        plan: what is estimated.
        family: the networks.
        probe: their inputs.
        ensemble: how they are drawn and evaluated.
        law: how timesteps are drawn and weighted, beyond the plan's scale.
        reading: what becomes of what is read of the networks.
        exact: the factor, where a closed form is known.
        sketching: whether the networks are those of a sketch, which shares none with the estimate.
        pace: seconds that one network takes, as measured where precisions were compared.
    """

    plan: Plan
    family: ScoreFamily
    probe: Probe
    ensemble: Ensemble
    law: TimestepLaw
    reading: Reading
    exact: Float[np.ndarray, "n n"] | None
    sketching: bool = False
    pace: float | None = None

    def with_plan(self, plan: Plan) -> "Source":
        """The same source under the plan of an earlier run that it continues."""
        return replace(self, plan=plan, reading=replace(self.reading, readout=plan.readout))

    def precision(self, allowed: float, planned: int | None) -> tuple[Precision, float]:
        """Float32 if it agrees with float64 on a few of the networks that are planned.

        Also returned are the seconds that one of these took in the precision that is chosen.
        """
        rng = stream(self.plan.seed, "inputs of the comparison of precisions")
        t, x = self.inputs(networks_to_compare(self.plan.readout, planned), rng)
        seconds = {torch.float32: 0.0, torch.float64: 0.0}

        def moment(part: slice, own: np.random.Generator, dtype: torch.dtype) -> np.ndarray:
            started = time.perf_counter()
            found = self.moment_at(x[part], t[part], own, dtype)
            seconds[dtype] += time.perf_counter() - started
            return found

        seed, chunk = self.plan.seed, self.ensemble.chunk
        chosen = choose_precision(moment, self.plan.readout, len(t), chunk, seed, allowed)
        return chosen, seconds[chosen.dtype] / len(t)

    def inputs(self, count: int, rng: np.random.Generator) -> tuple[Int[np.ndarray, " N"], Tensor]:
        """Timesteps and probe inputs of `count` networks."""
        chances = self.law.probabilities
        t = rng.choice(len(chances), size=count, p=chances)
        return t, self.probe.draw(t, self.family.shape, self.family.schedule, rng)

    def moment(self, batch: int, count: int) -> Float[np.ndarray, "r c"]:
        """The summed moment of one batch; a function of the seed and the batch's number alone."""
        rng = self._stream(batch)
        t, x = self.inputs(count, rng)
        dtype = self.plan.precision.dtype if self.plan.precision else torch.float32
        total = self.moment_at(x, t, rng, dtype)
        if not np.isfinite(total).all():
            raise NetworkError(
                f"{self.plan.network} returned NaN or infinity in batch {batch}: check its initial "
                "scale, or leave out timesteps where it fails"
            )
        return total

    def _stream(self, batch: int) -> np.random.Generator:
        if self.sketching:
            return fast_stream(self.plan.seed, "a batch of networks of a sketch", batch)
        return fast_stream(self.plan.seed, "a batch of networks", batch)

    def moment_at(
        self, x: Tensor, t: Int[np.ndarray, " N"], rng: np.random.Generator, dtype: torch.dtype
    ) -> Float[np.ndarray, "r c"]:
        """The summed moment of fresh networks at (x_i, t_i)."""
        try:
            readings = self.ensemble.evaluate(x, t, rng, dtype)
            at = Batch(x, t, np.sqrt(self.law.weights[t]))
            return self.reading.moment(readings, at, rng).cpu().numpy()
        except NoLastLayer as why:
            raise NetworkError(f"{self.plan.network}: {why}; use the naive estimator") from why


def prepare(
    family: ScoreFamily,
    probe: Probe,
    *,
    estimator: Estimator,
    weighting: str,
    timesteps: tuple[int, int] | None,
    seed: int,
    device: str,
    zero_output: str,
    subspace: Request = None,
) -> Source:
    """Check the family and settle how it is sampled; the precision is chosen later."""
    if zero_output not in POLICIES:
        raise InputError(
            f"unknown policy for zero outputs {zero_output!r}: expected one of "
            f"{', '.join(POLICIES)}"
        )
    seed = checked_seed(seed)
    span = timestep_range(timesteps, family.schedule)
    law = TimestepLaw.of(family.schedule, span, weighting)
    target = usable_device(device)
    estimator.require_size(family.shape, subspace)
    checked = check_family(
        family,
        probe,
        seed,
        zero_output,
        span,
        before_running=lambda network: estimator.require_memory(network, probe, subspace),
        silent=estimator.silent,
    )
    study = Study(checked, probe, law, subspace)
    estimator = estimator.settled(study)
    exact = estimator.exact(study)
    rng = stream(seed, "reading other networks")
    reading = estimator.read(study, rng)
    readout = fitting(reading.readout, subspace, exact=exact is not None)
    reading = replace(reading, readout=readout)
    ensemble = _ensemble(checked, reading, probe, target, rng, stacks=estimator.stacks)
    plan = _plan(
        study,
        estimator,
        reading,
        weighting=weighting,
        span=span,
        seed=seed,
        zero_output=zero_output,
        exact=exact is not None,
        ensemble=ensemble,
    )
    family = checked.members.family
    return Source(plan, family, probe, ensemble, estimator.proposal(law, reading), reading, exact)


def _plan(
    study: Study,
    estimator: Estimator,
    reading: Reading,
    *,
    weighting: str,
    span: tuple[int, int],
    seed: int,
    zero_output: str,
    exact: bool,
    ensemble: Ensemble,
) -> Plan:
    """Everything that decides the value of the estimate."""
    checked, family = study.checked, study.checked.members.family
    return Plan(
        network=family.name,
        fingerprint=family.fingerprint,
        shape=family.shape,
        schedule=family.schedule.kind,
        steps=family.schedule.steps,
        probe=study.probe.describe(),
        estimator=estimator.name,
        weighting=weighting,
        timesteps=span,
        seed=seed,
        batch=ensemble.chunk,
        readout=reading.readout,
        scale=1.0 if exact else reading.tail.total,
        precision=None,
        symmetries=() if sketched(reading.readout) else estimator.symmetries(study),
        versions=software_versions(),
        zero_output=zero_output if checked.redrawn else "explain",
        redrawn=checked.redrawn,
        drawn=isinstance(ensemble, DrawnEnsemble),
        note=reading.note,
        draws=DRAWS,
        assumptions=checked.assumptions,
        of=estimator.of,
        parameters=dict(family.schedule.parameters),
    )


def _ensemble(
    checked: Checked,
    reading: Reading,
    probe: Probe,
    device: torch.device,
    rng: np.random.Generator,
    *,
    stacks: bool,
) -> Ensemble:
    """Networks drawn in stacks where that is right and wanted, built one by one elsewhere."""
    declared, members = checked.declared, checked.members
    if declared is not None:
        integrated = reading.integrated or ()
        known = {n: d for n, d in declared.distributions().items() if n not in integrated}
        return DrawnEnsemble(reading.reader(declared), known, device)
    built = BuiltEnsemble(members.family, device, reading.reader, members.size)
    drawn = drawn_ensemble(members, built, reading, probe, rng) if stacks else None
    return drawn or built
