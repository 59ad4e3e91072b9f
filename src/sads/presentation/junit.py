"""Results as a JUnit file, which continuous integration shows test by test."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from ..comparison import Comparison
from ..doctor import Diagnosis
from ..doctor.finding import Severity, at_least
from ..storage.files import atomic_write, write_bytes
from .comparison import comparison_sentences


@dataclass(frozen=True)
class Case:
    """One test of the file.

    Attributes:
        name: what was tested.
        failure: why it failed, in one line; None if it passed.
        text: further text.
    """

    name: str
    failure: str | None = None
    text: str = ""


def doctor_cases(diagnosis: Diagnosis, fail_on: Severity) -> list[Case]:
    """A case for each finding, or one passing case without findings."""
    bad = at_least(diagnosis.findings, fail_on)
    cases = [
        Case(
            finding.code,
            f"{finding.severity}: {finding.meaning}" if finding in bad else None,
            f"{finding.evidence}\nTo do: {finding.suggestion}",
        )
        for finding in diagnosis.findings
    ]
    return cases or [Case("healthy")]


def comparison_cases(comparison: Comparison) -> list[Case]:
    """One case: whether the geometries are the same."""
    first, *others = comparison_sentences(comparison)
    return [Case("same geometry", first if comparison.different else None, "\n".join(others))]


def write_junit(path: Path, suite: str, cases: Sequence[Case]) -> None:
    """Write the file; an existing one is replaced, since every run makes it again."""
    failures = sum(case.failure is not None for case in cases)
    root = ElementTree.Element(
        "testsuite", name=_plain(suite), tests=str(len(cases)), failures=str(failures), errors="0"
    )
    for case in cases:
        element = ElementTree.SubElement(
            root, "testcase", classname=_plain(suite), name=_plain(case.name)
        )
        if case.failure is not None:
            message = _plain(case.failure)
            failure = ElementTree.SubElement(element, "failure", message=message)
            failure.text = _plain(case.text)
        elif case.text:
            ElementTree.SubElement(element, "system-out").text = _plain(case.text)
    ElementTree.indent(root)
    content = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    atomic_write(path, write_bytes(content))


def _plain(text: str) -> str:
    """Text without the characters that XML cannot hold."""
    kept = (c for c in text if c in "\t\n" or (c >= " " and not "\ud800" <= c <= "\udfff"))
    return "".join(c for c in kept if c not in "\ufffe\uffff")
