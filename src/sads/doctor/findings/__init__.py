"""All findings of the doctor, a file for each group; their words are beside the measurement.

To add one, write a check into the file of its group: a function that takes the patient and yields a
`Finding` for each defect. List it at the end of that file: a check of single networks in
`RESPONSES`, one that gets an `Examined` patient with its geometries in `GEOMETRIES`. A check that
cannot be made raises `NotChecked`.
"""

from collections.abc import Callable, Iterator

from ..finding import Finding
from ..patient import Examined, Patient
from . import blindness, borders, probe_sensitivity, saturation, spectrum, training

RESPONSES: tuple[Callable[[Patient], Iterator[Finding]], ...] = (
    *training.RESPONSES,
    *blindness.RESPONSES,
    *borders.RESPONSES,
    *saturation.RESPONSES,
)

GEOMETRIES: tuple[Callable[[Examined], Iterator[Finding]], ...] = (
    *spectrum.GEOMETRIES,
    *borders.GEOMETRIES,
    *probe_sensitivity.GEOMETRIES,
)
