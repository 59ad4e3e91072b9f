"""Small networks with one defect planted, or none."""

import torch
import torch.nn.functional as F
from torch import nn

from sads.networks import ScoreFamily

SHAPE = (1, 8, 8)


class Healthy(nn.Module):
    """A convolutional network that sees input, time, mean and amplitude, and has positions.

    What `defect` names is different.
    """

    def __init__(self, defect: str = "", width: int = 16):
        super().__init__()
        self.defect = defect
        self.width = width
        mode = "circular" if defect != "padded" else "zeros"
        padding = {"padding": 1, "padding_mode": mode}
        self.place = nn.Parameter(torch.randn(width, *SHAPE[1:]))
        self.stem = nn.Conv2d(1, width, 3, **padding)
        self.time = nn.Linear(2, width)
        self.norm = nn.GroupNorm(width if defect == "blind to time" else 4, width)
        self.mix = nn.Conv2d(width, width, 3, **padding)
        self.head = nn.Conv2d(width, 1, 3, **padding)
        self.gate = nn.Linear(2, width)
        if defect == "narrow with a faint way around":
            self.around = nn.Parameter(torch.ones(()))
        if defect == "starts blind to time":
            nn.init.zeros_(self.time.weight)
            nn.init.zeros_(self.time.bias)
        if defect == "zero head":
            nn.init.zeros_(self.head.weight)
            nn.init.zeros_(self.head.bias)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        angle = t.to(x.dtype)[:, None] * 0.01
        features = torch.cat([angle.sin(), angle.cos()], dim=1)
        if self.defect == "input unused":
            x = torch.zeros_like(x)
        if self.defect == "input normalised":
            x = F.instance_norm(x)
        if self.defect == "input centred":
            x = x - x.mean(dim=(2, 3), keepdim=True)
        given = x
        h = self.stem(x)
        if self.defect not in ("padded", "input unused"):
            h = h + self.place
        h = h + self.time(features)[:, :, None, None]
        if self.defect in ("blind to time", "norm of groups"):
            h = self.norm(h)
        if self.defect == "saturated":
            h = torch.tanh(1e3 * h)
        if self.defect == "tanh":
            h = torch.tanh(0.1 * h)
        if self.defect == "smooth":
            h = F.avg_pool2d(h, 5, stride=1, padding=2)
        if self.defect == "lopsided":
            h = h * torch.linspace(0.1, 2, SHAPE[-1], dtype=x.dtype)
        if self.defect in ("narrow", "narrow with a faint way around"):
            h = F.interpolate(F.avg_pool2d(h, 4), scale_factor=4)
            out = F.conv2d(F.silu(h), self.head.weight[:, :, 1:2, 1:2], self.head.bias)
            return out if self.defect == "narrow" else out + 1e-3 * self.around * given
        return self.head(F.silu(self.mix(F.silu(h))))


def family(defect: str = "", **fields: object) -> ScoreFamily:
    """The family of networks with a defect."""
    return ScoreFamily(lambda: Healthy(defect, **fields), SHAPE, name=defect or "healthy")
