"""Estimators of G = E_t[w_t E[eps eps^T]], and of the tangent kernel K = E_t[w_t E[J J^T]].

| estimator    | timesteps                          | of each network                          |
|--------------|------------------------------------|------------------------------------------|
| `Naive`      | uniform, as in the paper           | one outer product w_t eps eps^T          |
| `Integrated` | in proportion to the squared scale | all ranks of its last layer, integrated  |
|              | from the last layer to the score   | exactly (`inspection.readout`)           |
| `ClosedForm` | none                               | no network is drawn                      |
| `Tangent`    | in proportion to the squared scale | some outer products w_t (J w)(J w)^T, of |
|              | from a prediction to the score     | K instead of G (`inspection.tangents`)   |

`Integrated` averages over the symmetries that the architecture declares and the data do not veto.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from torch import nn

from ..devices import available_memory, require_memory
from ..errors import InputError
from ..inspection.after_last_layer import plain_tail
from ..inspection.checks import Checked
from ..inspection.foreign import read_foreign
from ..inspection.members import Members
from ..inspection.reading import DeclaredReading, Reading
from ..inspection.readout import PlainReadOut, Sampled, readout_of
from ..inspection.subspace_readout import Compressed
from ..inspection.tangents import read_tangents
from ..networks import ScoreNetwork
from ..probes import Probe
from .closed_form import closed_form_factor, has_closed_form
from .plan import CLOSED_FORM, TimestepLaw
from .subspace_choice import Request, fitting

ACTIVATIONS = 3  # of one layer that a forward pass keeps at once: before, in between and after


@dataclass(frozen=True)
class Study:
    """Checked networks, their probe, and the weights of the timesteps.

    Attributes:
        checked: the networks.
        probe: the distribution of their inputs.
        law: how timesteps are drawn and weighted.
        subspace: the requested subspace; None to choose one if the whole does not fit.
    """

    checked: Checked
    probe: Probe
    law: TimestepLaw
    subspace: Request = None

    @property
    def members(self) -> Members:
        """A few of the networks."""
        return self.checked.members

    @property
    def declared(self) -> ScoreNetwork | None:
        """One of our networks if it starts as its class declares; None for other people's."""
        return self.checked.declared


class Estimator(ABC):
    """A way to make an estimate from networks.

    Attributes:
        name: its name in options and plans.
        of: whether it estimates the second moment of the `outputs` or of their `tangent`.
        networks: the default number of networks; None to continue until the error is small enough.
        tolerance: the default whitened error that is small enough.
        stacks: whether parameters are drawn in stacks wherever that is right; otherwise the factory
            makes every network that does not declare how it starts.
        whole: whether the whole of G is accumulated, whatever the last layer is.
        silent: whether networks that output zero are accepted as they are.
    """

    name: ClassVar[str]
    of: ClassVar[str] = "outputs"
    networks: ClassVar[int | None] = None
    tolerance: ClassVar[float] = 0.02
    stacks: ClassVar[bool] = True
    whole: ClassVar[bool] = False
    silent: ClassVar[bool] = False

    def require_size(self, shape: tuple[int, ...], subspace: Request) -> None:
        """Refuse a shape whose factor cannot fit in memory, before any network is made.

        Raises:
            InputError: with the bytes that are needed.
        """
        if self.whole:
            fitting(Sampled(shape), subspace)

    def require_memory(self, network: nn.Module, probe: Probe, subspace: Request) -> None:
        """Refuse one of our networks before it is run, if its factor cannot fit in memory.

        Raises:
            InputError: with the bytes that are needed.
        """
        if not isinstance(network, ScoreNetwork):
            return
        readout = readout_of(network)
        _require_features(readout)
        if not self.whole:
            fitting(readout, subspace, exact=has_closed_form(network, probe))

    def settled(self, study: Study) -> "Estimator":
        """The estimator to use for networks that have been examined."""
        return self

    @abstractmethod
    def read(self, study: Study, rng: np.random.Generator) -> Reading:
        """How the networks are read."""

    def proposal(self, law: TimestepLaw, reading: Reading) -> TimestepLaw:
        """How timesteps are drawn, and the weights that outer products then carry."""
        return law.drawn_by(reading.tail.proposal, reading.tail.total)

    def symmetries(self, study: Study) -> tuple[str, ...]:
        """Symmetries that are averaged over."""
        declared = study.declared
        return declared.symmetries if declared is not None and study.probe.shift_free else ()

    def exact(self, study: Study) -> Float[np.ndarray, "n n"] | None:
        """The factor, if it is known without sampling."""
        return None


