"""Score networks to study: each predicts noise and says how it is initialised."""

from .base import ScoreNetwork
from .cnn import CNN
from .dit import DiT
from .family import ScoreFamily
from .linear import Linear
from .mlp import MLP
from .presets import PRESETS, preset_family
from .unet import UNet

__all__ = [
    "CNN",
    "MLP",
    "PRESETS",
    "DiT",
    "Linear",
    "ScoreFamily",
    "ScoreNetwork",
    "UNet",
    "preset_family",
]
