"""The list of figures and their modules. A module is imported when its figure is made."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType

from ..errors import InputError
from .data import Experiment

SCALES = ("smoke", "laptop", "paper")
FIGURES: Mapping[str, str] = MappingProxyType(
    {
        "1": "figure_01_sphere",
        "2": "figure_02_bases",
        "3": "figure_03_impulse",
        "4": "figure_04_theorem",
        "5": "figure_05_contours",
        "6": "figure_06_eigenvectors",
        "7": "figure_07_08_10_rotations",
        "8": "figure_07_08_10_rotations",
        "9": "figure_09_forward_probe",
        "10": "figure_07_08_10_rotations",
        "11": "figure_11_probe_sensitivity",
        "A": "figure_a_training",
        "B": "figure_b_classifier",
        "C": "figure_c_signals",
        "D": "figure_d_regularisation",
    }
)
#: Figures that train nothing and read the rows of registered experiments.
READINGS: Mapping[str, str] = MappingProxyType(
    {
        "1R": "figure_1r_split",
        "2R": "figure_2r_risk",
        "6R": "figure_6r_risk",
        "E": "figure_e_mechanism",
        "F": "figure_f_forecasts",
        "G": "figure_g_counterexamples",
    }
)
_EVERY: Mapping[str, str] = MappingProxyType({**FIGURES, **READINGS})


def chosen(name: str) -> list[str]:
    """The figures that a name stands for: one, or `all` that make their own rows.

    >>> chosen("04")
    ['4']

    Raises:
        InputError: for a figure that does not exist.
    """
    if name == "all":
        return list(FIGURES)
    key = name.lstrip("0").upper()
    if key not in _EVERY:
        raise InputError(f"no figure {name!r}: choose {', '.join(_EVERY)} or all")
    return [key]


def experiment(key: str) -> Experiment:
    """A figure of the catalogue: `FIGURE_04` of its module."""
    module = import_module(f".{_EVERY[key]}", __package__)
    return getattr(module, file_name(key).replace("-", "_").upper())


def file_name(key: str) -> str:
    """The stem of a figure's files.

    >>> file_name("6"), file_name("A")
    ('figure-06', 'figure-A')
    """
    return f"figure-{key:>02}" if key.isdecimal() else f"figure-{key}"
