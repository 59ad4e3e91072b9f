"""A snippet for a model card: what untrained networks of an architecture show, in Markdown."""

from collections.abc import Sequence
from importlib.metadata import version

from ..geometry.anisotropy import effective_directions
from ..presentation.geometry import networks_behind, taken_as, whitened_error
from ..presentation.numbers import sizes, with_error
from .sentences import Answer
from .subjects import Subject


def model_card(subjects: Sequence[Subject], answers: Sequence[Answer], command: str) -> str:
    """A section with a table for each network, and the commands that make it again."""
    lines = ["## Geometry before training", ""]
    for subject, answer in zip(subjects, answers, strict=True):
        lines += [f"### {_cell(subject.main.label)}", "", "| | |", "| --- | --- |"]
        lines += [f"| {name} | {_cell(value)} |" for name, value in _rows(subject, answer)]
        lines.append("")
    lines += [f"Made by sads {version('sads')}:", "", "```sh", command, "```", ""]
    return "\n".join(lines)


def _rows(subject: Subject, answer: Answer) -> list[tuple[str, str]]:
    geometry = subject.main.geometry
    value, error = effective_directions(geometry)
    size = geometry.structure.size
    rows = [
        ("samples", f"{sizes(geometry.shape)}, {size:,} directions"),
        ("untrained networks", networks_behind(geometry)),
        ("whitened error", whitened_error(geometry)),
        (
            "anisotropy",
            f"as if all scores lay in {with_error(value, error, 3)} of {size:,} directions",
        ),
        ("what they prefer", answer.preferred),
        ("how sure", answer.sure),
    ]
    rows += [("forecast", line) for line in answer.forecast[:2]]
    if answer.data:
        rows.append(("data", answer.data))
    if subject.diagnosis is not None:
        findings = [f"{one.severity} {one.code}" for one in subject.diagnosis.findings]
        rows.append(("doctor", ", ".join(findings) or "nothing found"))
    return [
        *rows,
        *(("taken as", line.removeprefix("Taken as: ")) for line in taken_as(geometry.plan)),
    ]


def _cell(text: str) -> str:
    """Text escaped so that it cannot end a cell or a line, or start HTML."""
    plain = " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")
    return plain.replace("<", "&lt;")
