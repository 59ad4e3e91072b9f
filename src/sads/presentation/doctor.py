"""A diagnosis in words.

The words of a single finding stand beside its measurement, in `sads.doctor.findings`.
"""

from collections import Counter
from collections.abc import Sequence

from ..doctor import Diagnosis, Finding
from ..doctor.finding import SEVERITIES
from .assumptions import sentence
from .markup import facts
from .numbers import counted, sizes


def sentences(
    diagnosis: Diagnosis, *, everything: bool = False, more: str = "--all says more"
) -> list[str]:
    """Every finding with evidence, meaning and suggestion.

    Args:
        diagnosis: what the doctor says.
        everything: whether findings that are common in healthy networks are told like the others;
            by default they share one line at the end.
        more: what that line says about where there is more.
    """
    told, folded = folded_findings(diagnosis, everything=everything)
    taken = diagnosis.assumptions
    lines = [] if taken is None else [sentence(taken)]
    numbers = Counter(finding.severity for finding in told)
    totals = ", ".join(counted(numbers[one], one) for one in SEVERITIES if numbers[one])
    where = f"{diagnosis.network} on {sizes(diagnosis.shape)}"
    lines.append(f"{where}: {totals or 'nothing found'}.")
    for finding in told:
        lines += [
            "",
            f"{finding.severity.upper()} {finding.code}",
            f"  found: {finding.evidence}",
            f"  means: {finding.meaning}",
            f"  do:    {finding.suggestion}",
        ]
    if folded:
        lines += ["", f"{usual_line(folded)} ({more})."]
    return lines + [f"\nNot checked: {what}" for what in diagnosis.skipped]


def folded_findings(
    diagnosis: Diagnosis, *, everything: bool = False
) -> tuple[list[Finding], list[Finding]]:
    """The findings that are told one by one, and those that share a line."""
    told = [one for one in diagnosis.findings if everything or not one.usual]
    return told, [one for one in diagnosis.findings if one.usual and not everything]


def usual_line(folded: Sequence[Finding]) -> str:
    """What is common in healthy networks, in one line."""
    return f"Common in healthy networks: {', '.join(one.code for one in folded)}"


def text(diagnosis: Diagnosis) -> str:
    """The diagnosis as lines of text."""
    return "\n".join(sentences(diagnosis, more="`.findings` says more"))


def html(diagnosis: Diagnosis) -> str:
    """The same for notebooks: a row for each finding."""
    rows = [
        (f"{one.severity} {one.code}", f"{one.evidence}; {one.meaning}. To do: {one.suggestion}")
        for one in diagnosis.findings
    ]
    rows += [("not checked", what) for what in diagnosis.skipped]
    return facts(
        f"{diagnosis.network} on {sizes(diagnosis.shape)}", rows or [("doctor", "nothing found")]
    )
