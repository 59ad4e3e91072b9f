"""The U-Net and the vision transformer of azula, modulated by an embedding of the time.

    sads geometry examples/networks/azula_unet.py:make --shape 1x16x16

Azula leaves to its user how a time becomes the vector that modulates a network.
"""

import torch
from azula.nn.unet import UNet
from azula.nn.vit import ViT
from torch import nn

FEATURES = 32


class Timed(nn.Module):
    """A backbone of azula with an embedding of the timestep."""

    def __init__(self, backbone: nn.Module):
        super().__init__()
        self.backbone = backbone
        self.embedding = nn.Sequential(nn.Linear(FEATURES, FEATURES), nn.SiLU())

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        rates = torch.logspace(0, -4, FEATURES // 2).to(x)
        angles = t.to(x.dtype)[:, None] * rates
        return self.backbone(x, mod=self.embedding(torch.cat([angles.sin(), angles.cos()], -1)))


def make() -> nn.Module:
    """The U-Net with two levels."""
    return Timed(UNet(1, 1, hid_channels=(16, 32), hid_blocks=(1, 1), mod_features=FEATURES))


def transformer() -> nn.Module:
    """The transformer on patches of two by two."""
    return Timed(ViT(1, 1, mod_features=FEATURES, hid_channels=32, hid_blocks=2, patch_size=2))
