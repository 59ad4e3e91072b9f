"""Layers that the score networks share; all of them run under `torch.func.vmap`."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

LONGEST_PERIOD = 10_000.0  # of the time features, in steps
CONVOLUTIONS: dict[int, type[nn.Conv1d] | type[nn.Conv2d]] = {1: nn.Conv1d, 2: nn.Conv2d}


def timestep_embedding(t: Tensor, width: int) -> Tensor:
    """Sinusoidal features of the timestep.

    Args:
        t: timesteps, shape (N,).
        width: number of features, even.

    Returns:
        cos then sin at geometrically spaced frequencies, shape (N, width).
    """
    half = width // 2
    steps = torch.arange(half, dtype=t.dtype, device=t.device)
    angles = t[:, None] * torch.exp(-math.log(LONGEST_PERIOD) / half * steps)[None, :]
    return torch.cat([angles.cos(), angles.sin()], dim=-1)


def attention(qkv: Tensor, heads: int) -> Tensor:
    """Multi-head attention over tokens: queries, keys, values (N, T, 3 * W) to (N, T, W)."""
    q, k, v = qkv.unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)


class GroupNorm(nn.GroupNorm):
    """Group normalisation that is exact on constant groups.

    A norm does not change when a constant is subtracted first. Subtracting the group's first
    entry makes a spatially constant group exactly zero, where the plain formula leaves the
    rounding of its mean and multiplies it by 1/sqrt(eps) = 316. At x = 0 the first level of a
    U-Net is constant, and four such norms in a row turn float32 rounding into the output.

    Args:
        groups: number of groups of channels.
        channels: number of channels of the input.
        bypass: whether the mean of each channel over its positions is added to the output. It then
            survives the norm, which otherwise removes what the channels of a group share.
    """

    def __init__(self, groups: int, channels: int, *, bypass: bool = False):
        super().__init__(groups, channels)
        self.bypass = bypass

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name
        """Normalise an input of shape (N, C, *spatial)."""
        if self.bypass:
            means = input.flatten(2).mean(-1).view(*input.shape[:2], *(1,) * (input.ndim - 2))
            return means + self._normalised(input)
        return self._normalised(input)

    def _normalised(self, input: Tensor) -> Tensor:  # noqa: A002 - torch's name
        if not torch.compiler.is_compiling():  # compiled for training, where no input is constant
            grouped = input.unflatten(1, (self.num_groups, -1)).flatten(2)
            input = (grouped - grouped[..., :1]).view(input.shape)  # noqa: A001
        # F.group_norm refuses a single sample of one pixel with one channel in each group; the
        # result is the bias there, as in larger batches.
        return torch.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class Downsample(nn.Module):
    """Halve the spatial size: (N, C, *S) to (N, C, *S/2).

    `nearest`: a 3-wide convolution with stride 2. `area`: a 3-wide convolution, then the mean
    of each cell of two; unlike the first it commutes with flips.
    """

    def __init__(self, channels: int, *, dims: int, resampling: str):
        super().__init__()
        self.area: bool = resampling == "area"
        self.dims = dims
        stride = 1 if self.area else 2
        self.conv: nn.Module = CONVOLUTIONS[dims](channels, channels, 3, stride=stride, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        if not self.area:
            return x
        return F.avg_pool2d(x, 2) if self.dims == 2 else F.avg_pool1d(x, 2)


class Upsample(nn.Module):
    """Double the spatial size by repetition, then a 3-wide convolution: (N, C, *S) to (N, C, *2S).

    Nearest and area interpolation are the same map when the factor is two.
    """

    def __init__(self, channels: int, *, dims: int):
        super().__init__()
        self.conv: nn.Module = CONVOLUTIONS[dims](channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        for axis in range(2, x.ndim):
            x = torch.stack([x, x], dim=axis + 1).flatten(axis, axis + 1)
        return self.conv(x)


class SelfAttention(nn.Module):
    """Multi-head self-attention over positions with a residual: (N, C, *S) to (N, C, *S)."""

    def __init__(self, channels: int, *, heads: int, groups: int, bypass: bool = False):
        super().__init__()
        self.heads = heads
        self.norm: GroupNorm = GroupNorm(groups, channels, bypass=bypass)
        self.qkv: nn.Conv1d = nn.Conv1d(channels, 3 * channels, 1)
        self.proj: nn.Conv1d = nn.Conv1d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        flat = x.flatten(2)
        # (N, heads, 3, width, S): each head holds its own query, key and value.
        q, k, v = self.qkv(self.norm(flat)).unflatten(1, (self.heads, 3, -1)).unbind(2)
        scores = torch.einsum("nhcs,nhct->nhst", q, k) / math.sqrt(q.shape[2])
        mixed = torch.einsum("nhst,nhct->nhcs", scores.softmax(-1), v)
        return x + self.proj(mixed.flatten(1, 2)).view(x.shape)
