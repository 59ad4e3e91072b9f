"""The U-Net of MONAI's generative models (`pip install monai`).

    sads geometry examples/networks/monai_unet.py:make --shape 1x16x16 --zero-output last

Its last convolution starts at zero. What it attends to and its labels are filled by themselves.
"""

from monai.networks.nets import DiffusionModelUNet
from torch import nn

SMALL = {
    "spatial_dims": 2,
    "in_channels": 1,
    "out_channels": 1,
    "num_res_blocks": 1,
    "channels": (16, 32),
    "attention_levels": (False, True),
    "norm_num_groups": 8,
    "num_head_channels": 16,
}


def make() -> nn.Module:
    """Without conditions."""
    return DiffusionModelUNet(**SMALL)


def attending() -> nn.Module:
    """Attends to a context of width 12, which is zero."""
    return DiffusionModelUNet(**SMALL, with_conditioning=True, cross_attention_dim=12)


def labelled() -> nn.Module:
    """Five classes, of which the last is passed."""
    return DiffusionModelUNet(**SMALL, num_class_embeds=5)


def volumes() -> nn.Module:
    """Three axes of space, for shapes like 1x8x8x8."""
    return DiffusionModelUNet(**SMALL | {"spatial_dims": 3})