class Naive(Estimator):
    """The paper's estimator."""

    name = "naive"
    networks: ClassVar[int | None] = 10_000
    stacks = False
    whole = True

    def read(self, study: Study, rng: np.random.Generator) -> Reading:
        ones = np.ones_like(study.law.weights)
        return Reading(Sampled(study.members.family.shape), plain_tail(ones, 1.0))

    def proposal(self, law: TimestepLaw, reading: Reading) -> TimestepLaw:
        return law

    def symmetries(self, study: Study) -> tuple[str, ...]:
        return ()


class Integrated(Estimator):
    """The estimator that integrates the last layer, if that can be found."""

    name = "integrated"

    def settled(self, study: Study) -> Estimator:
        declared = study.declared
        if declared is None or not has_closed_form(declared, study.probe):
            return self
        # On a subspace networks are drawn anyway, since the whole of a closed form may not fit.
        chosen = fitting(readout_of(declared), study.subspace, exact=True)
        return self if isinstance(chosen, Compressed) else ClosedForm()

    def read(self, study: Study, rng: np.random.Generator) -> Reading:
        declared, law = study.declared, study.law
        if declared is None:
            return read_foreign(study.members, study.probe, law.products, rng)
        return DeclaredReading.of(declared, law.mean_weight, len(law.weights))


class ClosedForm(Estimator):
    """No sampling: the factor is known."""

    name = CLOSED_FORM

    def read(self, study: Study, rng: np.random.Generator) -> Reading:
        """The read-out is reduced to its structure, since the factor has everything else."""
        reading = Integrated().read(study, rng)
        if study.declared is None:
            return reading
        own = readout_of(study.declared)
        return replace(reading, readout=type(own)(own.shape, patch=own.patch))

    def exact(self, study: Study) -> Float[np.ndarray, "n n"] | None:
        if study.declared is None:
            return None
        law, schedule = study.law, study.members.family.schedule
        return closed_form_factor(
            study.declared, study.probe, schedule, law.probabilities, law.weights
        )


class Tangent(Estimator):
    """Products of Jacobians with random directions, for the tangent kernel (`tangents`)."""

    name = "tangent"
    of = "tangent"
    tolerance: ClassVar[float] = 0.05
    whole = True
    silent = True

    def read(self, study: Study, rng: np.random.Generator) -> Reading:
        return read_tangents(study.members, study.probe, study.law.products, rng)


def _require_features(readout: PlainReadOut) -> None:
    """Refuse a shape at which not even one network can be run."""
    places = readout.imposed.rows
    needed = ACTIVATIONS * 4 * readout.width * places
    require_memory(
        needed,
        f"one network with {readout.width} features at each of {places:,} places",
        f"no subspace helps; {int(places * available_memory() / max(needed, 1)):,} places would "
        "fit, choose a smaller shape",
    )


#: The estimators that can be chosen, by quantity and name; the first of each quantity is the
#: default. A closed form is used wherever one is known.
ESTIMATORS: dict[str, dict[str, Estimator]] = {
    "outputs": {e.name: e for e in (Integrated(), Naive())},
    "tangent": {e.name: e for e in (Tangent(),)},
}


def estimator_of(quantity: str, name: str | None = None) -> Estimator:
    """The estimator of a name, or the default one, for the geometry of outputs or tangents.

    Raises:
        InputError: if there is none.
    """
    if quantity not in ESTIMATORS:
        raise InputError(f"a geometry is of {' or '.join(ESTIMATORS)}, got {quantity!r}")
    known = ESTIMATORS[quantity]
    if name is None:
        return next(iter(known.values()))
    if name not in known:
        raise InputError(
            f"unknown estimator {name!r} of {quantity}: expected one of {', '.join(known)}"
        )
    return known[name]
