"""The U-Net of denoising-diffusion-pytorch (`pip install denoising-diffusion-pytorch`).

    sads geometry examples/networks/denoising_diffusion.py:make --shape 3x16x16

The package needs torchvision. Where a network conditions on its own estimate, that is zero.
"""

from denoising_diffusion_pytorch import Unet
from torch import nn


def make() -> nn.Module:
    """Two levels on three channels."""
    return Unet(dim=16, dim_mults=(1, 2), channels=3, attn_dim_head=8, attn_heads=2)


def self_conditioned() -> nn.Module:
    """The same, conditioned on its own estimate of the image."""
    return Unet(
        dim=16, dim_mults=(1, 2), channels=3, attn_dim_head=8, attn_heads=2, self_condition=True
    )
