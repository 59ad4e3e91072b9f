"""Whether a claim of the paper holds in our numbers: yes, no, or not decided.

A claim that some effect is positive holds if its whole 95 % interval is above zero, fails if the
interval is below, and is undecided in between. At a scale without enough power nothing is decided.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from ..foundation.versions import DRAWS
from ..statistics.means import Interval, mean_interval


@dataclass(frozen=True)
class Finding:
    """One claim with the statistic that tests it.

    Attributes:
        claim: what the paper says, or what follows from it.
        statistic: what was measured.
        value: its value; None if there is too little data.
        interval: its 95 % interval; None if it has none.
        holds: whether the claim holds; None if the data do not decide.
    """

    claim: str
    statistic: str
    value: float | None
    interval: Interval | None
    holds: bool | None

    @classmethod
    def above(
        cls,
        claim: str,
        statistic: str,
        value: float | None,
        interval: Interval | None,
        bound: float = 0.0,
    ) -> Self:
        """A claim that the statistic is above a bound, judged by its interval."""
        return cls(claim, statistic, value, interval, above(interval, bound))

    @classmethod
    def of_mean(cls, claim: str, statistic: str, values: Sequence[float]) -> Self:
        """A claim that the mean of the values is positive, judged by Student's interval."""
        return cls.above(claim, statistic, *mean_interval(values))

    @classmethod
    def below(cls, claim: str, statistic: str, value: float | None, bound: float) -> Self:
        """A claim that a value without noise is below a bound."""
        return cls(claim, statistic, value, None, None if value is None else value < bound)

    def plain(self) -> dict[str, Any]:
        """The fields for JSON; numbers that are not finite become null."""
        finite = self.value is not None and math.isfinite(self.value)
        known = self.interval is not None and all(map(math.isfinite, self.interval))
        return asdict(self) | {
            "value": self.value if finite else None,
            "interval": list(self.interval) if known and self.interval is not None else None,
        }

    def sentence(self) -> str:
        """The claim, whether it holds, and what was measured."""
        words = {True: "holds", False: "does not hold", None: "not decided"}
        measured = "not enough data" if self.value is None else f"{self.value:.4g}"
        if self.value is not None and self.interval is not None:
            measured += f" (95 % {self.interval[0]:.4g} to {self.interval[1]:.4g})"
        return f"{words[self.holds]}: {self.claim}. {self.statistic}: {measured}"


@dataclass(frozen=True)
class Verdict:
    """The findings of a figure and how they were made."""

    figure: str
    findings: tuple[Finding, ...]
    protocol: Mapping[str, Any]

    @property
    def holds(self) -> bool | None:
        """Whether all claims hold; False as soon as one does not."""
        judged = [finding.holds for finding in self.findings]
        if False in judged:
            return False
        return None if None in judged or not judged else True

    def summary(self) -> dict[str, Any]:
        """For JSON: the finding that decides, so that `holds` is its own, and all of them."""
        findings = [finding.plain() for finding in self.findings]
        decides = next(finding for finding in findings if finding["holds"] == self.holds)
        protocol = {"protocol": dict(self.protocol), "findings": findings}
        return {"figure": self.figure} | decides | protocol

    def sentences(self) -> list[str]:
        """One line for each finding, and one more if they rest on older random draws."""
        lines = [finding.sentence() for finding in self.findings]
        versions = self.protocol.get("draws", [DRAWS])
        if versions != [DRAWS]:
            known = " and ".join(map(str, versions))
            lines.append(f"The trials rest on version {known} of the random draws, now {DRAWS}.")
        return lines


def without_power(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """The same findings, undecided."""
    return tuple(replace(finding, holds=None) for finding in findings)


def above(interval: Interval | None, bound: float = 0.0) -> bool | None:
    """Whether an interval says that its value is above a bound.

    >>> above((1.0, 2.0)), above((-2.0, -1.0)), above((-1.0, 1.0)), above(None)
    (True, False, None, None)
    """
    if interval is None or not all(map(math.isfinite, interval)):
        return None
    if interval[0] > bound:
        return True
    return False if interval[1] < bound else None
