"""EDM2's U-Net of the atlas, written from the published facts: every layer preserves magnitudes.

Weights have no bias and are normalised to unit rows whenever they are used, sums and
concatenations are weighted so that variances stay, the time enters through gains that start at
zero, and so does the gain of the output.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from u_nets import Preconditioned

BALANCE = 0.3  # of a residual branch in its sum


def silu(x: Tensor) -> Tensor:
    """SiLU, scaled to unit variance for unit Gaussian input."""
    return F.silu(x) / 0.596


def unit(x: Tensor, dim: int | tuple[int, ...] = 1) -> Tensor:
    """Values divided by their root mean square over some dimensions."""
    return x / (x.square().mean(dim=dim, keepdim=True).sqrt() + 1e-4)


def mixed(a: Tensor, b: Tensor, balance: float = BALANCE) -> Tensor:
    """A sum that keeps the variance of independent parts."""
    return torch.lerp(a, b, balance) / math.sqrt((1 - balance) ** 2 + balance**2)


def joined(a: Tensor, b: Tensor) -> Tensor:
    """A concatenation in which both parts weigh the same."""
    wide = math.sqrt((a.shape[1] + b.shape[1]) / 2)
    return torch.cat([a * wide / math.sqrt(a.shape[1]), b * wide / math.sqrt(b.shape[1])], dim=1)


class Layer(nn.Module):
    """A convolution or linear layer with normalised rows."""

    def __init__(self, a: int, b: int, *size: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(b, a, *size))

    def forward(self, x: Tensor, gain: Tensor | float = 1.0) -> Tensor:
        rows = tuple(range(1, self.weight.ndim))
        weight = unit(self.weight, rows) * (gain / math.sqrt(self.weight[0].numel()))
        if weight.ndim == 2:
            return x @ weight.T
        return F.conv2d(x, weight, padding=weight.shape[-1] // 2)


class Block(nn.Module):
    """A residual block; the time scales its channels."""

    def __init__(self, a: int, b: int, time: int, *, way: str, attends: bool, size: float = 1.0):
        super().__init__()
        self.way, self.size = way, size
        self.skip = Layer(a, b, 1, 1) if a != b else None
        inside = b if way == "down" else a
        self.conv0, self.conv1 = Layer(inside, b, 3, 3), Layer(b, b, 3, 3)
        self.time, self.gain = Layer(time, b), nn.Parameter(torch.zeros(()))
        self.heads = b // 64
        self.qkv = Layer(b, 3 * b, 1, 1) if attends else None
        self.proj = Layer(b, b, 1, 1) if attends else None

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        if self.size < 1:
            x = F.avg_pool2d(x, 2)
        elif self.size > 1:
            x = F.interpolate(x, scale_factor=2.0, mode="nearest")
        if self.way == "down":
            x = unit(x if self.skip is None else self.skip(x))
        h = self.conv0(silu(x)) * (self.time(c, self.gain) + 1)[:, :, None, None]
        h = self.conv1(silu(h))
        if self.way == "up" and self.skip is not None:
            x = self.skip(x)
        x = mixed(x, h)
        if self.qkv is None or self.proj is None:
            return x
        return mixed(x, self.proj(self.attended(x, self.qkv(x))))

    def attended(self, x: Tensor, qkv: Tensor) -> Tensor:
        qkv = qkv.view(len(x), self.heads, -1, 3, x.shape[2] * x.shape[3])
        q, k, v = unit(qkv, 2).permute(3, 0, 1, 4, 2)
        y = F.scaled_dot_product_attention(q, k, v).transpose(-1, -2)
        return y.reshape(x.shape)


class UNet(nn.Module):
    """EDM2's U-Net; see `UNet` in `u_nets` for the numbers."""

    def __init__(
        self,
        channels: int,
        size: int,
        width: int,
        multipliers: tuple[int, ...],
        blocks: int,
        attention: tuple[int, ...],
    ):
        super().__init__()
        time = max(multipliers) * width
        self.register_buffer("frequencies", 2 * math.pi * torch.randn(width))
        self.register_buffer("phases", 2 * math.pi * torch.rand(width))
        self.embed = Layer(width, time)
        self.stem = Layer(channels + 1, width, 3, 3)
        kept, now = [width], width
        self.down, self.up = nn.ModuleList(), nn.ModuleList()

        def block(a: int, b: int, way: str, by: float = 1.0, *, attends: bool = True) -> Block:
            attends = attends and size in attention
            return Block(a, b, time, way=way, attends=attends, size=by)

        for i, multiplier in enumerate(multipliers):
            if i:
                size //= 2
                self.down.append(block(now, now, "down", 0.5, attends=False))
                kept.append(now)
            for _ in range(blocks):
                self.down.append(block(now, multiplier * width, "down"))
                now = multiplier * width
                kept.append(now)
        self.middle = nn.ModuleList(
            [Block(now, now, time, way="up", attends=a) for a in (True, False)]
        )
        for i, multiplier in reversed(list(enumerate(multipliers))):
            for _ in range(blocks + 1):
                self.up.append(block(now + kept.pop(), multiplier * width, "up"))
                now = multiplier * width
            if i:
                size *= 2
                self.up.append(block(now, now, "up", 2.0, attends=False))
        self.head, self.gain = Layer(now, channels, 3, 3), nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        frequencies, phases = self.get_buffer("frequencies"), self.get_buffer("phases")
        angles = t.to(x.dtype)[:, None] * frequencies + phases
        c = silu(self.embed(angles.cos() * math.sqrt(2)))
        h = self.stem(torch.cat([x, torch.ones_like(x[:, :1])], dim=1))
        kept = [h]
        for part in self.down:
            h = part(h, c)
            kept.append(h)
        for part in self.middle:
            h = part(h, c)
        for part in self.up:
            grows = isinstance(part, Block) and part.size > 1
            h = part(h if grows else joined(h, kept.pop()), c)
        return self.head(h, self.gain)


def edm2_s_64() -> nn.Module:
    """EDM2-S, ImageNet 64: 192 channels, multipliers 1 to 4; one block a level for three."""
    return Preconditioned(UNet(3, 64, 192, (1, 2, 3, 4), 1, (16, 8)), 0.25)
