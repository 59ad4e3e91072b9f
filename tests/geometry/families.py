"""Small families of every kind, quick enough for statistics."""

from collections.abc import Callable
from functools import partial

import numpy as np
from torch import nn

from sads.geometry import Forward, Gaussian, Point, Zero
from sads.networks import CNN, MLP, SSM, DiT, Linear, ScoreFamily, UNet, ViT
from sads.path import Schedule

SHORT = Schedule("linear", 50)  # no timestep dominates: its weights have bounded spread


def _family(name: str, network: Callable[..., nn.Module], shape, **fields) -> ScoreFamily:
    return ScoreFamily(partial(network, shape, **fields), shape, SHORT, name)


FAMILIES = {
    f.name: f
    for f in (
        _family("unet", UNet, (1, 8, 8), channels=8, groups=4, mults=(1, 1)),
        _family(
            "unet-area", UNet, (1, 8, 8), channels=8, groups=4, mults=(1, 1), resampling="area"
        ),
        _family("unet-rgb", UNet, (3, 4, 4), channels=8, groups=8, mults=(1, 1)),
        _family("unet-1d", UNet, (2, 16), channels=8, groups=4, mults=(1, 1)),
        _family("dit", DiT, (1, 8, 8), patch=2, width=16, depth=2),
        _family("mlp", MLP, (1, 4, 4), width=16),
        _family("cnn", CNN, (2, 4, 4), width=8, depth=2),
        _family("vit", ViT, (1, 6, 6), patch=2, width=16, depth=2),
        _family("vit-sincos", ViT, (2, 4, 4), patch=2, width=16, depth=2, positions="sincos"),
        _family("ssm", SSM, (2, 12), width=8, depth=2, states=4),
        _family("ssm-causal", SSM, (1, 12), width=8, depth=2, states=4, bidirectional=False),
        _family("ssm-image", SSM, (1, 4, 4), width=8, depth=2, states=4),
        _family("linear", Linear, (6,), eigenvalues=(8, 5, 3, 2, 1, 1), rotation=2),
    )
}


def probes(shape: tuple[int, ...]) -> dict[str, Zero | Gaussian | Point | Forward]:
    rng = np.random.default_rng(5)
    return {
        "zero": Zero(),
        "gaussian": Gaussian(0.7),
        "point": Point(rng.standard_normal(shape)),
        "forward": Forward(rng.uniform(-1, 1, (3, *shape))),
    }


class Scaled(nn.Module):
    """A foreign module: no declared distributions, read-out or symmetries."""

    def __init__(self, size: int = 16):
        super().__init__()
        self.layer = nn.Linear(size, size)

    def forward(self, x, t):
        return self.layer(x.flatten(1)).view(x.shape) * (1 + 0.001 * t.view(-1, 1, 1, 1))
