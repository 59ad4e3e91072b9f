"""Networks of the atlas for trajectories, written from the published facts."""

from itertools import pairwise

import torch
from torch import Tensor, nn
from u_nets import sinusoid


def mish_step(a: int, b: int) -> nn.Module:
    """A convolution of five, a norm of eight groups, Mish."""
    return nn.Sequential(nn.Conv1d(a, b, 5, padding=2), nn.GroupNorm(8, b), nn.Mish())


class TimedBlock(nn.Module):
    """Two such steps with the time added in between, and a way around them."""

    def __init__(self, a: int, b: int, time: int):
        super().__init__()
        self.before, self.after = mish_step(a, b), mish_step(b, b)
        self.time = nn.Sequential(nn.Mish(), nn.Linear(time, b))
        self.around = nn.Conv1d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        return self.after(self.before(x) + self.time(c)[:, :, None]) + self.around(x)


class Pair(nn.Module):
    """Two blocks of one level."""

    def __init__(self, a: int, b: int, time: int):
        super().__init__()
        self.first, self.second = TimedBlock(a, b, time), TimedBlock(b, b, time)

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        return self.second(self.first(x, c), c)


class Diffuser(nn.Module):
    """Diffuser's U-Net over trajectories: two blocks a level, widths 32, 64, 128 and 256."""

    def __init__(
        self, channels: int = 14, width: int = 32, multipliers: tuple[int, ...] = (1, 2, 4, 8)
    ):
        super().__init__()
        self.width = width
        self.embed = nn.Sequential(
            nn.Linear(width, 4 * width), nn.Mish(), nn.Linear(4 * width, width)
        )
        widths = [m * width for m in multipliers]

        self.levels = nn.ModuleList(Pair(a, b, width) for a, b in pairwise([channels, *widths]))
        self.down = nn.ModuleList(nn.Conv1d(w, w, 3, 2, 1) for w in widths[:-1])
        self.middle = Pair(widths[-1], widths[-1], width)
        steps = [*pairwise(widths)][::-1]
        self.merge = nn.ModuleList(Pair(2 * b, a, width) for a, b in steps)
        self.up = nn.ModuleList(nn.ConvTranspose1d(a, a, 4, 2, 1) for a, _ in steps)
        self.head = nn.Sequential(mish_step(width, width), nn.Conv1d(width, channels, 1))

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        c, h, kept = self.embed(sinusoid(t, self.width, x)), x, []
        for i, level in enumerate(self.levels):
            h = level(self.down[i - 1](h) if i else h, c)
            kept.append(h)
        h = self.middle(h, c)
        for merge, up in zip(self.merge, self.up, strict=True):
            h = up(merge(torch.cat([h, kept.pop()], dim=1), c))
        return self.head(h)


def diffuser() -> nn.Module:
    """Diffuser for the hopper: 32 steps of 11 observations and 3 actions."""
    return Diffuser()
