"""The exact risk of a trial's network: at its end, and at the moments that its protocol names.

A training stops at each moment, so that the checkpoint holds the network of that step, and then
goes on, bit for bit as if it had not stopped. Measured risks are kept in the directory of the
trial, since a training cannot go back to an earlier step.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from ...errors import ArtefactError
from ...storage.files import atomic_write, write_bytes
from ...storage.sealed import seal_json, sensible, unseal_json
from ..store.outcome import Moment, RiskNumbers

if TYPE_CHECKING:
    from ...data import Law
    from ...diffusion import Trained

TOLERANCE = 0.02  # of the total; the part along the data and nats get 2.5 times as much
_MOMENTS = TypeAdapter(tuple[Moment, ...])


def risk_numbers(trained: "Trained", law: "Law | None", seed: int) -> RiskNumbers:
    """The risk of a trained network on data of a known law; without a law there are no numbers.

    A network that was trained on whitened data predicts a different noise, so it has no risk here.
    """
    if law is None or not (trained.rotation is None or trained.rotation.keeps_noise):
        return RiskNumbers()
    from ...learning import Optimum, measure_risk

    family = trained.family
    risk = measure_risk(
        trained.predict,
        Optimum(law),
        family.schedule,
        family.shape,
        tolerance=TOLERANCE,
        seed=seed,
    )
    return RiskNumbers(
        risk=risk.total,
        risk_error=risk.total_error,
        risk_along=risk.along,
        risk_along_error=risk.along_error,
        # It is a difference, which rounding can bring below zero.
        risk_off=None if risk.off is None else max(0.0, risk.off),
        risk_off_error=risk.off_error,
        nats=risk.nats,
        nats_error=risk.nats_error,
    )


class KeptMoments:
    """The moments of a trial that have been measured, kept in a file.

    Args:
        path: the file.
    """

    def __init__(self, path: Path):
        self._path = path
        self._by_step = {moment.step: moment for moment in _read(path)}

    def __contains__(self, step: int) -> bool:
        return step in self._by_step

    def add(self, step: int, numbers: RiskNumbers) -> None:
        """Add a moment and write the file."""
        self._by_step[step] = Moment(step=step, **numbers.model_dump())
        content = {"moments": json.loads(_MOMENTS.dump_json(self.all))}
        atomic_write(self._path, write_bytes(seal_json(content)))

    @property
    def all(self) -> tuple[Moment, ...]:
        """All moments, in the order of their steps."""
        return tuple(self._by_step[step] for step in sorted(self._by_step))


def _read(path: Path) -> tuple[Moment, ...]:
    """The moments in a file; none if it does not exist or is damaged."""
    if not path.is_file():
        return ()
    try:
        content = unseal_json(path.read_bytes(), path)
        with sensible(path):
            return _MOMENTS.validate_python(content["moments"])
    except ArtefactError:
        return ()
