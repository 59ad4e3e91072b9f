"""A diagnosis in words.

The words of a single finding stand beside its measurement, in `sads.doctor.findings`.
"""

from collections import Counter

from ..doctor import Diagnosis
from ..doctor.finding import SEVERITIES
from .assumptions import sentence
from .numbers import counted, sizes


def sentences(diagnosis: Diagnosis) -> list[str]:
    """Every finding with evidence, meaning and suggestion."""
    taken = diagnosis.assumptions
    lines = [] if taken is None else [sentence(taken)]
    numbers = Counter(finding.severity for finding in diagnosis.findings)
    totals = ", ".join(counted(numbers[one], one) for one in SEVERITIES if numbers[one])
    where = f"{diagnosis.network} on {sizes(diagnosis.shape)}"
    lines.append(f"{where}: {totals or 'nothing found'}.")
    for finding in diagnosis.findings:
        lines += [
            "",
            f"{finding.severity.upper()} {finding.code}",
            f"  found: {finding.evidence}",
            f"  means: {finding.meaning}",
            f"  do:    {finding.suggestion}",
        ]
    return lines + [f"\nNot checked: {what}" for what in diagnosis.skipped]
