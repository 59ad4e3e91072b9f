"""A diagnosis in words.

The words of a single finding stand beside its measurement, in `sads.doctor.findings`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ..doctor import Diagnosis, Finding
from ..doctor.finding import SEVERITIES
from ..doctor.worth import Worth, worth_of
from .assumptions import sentence
from .markup import facts
from .numbers import counted, sizes

WORDS = {
    "worth it": "better beyond chance",
    "harmful": "worse beyond chance",
    "open": "no difference beyond chance",
}


def sentences(
    diagnosis: Diagnosis, *, everything: bool = False, more: str = "--all says more"
) -> list[str]:
    """Every finding with evidence, meaning and suggestion.

    Args:
        diagnosis: what the doctor says.
        everything: whether findings that are common in healthy networks are shown like the others;
            by default they share one line at the end.
        more: what that line says about how to see more.
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
        if (worth := worth_of_remedies(worth_of(finding.code))) is not None:
            lines.append(f"  worth: {worth}")
    if folded:
        lines += ["", f"{usual_line(folded)} ({more})."]
    return lines + [f"\nNot checked: {what}" for what in diagnosis.skipped]


def as_fields(diagnosis: Diagnosis) -> dict[str, Any]:
    """All fields of a diagnosis; each finding with what its remedies were worth."""
    fields = asdict(diagnosis)
    for finding in fields["findings"]:
        tried = worth_of(finding["code"])
        finding["worth"] = [asdict(row) | {"verdict": row.verdict} for row in tried]
    return fields


def folded_findings(
    diagnosis: Diagnosis, *, everything: bool = False
) -> tuple[list[Finding], list[Finding]]:
    """The findings that are shown one by one, and those that share a line."""
    told = [one for one in diagnosis.findings if everything or not one.usual]
    return told, [one for one in diagnosis.findings if one.usual and not everything]


def usual_line(folded: Sequence[Finding]) -> str:
    """The findings that are common in healthy networks, in one line."""
    return f"Common in healthy networks: {', '.join(one.code for one in folded)}"


def worth_of_remedies(tried: Sequence[Worth]) -> str | None:
    """The effect of the remedies of one finding where they were tried; None without a trial.

    >>> worth_of_remedies([Worth("f", "cnn", "width=64", "digits", 2.0, 0.5, 1.5, (1.2, 1.8), 5)])
    'cnn with width=64: SW2 2 to 0.5 on digits (better beyond chance; 5 seeds, 95 % of the \
difference 1.2 to 1.8).'
    """
    kinds = dict.fromkeys((row.network, row.remedy) for row in tried)
    parts = []
    for network, remedy in kinds:
        own = [row for row in tried if (row.network, row.remedy) == (network, remedy)]
        parts.append(f"{network} with {remedy}: SW2 " + ", ".join(map(_one_trial, own)))
    return ". ".join(parts) + "." if parts else None


def _one_trial(row: Worth) -> str:
    """One remedy on one dataset."""
    span = "" if row.interval is None else "{:.2g} to {:.2g}".format(*row.interval)
    known = f"{counted(row.seeds, 'seed')}" + (f", 95 % of the difference {span}" if span else "")
    return f"{row.before:.2g} to {row.after:.2g} on {row.data} ({WORDS[row.verdict]}; {known})"


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
