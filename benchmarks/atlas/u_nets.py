"""U-Nets of the atlas, written from the published facts: widths, blocks, norms, initialisation.

One class holds what they share: a stem, levels of residual blocks with attention at some sizes, a
middle, and the way back with concatenated skips. What the papers do differently is a `Style`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Layer = nn.Conv2d | nn.Linear
Init = Callable[[Layer], Layer]


def as_made(layer: Layer) -> Layer:
    """PyTorch's own initialisation."""
    return layer


@torch.no_grad()
def zeroed(layer: Layer) -> Layer:
    """All parameters zero, as at the ends of branches in improved and guided diffusion."""
    for parameter in layer.parameters():
        parameter.zero_()
    return layer


@torch.no_grad()
def xavier(layer: Layer, gain: float = 1.0) -> Layer:
    """Xavier's uniform weights times a gain, no bias."""
    nn.init.xavier_uniform_(layer.weight)
    layer.weight *= gain
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer


def nearly_zero(layer: Layer) -> Layer:
    """EDM's ends of branches: 1e-5 of Xavier's weights."""
    return xavier(layer, 1e-5)


@dataclass(frozen=True)
class Style:
    """What differs between publications.

    Attributes:
        inner: initialisation of layers inside a branch.
        last: of the last layer of a branch, and of the network.
        scale_shift: whether the time scales and shifts behind a norm instead of being added.
        rescale: factor of every residual sum.
        head_width: channels of an attention head; None for one head.
        resample_in_blocks: whether blocks change the size, instead of convolutions between them.
        attend_back_once: whether, on the way back, only the last block of a level has attention.
    """

    inner: Init = as_made
    last: Init = zeroed
    scale_shift: bool = True
    rescale: float = 1.0
    head_width: int | None = 64
    resample_in_blocks: bool = False
    attend_back_once: bool = False


def sinusoid(t: Tensor, width: int, like: Tensor) -> Tensor:
    """Sines and cosines of a timestep, (N,) to (N, width)."""
    half = width // 2
    rates = torch.exp(torch.arange(half, dtype=like.dtype) * (-math.log(10_000) / half))
    angles = t.to(like.dtype)[:, None] * rates
    return torch.cat([angles.cos(), angles.sin()], dim=1)


