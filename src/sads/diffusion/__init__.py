"""Training small diffusion models, and sampling from them."""

from .checkpoint import FILE, read_training, stored_rotation
from .header import Header
from .sampling import Predictor, SamplingError, respaced, sample_chunks, write_samples
from .settings import Settings, settings_for
from .trained import Trained, compiled, read_trained, samples_of
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
    "read_trained",
    "read_training",
    "respaced",
    "sample_chunks",
    "samples_of",
    "settings_for",
    "stored_rotation",
    "train",
    "write_samples",
]
