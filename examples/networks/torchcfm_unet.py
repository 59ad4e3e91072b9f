"""The U-Net of torchcfm, a velocity field `forward(t, x)` with t from 0 (noise) to 1 (data).

    sads geometry examples/networks/torchcfm_unet.py:make --shape 1x16x16 --zero-output last

Its time is a float, which is stated below: `t` takes the place of the timestep that is passed
otherwise. What it predicts is a velocity; here the geometry of its output itself is looked at.
"""

from torch import nn
from torchcfm.models.unet import UNetModel

STEPS = 1000


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


def inputs(x, t):
    """Time from 1 at the data to 0 at pure noise."""
    return {"t": 1 - t.to(x.dtype) / STEPS}
