"""The diffusion engine: train a small model, sample it."""

from .checkpoint import (
    FILE,
    Header,
    read_training,
    stored_rotation,
    stored_schedule,
)
from .compilation import compiled
from .sampling import Predictor, SamplingError, respaced, sample_chunks, write_samples
from .settings import Settings, settings_for
from .state import load_parameters
from .trained import Trained, read_trained, samples_of
from .training import Callback, Step, TrainingError, train

__all__ = [
    "FILE",
    "Callback",
    "Header",
    "Predictor",
    "SamplingError",
    "Settings",
    "Step",
    "Trained",
    "TrainingError",
    "compiled",
    "load_parameters",
    "read_trained",
    "read_training",
    "respaced",
    "sample_chunks",
    "samples_of",
    "settings_for",
    "stored_rotation",
    "stored_schedule",
    "train",
    "write_samples",
]
