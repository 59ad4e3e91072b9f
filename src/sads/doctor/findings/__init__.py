"""All findings of the doctor, a file for each group; their words are beside the measurement.

To add one, write a check: a function that takes the patient and yields a `Finding` for each defect.
Put it into the file of its group and name it below. A check of single networks belongs to
`RESPONSES`; one that looks at geometries gets an `Examined` patient and belongs to `GEOMETRIES`.
A check that cannot be made raises `NotChecked`.
"""

from collections.abc import Callable, Iterator

from ..finding import Finding
from ..patient import Examined, Patient
from .blindness import constant_blind, input_blind, time_blind
from .borders import asymmetric, padding_only
from .saturation import saturated
from .spectrum import ill_conditioned, low_frequency_heavy, null_space, probe_sensitive
from .training import untrainable, zero_output

RESPONSES: tuple[Callable[[Patient], Iterator[Finding]], ...] = (
    untrainable,
    zero_output,
    input_blind,
    time_blind,
    constant_blind,
    padding_only,
    saturated,
)

GEOMETRIES: tuple[Callable[[Examined], Iterator[Finding]], ...] = (
    ill_conditioned,
    low_frequency_heavy,
    null_space,
    asymmetric,
    probe_sensitive,
)
