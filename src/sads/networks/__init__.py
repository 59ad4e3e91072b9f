"""Score networks to study. Each predicts noise and states its initial distribution."""

from .base import ScoreNetwork
from .cnn import CNN
from .dit import DiT
from .family import ScoreFamily
from .linear import Linear
from .mlp import MLP
from .presets import PRESETS, preset_family
from .ssm import SSM
from .unet import UNet
from .vit import ViT

__all__ = [
    "CNN",
    "MLP",
    "PRESETS",
    "SSM",
    "DiT",
    "Linear",
    "ScoreFamily",
    "ScoreNetwork",
    "UNet",
    "ViT",
    "preset_family",
]
