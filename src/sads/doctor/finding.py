"""A finding of the doctor."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from ..errors import InputError, expected_one_of
from ..foundation.choices import Severity

SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True)
class Finding:
    """One thing that the doctor says about an architecture.

    Attributes:
        code: its name, the same for all networks.
        severity: `error` (it cannot work), `warning` (it is probably not intended) or `note`.
        evidence: what was measured.
        meaning: what follows for the network.
        suggestion: what to change.
        usual: whether it is common in healthy networks, so that it says little about this one;
            `docs/doctor.md` says how often it is seen.

    >>> import sads
    >>> finding, *_ = sads.diagnose("cnn", shape="1x4x4", networks=12).findings
    >>> finding.severity
    'note'
    """

    code: str
    severity: Severity
    evidence: str
    meaning: str
    suggestion: str
    usual: bool = False


class NotChecked(Exception):  # noqa: N818 - a reason, not an error
    """Raised by a check that cannot be made; the message says which and why."""


class Undecided(Exception):  # noqa: N818 - a state, not an error
    """Raised by a check whose answer may change with more networks; never at the last look."""


def at_least(findings: Sequence[Finding], severity: Severity) -> list[Finding]:
    """The findings of this severity or a worse one."""
    if severity not in SEVERITIES:
        raise InputError(f"unknown severity {severity!r}{expected_one_of(severity, SEVERITIES)}")
    worse = SEVERITIES[: SEVERITIES.index(severity) + 1]
    return [finding for finding in findings if finding.severity in worse]
