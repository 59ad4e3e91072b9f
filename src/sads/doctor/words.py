"""A diagnosis in words."""

from collections import Counter

from .diagnosis import Diagnosis
from .finding import SEVERITIES


def sentences(found: Diagnosis) -> list[str]:
    """Every finding with evidence, meaning and suggestion."""
    shape = "x".join(map(str, found.shape))
    said = [] if found.assumptions is None else [found.assumptions.sentence()]
    said.append(f"{found.network} on {shape}: {_counted(found) or 'nothing found'}.")
    for one in found.findings:
        said += [
            "",
            f"{one.severity.upper()} {one.code}",
            f"  found: {one.evidence}",
            f"  means: {one.meaning}",
            f"  do:    {one.suggestion}",
        ]
    said += [f"\nNot checked: {what}" for what in found.skipped]
    return said


def _counted(found: Diagnosis) -> str:
    """How many findings there are of each severity."""
    counts = Counter(one.severity for one in found.findings)
    return ", ".join(
        f"{counts[one]} {one}{'s' if counts[one] > 1 else ''}" for one in SEVERITIES if counts[one]
    )
