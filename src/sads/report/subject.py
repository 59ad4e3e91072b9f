"""One architecture and all that a report knows about it."""

from dataclasses import dataclass

from ..alignment import Alignment
from ..doctor import Diagnosis
from .answer import Answer
from .levels import Architecture, Named
from .measured import Measured


@dataclass(frozen=True)
class Subject:
    """An architecture in a report.

    Attributes:
        architecture: its geometries.
        alignment: how the data lies in the main one; None without data.
        measured: MSW2 along its bands, from a sweep.
        diagnosis: what the doctor found, or why nothing was; None where nobody asked.
        answer: in words.
    """

    architecture: Architecture
    alignment: Alignment | None
    measured: tuple[Measured, ...]
    diagnosis: Diagnosis | str | None
    answer: Answer

    @property
    def main(self) -> Named:
        return self.architecture.main