def rising_sinusoid(t: Tensor, width: int, like: Tensor, denominator: int) -> Tensor:
    """Sines and cosines of a timestep at rates from 1 to nearly 10,000, (N,) to (N, width)."""
    half = width // 2
    rates = 10.0 ** (torch.arange(half, dtype=like.dtype) * (4 / denominator))
    angles = t.to(like.dtype)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def norm(width: int) -> nn.Module:
    """Group normalisation with 32 groups, and with groups of four channels in narrow layers."""
    return nn.GroupNorm(min(32, width // 4), width)


class Block(nn.Module):
    """A residual block; `size` is 2 to double the picture, 0.5 to halve it."""

    def __init__(self, a: int, b: int, time: int, style: Style, size: float = 1.0):
        super().__init__()
        self.style, self.size = style, size
        self.norm0, self.norm1 = norm(a), norm(b)
        self.conv0 = style.inner(nn.Conv2d(a, b, 3, padding=1))
        self.time = style.inner(nn.Linear(time, b * (2 if style.scale_shift else 1)))
        self.conv1 = style.last(nn.Conv2d(b, b, 3, padding=1))
        self.skip = nn.Identity() if a == b else style.inner(nn.Conv2d(a, b, 1))

    def resized(self, x: Tensor) -> Tensor:
        if self.size == 1.0:
            return x
        if self.size < 1:
            return F.avg_pool2d(x, 2)
        return F.interpolate(x, scale_factor=self.size, mode="nearest")

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        h = self.conv0(self.resized(F.silu(self.norm0(x))))
        time = self.time(F.silu(c))[:, :, None, None]
        if self.style.scale_shift:
            scale, shift = time.chunk(2, dim=1)
            h = self.norm1(h) * (1 + scale) + shift
        else:
            h = self.norm1(h + time)
        return (self.skip(self.resized(x)) + self.conv1(F.silu(h))) * self.style.rescale


class Attention(nn.Module):
    """Attention over positions in a residual branch."""

    def __init__(self, width: int, style: Style):
        super().__init__()
        self.heads = width // (style.head_width or width)
        self.norm, self.style = norm(width), style
        self.qkv = style.inner(nn.Conv2d(width, 3 * width, 1))
        self.proj = style.last(nn.Conv2d(width, width, 1))

    def forward(self, x: Tensor) -> Tensor:
        count, width = x.shape[:2]
        qkv = self.qkv(self.norm(x)).view(count, 3, self.heads, width // self.heads, -1)
        q, k, v = qkv.transpose(-1, -2).unbind(1)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(-1, -2)
        return (x + self.proj(mixed.reshape(x.shape))) * self.style.rescale


class Level(nn.Module):
    """A block, and attention behind it where the size asks for it."""

    def __init__(self, block: Block, attention: Attention | None = None):
        super().__init__()
        self.block, self.attention = block, attention

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        h = self.block(x, c)
        return h if self.attention is None else self.attention(h)


class Convolution(nn.Module):
    """A convolution between levels, which halves or doubles the picture."""

    def __init__(self, width: int, size: float, style: Style):
        super().__init__()
        self.size = size
        stride = 2 if size < 1 else 1
        self.conv = style.inner(nn.Conv2d(width, width, 3, stride=stride, padding=1))

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        grown = F.interpolate(x, scale_factor=2.0, mode="nearest") if self.size > 1 else x
        return self.conv(grown)


class UNet(nn.Module):
    """A U-Net from the numbers that papers publish.

    Args:
        channels: of a sample.
        size: height and width of a sample.
        width: channels of the first level.
        multipliers: of the width, one for each level.
        blocks: residual blocks a level, one more on the way back.
        attention: sizes at which there is attention.
        style: what else the paper does.
        learned_variance: whether the output has a second half, the variance.
    """

    def __init__(
        self,
        channels: int,
        size: int,
        width: int,
        multipliers: tuple[int, ...],
        blocks: int,
        attention: tuple[int, ...],
        style: Style,
        *,
        learned_variance: bool = False,
    ):
        super().__init__()
        self.width, time = width, 4 * width
        self.embed = nn.Sequential(
            style.inner(nn.Linear(width, time)), nn.SiLU(), style.inner(nn.Linear(time, time))
        )
        self.stem = style.inner(nn.Conv2d(channels, width, 3, padding=1))

        def level(a: int, b: int, *, attends: bool = True) -> Level:
            attends = attends and size in attention
            return Level(Block(a, b, time, style), Attention(b, style) if attends else None)

        def resample(w: int, by: float) -> nn.Module:
            inside = style.resample_in_blocks
            return Block(w, w, time, style, by) if inside else Convolution(w, by, style)

        kept, now = [width], width
        self.down = nn.ModuleList()
        for i, multiplier in enumerate(multipliers):
            for _ in range(blocks):
                self.down.append(level(now, multiplier * width))
                now = multiplier * width
                kept.append(now)
            if i < len(multipliers) - 1:
                self.down.append(resample(now, 0.5))
                kept.append(now)
                size //= 2
        self.middle = nn.ModuleList(
            [
                Level(Block(now, now, time, style), Attention(now, style)),
                Block(now, now, time, style),
            ]
        )
        self.up = nn.ModuleList()
        for i, multiplier in reversed(list(enumerate(multipliers))):
            for j in range(blocks + 1):
                attends = j == blocks or not style.attend_back_once
                self.up.append(level(now + kept.pop(), multiplier * width, attends=attends))
                now = multiplier * width
            if i:
                self.up.append(resample(now, 2.0))
                size *= 2
        self.norm = norm(now)
        self.head = style.last(nn.Conv2d(now, channels * (1 + learned_variance), 3, padding=1))

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        c = self.embed(sinusoid(t, self.width, x))
        h = self.stem(x)
        kept = [h]
        for part in self.down:
            h = part(h, c)
            kept.append(h)
        for part in self.middle:
            h = part(h, c)
        for part in self.up:
            h = (
                part(torch.cat([h, kept.pop()], dim=1), c)
                if isinstance(part, Level)
                else part(h, c)
            )
        return self.head(F.silu(self.norm(h)))


class Preconditioned(nn.Module):
    """EDM's wrapper: the denoised image at noise level sigma, which the model gets as a log."""

    sigma_data = 0.5

    def __init__(self, model: nn.Module, scale: float):
        super().__init__()
        self.model, self.scale = model, scale

    def forward(self, x: Tensor, sigma: Tensor) -> Tensor:
        sigma = sigma.to(x.dtype).view(-1, 1, 1, 1)
        total = sigma**2 + self.sigma_data**2
        inner = self.model(x / total.sqrt(), self.scale * sigma.flatten().log())
        return self.sigma_data**2 / total * x + sigma * self.sigma_data / total.sqrt() * inner


def iddpm_cifar10() -> nn.Module:
    """Improved DDPM, CIFAR-10: 128 channels, multipliers 1, 2, 2, 2, three blocks, 4 heads."""
    return UNet(3, 32, 128, (1, 2, 2, 2), 3, (16, 8), Style(), learned_variance=True)


def adm_64() -> nn.Module:
    """Guided diffusion, ImageNet 64: 192 channels, multipliers 1 to 4; one block for three."""
    style = Style(resample_in_blocks=True)
    return UNet(3, 64, 192, (1, 2, 3, 4), 1, (32, 16, 8), style, learned_variance=True)


def edm_cifar10() -> nn.Module:
    """EDM's DDPM++, CIFAR-10: 128 channels, multipliers 2, 2, 2, four blocks, attention at 16."""
    style = Style(
        inner=xavier,
        last=nearly_zero,
        scale_shift=False,
        rescale=math.sqrt(0.5),
        head_width=None,
        resample_in_blocks=True,
        attend_back_once=True,
    )
    return Preconditioned(UNet(3, 32, 128, (2, 2, 2), 4, (16,), style), 250.0)
