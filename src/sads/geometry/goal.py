"""When an estimate is good enough."""

from dataclasses import dataclass

from ..directions import FOLDS
from ..errors import InputError
from .estimators import Estimator

DEFAULT_TOLERANCE = 0.02
MOST_NETWORKS = 10**9  # the paper uses 10^6; more than this is surely a mistake


@dataclass(frozen=True)
class Goal:
    """When to stop: at a number of networks, or at a whitened error.

    Attributes:
        networks: the number of networks, if that is the goal.
        tolerance: the whitened error, if that is the goal.
        first_look: the number of networks of a first look before the goal.
    """

    networks: int | None
    tolerance: float | None
    first_look: int | None = None

    @classmethod
    def of(
        cls,
        networks: int | None,
        tolerance: float | None,
        estimator: Estimator,
        first_look: int | None = None,
    ) -> "Goal":
        """The goal that the options name, or the estimator's default."""
        if networks is not None and tolerance is not None:
            raise InputError("give either a number of networks or a tolerance, not both")
        if networks is not None and networks < FOLDS:
            raise InputError(f"at least {FOLDS} networks are needed for error bars, got {networks}")
        if networks is not None and networks > MOST_NETWORKS:
            raise InputError(
                f"at most {MOST_NETWORKS:,} networks are estimated, got {networks:.3g}"
            )
        if tolerance is not None and not 0 < tolerance < 1:
            raise InputError(f"the tolerance is a whitened error between 0 and 1, got {tolerance}")
        if networks is None and tolerance is None:
            networks = estimator.networks
            return cls(networks, None if networks else estimator.tolerance)
        return cls(networks, tolerance, first_look)

    @property
    def allowed_rounding(self) -> float:
        """The change that float32 may make to the geometry: a tenth of the intended error."""
        return (self.tolerance or DEFAULT_TOLERANCE) / 10

    def batch(self, chunk: int) -> int:
        """The number of networks in a batch, such that every fold gets some."""
        return chunk if self.networks is None else max(1, min(chunk, self.networks // FOLDS))
