"""sads: which data directions will a score network model well? The answer before training.

>>> import sads
>>> geometry = sads.estimate_geometry("dit-2")
>>> geometry.spectrum().bands[0].width
4
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .alignment import Alignment, Rotation, RotationTransformer, load_rotation
    from .api import (
        align,
        diagnose,
        distance,
        estimate_geometry,
        forecast,
        load_trained,
        network,
        rank,
        risk,
        rotate,
        running_estimates,
        sample,
        train,
    )
    from .comparison import BandDifference, Comparison, compare
    from .directions import Band, Resolution, SADs, Spectrum, windowed_similarity
    from .errors import ArtefactError, InputError, NetworkError, SadsError
    from .geometry import Geometry, load_geometry
    from .learning import Forecast, Risk, load_forecast
    from .networks import ScoreFamily
    from .path import Schedule
    from .probes import Forward, Gaussian, Point, Zero
    from .ranking import Ranking
    from .report import Report, build_report, write_report
    from .sweep import Protocol, Results, Trial, load_results, run_sweep

# Names are imported when they are first used: torch takes seconds to load.
_HOMES = {
    "alignment": ("Alignment", "Rotation", "RotationTransformer", "load_rotation"),
    "api": (
        "align",
        "diagnose",
        "distance",
        "estimate_geometry",
        "forecast",
        "load_trained",
        "network",
        "rank",
        "risk",
        "rotate",
        "running_estimates",
        "sample",
        "train",
    ),
    "comparison": ("BandDifference", "Comparison", "compare"),
    "directions": ("Band", "Resolution", "SADs", "Spectrum", "windowed_similarity"),
    "errors": ("ArtefactError", "InputError", "NetworkError", "SadsError"),
    "geometry": ("Geometry", "load_geometry"),
    "probes": ("Forward", "Gaussian", "Point", "Zero"),
    "learning": ("Forecast", "Risk", "load_forecast"),
    "networks": ("ScoreFamily",),
    "ranking": ("Ranking",),
    "path": ("Schedule",),
    "report": ("Report", "build_report", "write_report"),
    "sweep": ("Protocol", "Results", "Trial", "load_results", "run_sweep"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Alignment",
    "ArtefactError",
    "Band",
    "BandDifference",
    "Comparison",
    "Forecast",
    "Forward",
    "Gaussian",
    "Geometry",
    "InputError",
    "NetworkError",
    "Point",
    "Protocol",
    "Ranking",
    "Report",
    "Resolution",
    "Results",
    "Risk",
    "Rotation",
    "RotationTransformer",
    "SADs",
    "SadsError",
    "Schedule",
    "ScoreFamily",
    "Spectrum",
    "Trial",
    "Zero",
    "align",
    "build_report",
    "compare",
    "diagnose",
    "distance",
    "estimate_geometry",
    "forecast",
    "load_forecast",
    "load_geometry",
    "load_results",
    "load_rotation",
    "load_trained",
    "network",
    "rank",
    "risk",
    "rotate",
    "run_sweep",
    "running_estimates",
    "sample",
    "train",
    "windowed_similarity",
    "write_report",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'sads' has no attribute {name!r}")
    return getattr(import_module(f".{_HOME_OF[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
