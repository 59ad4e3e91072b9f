"""Whether a claim of the paper holds in our numbers: yes, no, or not decided.

A claim that some effect is positive holds if its whole 95 % interval is above zero, fails if the
interval is below, and is undecided in between. What a scale has no power for is never decided.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..draws import DRAWS
from ..statistics.means import Interval


@dataclass(frozen=True)
class Finding:
    """One claim with the statistic that tests it.

    Attributes:
        claim: what the paper says, or what follows from it.
        statistic: what was measured.
        value: its value; None where there is too little data for one.
        interval: its 95 % interval; None where it has none.
        holds: whether the claim holds; None if the data do not decide.
    """

    claim: str
    statistic: str
    value: float | None
    interval: Interval | None
    holds: bool | None


@dataclass(frozen=True)
class Verdict:
    """The findings of a figure and how they were made."""

    figure: str
    findings: tuple[Finding, ...]
    protocol: Mapping[str, Any]

    @property
    def holds(self) -> bool | None:
        """Whether all claims hold; False as soon as one does not."""
        found = [finding.holds for finding in self.findings]
        if False in found:
            return False
        return None if None in found or not found else True

    def summary(self) -> dict[str, Any]:
        """For JSON: the finding that decides, so that `holds` is its own, and all of them."""
        found = [_plain(asdict(finding)) for finding in self.findings]
        decides = next(finding for finding in found if finding["holds"] == self.holds)
        protocol = {"protocol": dict(self.protocol), "findings": found}
        return {"figure": self.figure} | decides | protocol

    def sentences(self) -> list[str]:
        """One line for each finding, and one if they rest on older random draws."""
        lines = [f"{_WORDS[f.holds]}: {f.claim}. {_measured(f)}" for f in self.findings]
        versions = self.protocol.get("draws", [DRAWS])
        if versions != [DRAWS]:
            known = " and ".join(map(str, versions))
            lines.append(f"The trials rest on version {known} of the random draws, now {DRAWS}.")
        return lines


_WORDS = {True: "holds", False: "does not hold", None: "not decided"}


def _plain(finding: dict[str, Any]) -> dict[str, Any]:
    """Numbers that JSON knows: what is not finite is unknown."""
    value, interval = finding["value"], finding["interval"]
    known = interval is not None and all(map(math.isfinite, interval))
    return finding | {
        "value": value if value is not None and math.isfinite(value) else None,
        "interval": list(interval) if known and interval is not None else None,
    }


def _measured(finding: Finding) -> str:
    if finding.value is None:
        return f"{finding.statistic}: not enough data"
    text = f"{finding.statistic}: {finding.value:.4g}"
    if finding.interval is None:
        return text
    return f"{text} (95 % {finding.interval[0]:.4g} to {finding.interval[1]:.4g})"


def without_power(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The same findings, undecided."""
    return tuple(replace(finding, holds=None) for finding in findings)


def positive(interval: Interval | None) -> bool | None:
    """Whether an interval says that its value is above zero.

    >>> positive((1.0, 2.0)), positive((-2.0, -1.0)), positive((-1.0, 1.0)), positive(None)
    (True, False, None, None)
    """
    if interval is None or not all(map(math.isfinite, interval)):
        return None
    if interval[0] > 0:
        return True
    return False if interval[1] < 0 else None
