"""The image model of k-diffusion in its preconditioning, `forward(input, sigma)`.

    sads geometry examples/networks/k_diffusion_image.py:make --shape 3x16x16 --zero-output last

The package needs torchvision and more. It takes noise levels and returns the denoised image, both
of which are recognised.
"""

from k_diffusion.layers import Denoiser
from k_diffusion.models import ImageDenoiserModelV1
from torch import nn


def make() -> nn.Module:
    """Two levels on three channels."""
    network = ImageDenoiserModelV1(
        c_in=3,
        feats_in=32,
        depths=(1, 1),
        channels=(32, 64),
        self_attn_depths=(False, True),
        cross_attn_depths=None,
        mapping_cond_dim=0,
    )
    return Denoiser(network, sigma_data=0.5)
