"""The grammar of networks, data, probes, subspaces and directions; the only parser of it.

Every text is parsed once, into a frozen value that can be asked: for the files it names, for an
identity by their content, and for the thing itself. Importing this needs neither torch nor NumPy.
"""

from .data import DataSpec
from .directions import DirectionsSpec
from .grammar import parse_shape, parse_timesteps
from .networks import NetworkSpec
from .probes import ProbeSpec
from .subspaces import SubspaceSpec

__all__ = [
    "DataSpec",
    "DirectionsSpec",
    "NetworkSpec",
    "ProbeSpec",
    "SubspaceSpec",
    "parse_shape",
    "parse_timesteps",
]
