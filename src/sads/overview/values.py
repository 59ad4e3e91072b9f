"""What a summary says of an architecture, as numbers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..doctor import Diagnosis
from ..foundation.data_frames import as_frame
from ..foundation.rendering import Shown, as_text
from ..geometry.anisotropy import Place
from ..learning import Forecast
from ..networks.adapters import Assumptions

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, eq=False)
class Summary(Shown):
    """What there is to know about an architecture in a few seconds.

    What is not known yet or could not be measured is None; `untold` says why.

    Attributes:
        network: name of the architecture.
        spelled: whether commands accept that name.
        shape: the shape of one sample.
        data: what the forecast is about.
        parameters: the number of entries of all parameters.
        trained: the number of those that training changes.
        origin: where fresh networks come from, for a module that was built already: its
            `configuration`, the `arguments` of its constructor, its method to `reset` it, or
            distributions `measured` of its parameters; None otherwise.
        assumptions: what its networks are taken for.
        diagnosis: what the doctor says.
        effective: the number of directions that would hold the scores of untrained networks if they
            were spread evenly.
        effective_error: its standard error.
        networks: untrained networks behind the geometry.
        places: where the mean of each channel and the low frequencies lie, by name.
        forecast: what one training step learns along each direction.
        untold: parts that could not be measured, with the reason.
        seconds: the time spent so far.

    >>> import sads
    >>> summary = sads.summary("cnn,width=8,depth=1", shape="1x4x4")
    >>> summary.parameters, summary.effective < 16
    (225, True)
    """

    network: str
    shape: tuple[int, ...]
    data: str
    spelled: bool = False
    parameters: int | None = None
    trained: int | None = None
    origin: str | None = None
    assumptions: Assumptions | None = None
    diagnosis: Diagnosis | None = None
    effective: float | None = None
    effective_error: float | None = None
    networks: int | None = None
    places: tuple[tuple[str, Place], ...] = ()
    forecast: Forecast | None = None
    untold: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0

    def __str__(self) -> str:
        return as_text(self)

    def rows(self) -> list[dict[str, Any]]:
        """The numbers, with their errors where they have one."""
        rows = [
            ("parameters", self.parameters, None),
            ("effective directions", self.effective, self.effective_error),
            *((f"relative eigenvalue, {name}", p.relative, None) for name, p in self.places),
        ]
        if self.forecast is not None:
            told = self.forecast
            drifts = zip(told.labels, told.drift, told.drift_error, strict=True)
            rows += [(f"drift, {name}", float(d), float(e)) for name, d, e in drifts]
        return [{"name": n, "value": v, "error": e} for n, v, e in rows if v is not None]

    def to_frame(self) -> "pandas.DataFrame":
        """The numbers as a table; needs pandas."""
        return as_frame(self.rows())
