"""Building blocks of well-known score networks, each as it was published, but small."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Init = Callable[[nn.Module], nn.Module]


def sinusoid(t: Tensor, width: int, like: Tensor) -> Tensor:
    """The transformer's features of a timestep, (N,) to (N, width)."""
    half = width // 2
    rates = torch.exp(torch.arange(half, dtype=like.dtype) * (-math.log(10_000) / max(half - 1, 1)))
    angles = t.to(like.dtype)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)


class Fourier(nn.Module):
    """Random Fourier features with frozen frequencies, as in score_sde and its tutorial."""

    def __init__(self, width: int, scale: float = 16.0):
        super().__init__()
        self.frequencies = nn.Parameter(scale * torch.randn(width // 2), requires_grad=False)

    def forward(self, t: Tensor) -> Tensor:
        angles = 2 * math.pi * t.to(self.frequencies)[:, None] * self.frequencies
        return torch.cat([angles.sin(), angles.cos()], dim=1)


def as_made(layer: nn.Module) -> nn.Module:
    """PyTorch's own initialisation."""
    return layer


@torch.no_grad()
def zeroed(layer: nn.Module) -> nn.Module:
    """Guided diffusion's `zero_module`."""
    for parameter in layer.parameters():
        parameter.zero_()
    return layer


def fan_average(scale: float) -> Init:
    """DDPM's and score_sde's uniform variance scaling; a scale of 0 becomes 1e-10 there."""

    @torch.no_grad()
    def init(layer: nn.Module) -> nn.Module:
        nn.init.xavier_uniform_(layer.weight, gain=math.sqrt(scale))
        nn.init.zeros_(layer.bias)
        return layer

    return init


@torch.no_grad()
def times_1e_5(layer: nn.Module) -> nn.Module:
    """EDM's `init_zero`: Xavier times 1e-5."""
    nn.init.xavier_uniform_(layer.weight)
    layer.weight *= 1e-5
    nn.init.zeros_(layer.bias)
    return layer


def groups_of_four(width: int) -> nn.Module:
    """DDPM's 32 groups on 128 channels, at any width."""
    return nn.GroupNorm(width // 4, width, eps=1e-6)


class RMSNorm(nn.Module):
    """Of the channels of each position, with a gain; lucidrains' norm."""

    def __init__(self, width: int):
        super().__init__()
        self.g = nn.Parameter(torch.ones(1, width, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(x, dim=1) * self.g * math.sqrt(x.shape[1])


class Residual(nn.Module):
    """Norm, SiLU, convolution, twice; the time is added in between, or scales and shifts there."""

    def __init__(
        self,
        width_in: int,
        width_out: int,
        condition: int,
        *,
        inner: Init = as_made,
        last: Init = as_made,
        norm: Callable[[int], nn.Module] = groups_of_four,
        scale_shift: bool = False,
        rescale: float = 1.0,
    ):
        super().__init__()
        self.norm0, self.norm1 = norm(width_in), norm(width_out)
        self.conv0 = inner(nn.Conv2d(width_in, width_out, 3, padding=1))
        self.time = inner(nn.Linear(condition, width_out * (1 + scale_shift)))
        self.conv1 = last(nn.Conv2d(width_out, width_out, 3, padding=1))
        same = width_in == width_out
        self.skip = nn.Identity() if same else inner(nn.Conv2d(width_in, width_out, 1))
        self.scale_shift, self.rescale = scale_shift, rescale

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        h = self.conv0(F.silu(self.norm0(x)))
        time = self.time(F.silu(condition))[:, :, None, None]
        if self.scale_shift:
            scale, shift = time.chunk(2, dim=1)
            h = self.norm1(h) * (1 + scale) + shift
        else:
            h = self.norm1(h + time)
        return (self.skip(x) + self.conv1(F.silu(h))) * self.rescale


class Attention(nn.Module):
    """One head over positions, in a residual branch."""

    def __init__(
        self, width: int, *, inner: Init = as_made, last: Init = as_made, rescale: float = 1.0
    ):
        super().__init__()
        self.norm = groups_of_four(width)
        self.qkv = inner(nn.Conv2d(width, 3 * width, 1))
        self.proj = last(nn.Conv2d(width, width, 1))
        self.rescale = rescale

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.qkv(self.norm(x)).flatten(2).chunk(3, dim=1)
        scores = torch.einsum("ncq,nck->nqk", query, key) / math.sqrt(x.shape[1])
        mixed = torch.einsum("nqk,nck->ncq", scores.softmax(dim=-1), value)
        return (x + self.proj(mixed.reshape(x.shape))) * self.rescale


class LinearAttention(nn.Module):
    """Softmax of queries over features and of keys over positions; lucidrains' attention."""

    def __init__(self, width: int):
        super().__init__()
        self.norm = RMSNorm(width)
        self.qkv = nn.Conv2d(width, 3 * width, 1, bias=False)
        self.memory = nn.Parameter(torch.randn(2, width, 4))
        self.out = nn.Sequential(nn.Conv2d(width, width, 1), RMSNorm(width))

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.qkv(self.norm(x)).flatten(2).chunk(3, dim=1)
        more_keys, more_values = (m.expand(len(x), -1, -1) for m in self.memory)
        key = torch.cat([more_keys, key], dim=2).softmax(dim=-1)
        value = torch.cat([more_values, value], dim=2)
        context = torch.einsum("ndk,nek->nde", key, value)
        mixed = torch.einsum("nde,ndq->neq", context, query.softmax(dim=1) / math.sqrt(32))
        return x + self.out(mixed.reshape(x.shape))


class Strided(nn.Conv2d):
    """A convolution of stride two that pads on one side alone, as TensorFlow's `SAME`."""

    def __init__(self, width: int):
        super().__init__(width, width, 3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(F.pad(x, (0, 1, 0, 1)))


class UNet(nn.Module):
    """Two levels with attention in the lower one; subclasses say which blocks.

    Everything that differs between publications is a method.
    """

    width = 16
    wide_time = 64

    def __init__(self, channels: int = 1):
        super().__init__()
        w = self.width
        self.embed = nn.Sequential(
            nn.Linear(w, self.wide_time), nn.SiLU(), nn.Linear(self.wide_time, self.wide_time)
        )
        self.stem = nn.Conv2d(channels, w, 3, padding=1)
        self.first = self.block(w, w)
        self.down = self.smaller(w)
        self.deep, self.attend, self.deeper = (
            self.block(w, 2 * w),
            self.attention(2 * w),
            self.block(2 * w, 2 * w),
        )
        self.up = nn.Conv2d(2 * w, 2 * w, 3, padding=1)
        self.last = self.block(3 * w, w)
        self.norm = self.normalisation(w)
        self.head = self.read_out(nn.Conv2d(w, channels, 3, padding=1))

    def block(self, width_in: int, width_out: int) -> nn.Module:
        return Residual(width_in, width_out, self.wide_time)

    def attention(self, width: int) -> nn.Module:
        return Attention(width)

    def smaller(self, width: int) -> nn.Module:
        return Strided(width)

    def normalisation(self, width: int) -> nn.Module:
        return groups_of_four(width)

    def read_out(self, layer: nn.Module) -> nn.Module:
        return layer

    def condition(self, x: Tensor, t: Tensor) -> Tensor:
        return self.embed(sinusoid(t, self.width, x))

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        c = self.condition(x, t)
        fine = self.first(self.stem(x), c)
        h = self.deeper(self.attend(self.deep(self.down(fine), c)), c)
        h = self.up(F.interpolate(h, scale_factor=2.0, mode="nearest"))
        h = self.last(torch.cat([h, fine], dim=1), c)
        return self.head(F.silu(self.norm(h)))
