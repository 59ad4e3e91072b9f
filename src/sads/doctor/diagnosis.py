"""The examination: all checks on one architecture."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ..directions import FOLDS
from ..errors import InputError, NetworkError
from ..foundation.data_frames import as_frame
from ..foundation.rendering import Shown, as_text
from ..geometry import Gaussian, Geometry, Probe, Zero, estimate_geometry
from ..geometry.subspace_choice import Request
from ..networks import ScoreFamily
from ..networks.adapters import Assumptions
from ..randomness import checked_seed
from .finding import SEVERITIES, Finding, NotChecked
from .findings import GEOMETRIES, RESPONSES
from .patient import Examined, admit

if TYPE_CHECKING:
    import pandas

NETWORKS = 768  # of each geometry: whitened error 0.05 for iddpm-16
Report = Callable[[str], None]


@dataclass(frozen=True)
class Diagnosis(Shown):
    """What the doctor says of one architecture.

    Attributes:
        network: name of the architecture.
        shape: of one sample.
        findings: the most severe first.
        networks: behind each geometry.
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


def diagnose(
    family: ScoreFamily,
    *,
    networks: int = NETWORKS,
    seed: int = 0,
    on_stage: Report | None = None,
) -> Diagnosis:
    """Examine an architecture before anyone trains it.

    Args:
        family: the architecture.
        networks: untrained networks for each of the two geometries.
        seed: of all random draws.
        on_stage: called with what is done next.

    Raises:
        InputError: for fewer networks than a geometry needs, or a seed that is none.
        NetworkError: if the networks cannot be evaluated.
    """
    tell = on_stage or (lambda stage: None)
    seed = checked_seed(seed)
    if networks < FOLDS:
        raise InputError(f"the doctor needs at least {FOLDS} networks, got {networks}")
    tell("a few steps of training")
    patient = admit(family, seed)

    def geometry(probe: Probe, subspace: Request = None) -> Geometry:
        tell(f"geometry at {probe.describe()}")
        return estimate_geometry(
            patient.family,
            networks=networks,
            probe=probe,
            seed=seed,
            zero_output="last",
            subspace=subspace,
        )

    gaussian = geometry(Gaussian(1.0))
    skipped: list[str] = []
    try:
        zero = geometry(Zero(), gaussian.subspace)  # in one subspace, if any, to be compared
    except NetworkError as error:  # silent at x = 0, without biases for example
        skipped.append(f"everything at x = 0, probe-sensitive: {error}")
        zero = gaussian
    tell("spectra")
    findings = [finding for check in RESPONSES for finding in check(patient)]
    examined = Examined(**vars(patient), zero=zero, gaussian=gaussian)
    for check in GEOMETRIES:
        try:
            findings += check(examined)
        except NotChecked as reason:
            skipped.append(str(reason))
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return Diagnosis(
        family.name,
        family.shape,
        tuple(findings),
        gaussian.networks,
        tuple(skipped),
        gaussian.plan.assumptions,
    )
