"""The diffusion engine: train a small model, sample it."""

from .checkpoint import (
    FILE,
    Header,
    Settings,
    read_training,
    stored_rotation,
    stored_schedule,
)
from .sampling import SamplingError, respaced, sample_chunks, write_samples
from .state import load_parameters
from .training import Callback, Step, Trained, TrainingError, compiled, train

__all__ = [
    "FILE",
    "Callback",
    "Header",
    "SamplingError",
    "Settings",
    "Step",
    "Trained",
    "TrainingError",
    "compiled",
    "load_parameters",
    "read_training",
    "respaced",
    "sample_chunks",
    "stored_rotation",
    "stored_schedule",
    "train",
    "write_samples",
]
