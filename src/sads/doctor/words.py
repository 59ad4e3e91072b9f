"""A diagnosis in words."""

from .diagnosis import Diagnosis


def sentences(found: Diagnosis) -> list[str]:
    """Every finding with evidence, meaning and suggestion."""
    shape = "x".join(map(str, found.shape))
    said = [] if found.assumptions is None else [found.assumptions.sentence()]
    if found.findings:
        said.append(f"{found.network} on {shape}: {len(found.findings)} findings.")
    else:
        said.append(f"{found.network} on {shape}: nothing found.")
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
