"""The examination: all checks on one architecture.

Geometries take most of the time, and most questions about them are soon decided: how much lies on
low frequencies, and whether flips or probes change them by more than a limit. So they are looked at
twice: first after a part of the networks, where the examination ends if every answer is far enough
from its limit that more networks will not change it, and then after all of them. Tests share their
level between the looks, so a healthy network is not accused more often than by a single look.
"""

from collections import deque
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import TYPE_CHECKING

from ..directions import FOLDS
from ..errors import InputError, NetworkError
from ..foundation.data_frames import as_frame
from ..foundation.rendering import Shown, as_text
from ..geometry import Gaussian, Geometry, Probe, Zero, running_estimates
from ..geometry.subspace_choice import QUICK, Request
from ..networks import ScoreFamily
from ..networks.adapters import Assumptions
from ..randomness import checked_seed
from .finding import SEVERITIES, Finding, NotChecked, Undecided
from .findings import GEOMETRIES, RESPONSES
from .patient import Examined, admit

if TYPE_CHECKING:
    import pandas

NETWORKS = 768  # of each geometry, at most: whitened error 0.05 for iddpm-16
FIRST, WORTH = 72, 4  # networks of a first look; it pays if WORTH times as many may follow
Report = Callable[[str], None]


@dataclass(frozen=True)
class Diagnosis(Shown):
    """What the doctor says about one architecture.

    Attributes:
        network: the name of the architecture.
        shape: the shape of one sample.
        findings: the most severe first.
        networks: the number of networks behind each geometry.
        skipped: checks that could not be made, with the reason.
        assumptions: what the architecture is taken for.

    >>> import sads
    >>> diagnosis = sads.diagnose("cnn", shape="1x4x4", networks=12)
    >>> [finding.code for finding in diagnosis.findings][0]
    'padding-only'
    """

    network: str
    shape: tuple[int, ...]
    findings: tuple[Finding, ...]
    networks: int
    skipped: tuple[str, ...]
    assumptions: Assumptions | None = None

    def __str__(self) -> str:
        return as_text(self)

    def to_frame(self) -> "pandas.DataFrame":
        """A table with a row for each finding; needs pandas."""
        return as_frame(map(asdict, self.findings))


class Looks(AbstractContextManager["Looks"]):
    """A geometry that is being estimated: at a first look, and at the end."""

    def __init__(self, running: Generator[Geometry, None, None]):
        self._running = running
        self.geometry: Geometry = next(running)

    def __exit__(self, *exception: object) -> None:
        self._running.close()

    def finish(self) -> None:
        """Continue to the last estimate."""
        for geometry in deque(self._running, maxlen=1):  # a closed form yields nothing more
            self.geometry = geometry


def _only(geometry: Geometry) -> Generator[Geometry, None, None]:
    yield geometry


def diagnose(
    family: ScoreFamily,
    *,
    networks: int = NETWORKS,
    seed: int = 0,
    at_zero: Geometry | None = None,
    on_stage: Report | None = None,
) -> Diagnosis:
    """Examine an architecture before anyone trains it.

    Args:
        family: the architecture.
        networks: untrained networks for each of the two geometries, at most.
        seed: the seed of all random draws.
        at_zero: the geometry at x = 0 of as many networks with this seed, if it is already known.
        on_stage: called with the name of each stage before it starts.

    Raises:
        InputError: for fewer networks than a geometry needs, or an invalid seed.
        NetworkError: if the networks cannot be evaluated.
    """
    tell = on_stage or (lambda stage: None)
    seed = checked_seed(seed)
    if networks < FOLDS:
        raise InputError(f"the doctor needs at least {FOLDS} networks, got {networks}")
    tell("a few steps of training")
    patient = admit(family, seed)
    first = FIRST if networks >= WORTH * FIRST else None

    def looks(probe: Probe, subspace: Request) -> Looks:
        tell(f"geometry at {probe.describe()}")
        geometry = Looks(
            running_estimates(
                patient.family,
                networks=networks,
                probe=probe,
                seed=seed,
                zero_output="last",
                subspace=subspace,
                first_look=first,
            )
        )
        if first is None:  # estimates on the way are not used
            geometry.finish()
        return geometry

    with ExitStack() as stack:
        skipped: list[str] = []
        if at_zero and at_zero.plan.fingerprint != patient.family.fingerprint:
            at_zero = None  # other layers were redrawn for it
        subspace = at_zero.subspace if at_zero else QUICK
        gaussian = stack.enter_context(looks(Gaussian(1.0), subspace))
        try:  # in one subspace, if any, to be compared
            zero = Looks(_only(at_zero)) if at_zero else looks(Zero(), gaussian.geometry.subspace)
            stack.enter_context(zero)
        except NetworkError as error:  # silent at x = 0, without biases for example
            skipped.append(f"everything at x = 0, probe-sensitive: {error}")
            zero = gaussian
        tell("spectra")
        findings = [finding for check in RESPONSES for finding in check(patient)]
        known = {own.name: getattr(patient, own.name) for own in fields(patient)}
        seen = partial(Examined, **known, looks=1 if first is None else 2)
        try:
            part = 1.0 if first is None else first / networks
            told = _told(seen(zero=zero.geometry, gaussian=gaussian.geometry, part=part))
        except Undecided:
            tell(f"geometries of {networks} networks")
            gaussian.finish()
            zero.finish()
            tell("spectra")
            told = _told(seen(zero=zero.geometry, gaussian=gaussian.geometry))
    findings += told[0]
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return Diagnosis(
        family.name,
        family.shape,
        tuple(findings),
        gaussian.geometry.networks,
        (*skipped, *told[1]),
        gaussian.geometry.plan.assumptions,
    )


def _told(examined: Examined) -> tuple[list[Finding], list[str]]:
    """The findings from the geometries, and the checks that could not be made."""
    findings: list[Finding] = []
    skipped: list[str] = []
    for check in GEOMETRIES:
        try:
            findings += check(examined)
        except NotChecked as reason:
            skipped.append(str(reason))
    return findings, skipped
