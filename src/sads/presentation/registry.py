"""Which module renders a value of which type; it is imported when such a value is shown.

A module named here has a function `html(value)`, and `text(value)` where a terminal shows more than
the value's `repr`. A new type needs a line here and the base class `Shown` of `sads.foundation`.
"""

from importlib import import_module
from typing import Any

RENDERERS = {
    "Alignment": "alignment",
    "Diagnosis": "doctor",
    "Forecast": "forecast",
    "Geometry": "geometry",
    "Results": "sweep",
    "Spectrum": "directions",
    "Summary": "network_summary",
    "TrainingRecord": "training_record",
}


def html(value: object) -> str:
    """A value as HTML, for notebooks."""
    return _renderer(value).html(value)


def text(value: object) -> str:
    """A value as lines of text."""
    return _renderer(value).text(value)


def picture(value: object) -> Any:
    """A value as an array of colours, where its module can draw one."""
    return _renderer(value).picture(value)


def _renderer(value: object) -> Any:
    names = [kind.__name__ for kind in type(value).__mro__]  # a subclass is shown like its base
    home = next(RENDERERS[name] for name in names if name in RENDERERS)
    return import_module(f".{home}", __package__)
