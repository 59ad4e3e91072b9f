"""The grammar of networks, data and probes on the command line; the only parser of them."""

from .data import parse_data, parse_dataset
from .directions import parse_directions
from .grammar import parse_shape, parse_timesteps
from .networks import parse_network
from .probes import parse_probe

__all__ = [
    "parse_data",
    "parse_dataset",
    "parse_directions",
    "parse_network",
    "parse_probe",
    "parse_shape",
    "parse_timesteps",
]
