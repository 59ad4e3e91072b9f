"""How often forecasts have been right, and which method to use for which kind of network.

`benchmarks/forecast.py` trains a registered pool of architectures and writes here, into
`validity.json`, how well each method predicted the order in which directions are learned (early)
and the order of the risk that is left (late). The measure is Spearman's correlation over the
directions as a share of the ceiling that the noise of both sides allows; only architectures on
whose order halves of the trainings agree are counted.

Methods stand on a ladder of cost. The cheapest that has passed for networks of the same class is
used; for classes with fewer than three cases that had an order, the cheapest that has passed over
the whole pool is used. Eigenvectors of G and cosines have separate records; that of the cosines
also stands for all other directions.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from torch import nn

from ..networks.adapters import Adapted
from .forecast_method import Method
from .one_step import OneStep
from .pilot import Pilot
from .tangent_flow import TangentFlow

FILE = Path(__file__).with_name("validity.json")  # written by the benchmark
LADDER: tuple[str, ...] = (OneStep.name, TangentFlow.name, Pilot.name)  # by cost
ALL = "all"
MINUS_G = "minus G"  # the conjecture that small eigenvalues are learned first
FEWEST = 3  # cases with an order from which a class has a record of its own


@dataclass(frozen=True)
class Validity:
    """How one method did on the networks of one kind.

    Attributes:
        basis: directions along which it was judged, `eigenvectors` or `cosines`.
        outcome: `early`, the order of learning, or `late`, that of the risk left.
        method: one of the ladder; late also `G`, the eigenvalue, and early `minus G`.
        kind: class of the networks, or `all`.
        looked_at: the number of pairs of architecture and dataset.
        with_order: the number of those where halves of the trainings agree on the order.
        median: the median of Spearman's correlation over its ceiling among these; None without any.
        low: lower end of the median's 95 % interval, where it is known.
        high: upper end.
        right: the number of pairs at or above the bar.
        bar: the least value that counts as right.
    """

    basis: str
    outcome: str
    method: str
    kind: str
    looked_at: int
    with_order: int
    median: float | None
    low: float | None
    high: float | None
    right: int
    bar: float

    @property
    def passed(self) -> bool:
        """Whether the median reaches the bar."""
        return self.median is not None and self.median >= self.bar


@cache
def validities() -> tuple[Validity, ...]:
    """All records; empty before a validation has been made."""
    if not FILE.is_file():
        return ()
    return tuple(Validity(**row) for row in json.loads(FILE.read_text())["rows"])


def validity_of(basis: str, outcome: str, method: str, kind: str) -> Validity | None:
    """The record of a method for a kind of network, or else for all kinds together."""
    key = (basis, outcome, method)
    rows = [v for v in validities() if (v.basis, v.outcome, v.method) == key]
    own = [v for v in rows if v.kind == kind and v.with_order >= FEWEST]
    return next(iter(own or [v for v in rows if v.kind == ALL]), None)


def kind_of(network: nn.Module) -> str:
    """The class of a network, without its adapters."""
    while isinstance(network, Adapted):
        network = network.network
    return type(network).__name__


def method_named(name: str, *, steps: int) -> Method:
    """A method of the ladder for a training of so many steps."""
    if name == OneStep.name:
        return OneStep()
    return TangentFlow(steps=steps) if name == TangentFlow.name else Pilot(steps=min(32, steps))


def cheapest_passed(basis: str, kind: str) -> str:
    """The first method of the ladder that has passed for a kind; one step if none has."""
    known = {name: validity_of(basis, "early", name, kind) for name in LADDER}
    return next((name for name, v in known.items() if v is not None and v.passed), LADDER[0])
