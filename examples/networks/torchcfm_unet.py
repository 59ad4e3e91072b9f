"""The U-Net of torchcfm, a velocity field `forward(t, x)` with t from 0 (noise) to 1 (data).

    sads geometry examples/networks/torchcfm_unet.py:make,prediction=flow,reverse \\
        --shape 1x16x16 --zero-output last

It predicts the velocity of a flow, and its time runs from noise to data.
"""

from torch import nn
from torchcfm.models.unet import UNetModel


def make() -> nn.Module:
    """Two levels on one channel."""
    return UNetModel(
        dim=(1, 16, 16),
        num_channels=32,
        num_res_blocks=1,
        channel_mult=(1, 2),
        attention_resolutions="8",
        num_heads=2,
    )
