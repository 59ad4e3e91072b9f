"""The improved-DDPM U-Net in one or two dimensions.

Residual blocks at each resolution level, skip connections by concatenation, one attention block
in the middle, additive time embedding unless `embedding` says otherwise. Convolutions pad with
zeros. No layer is initialised to zero unless `zero_init` is set: with a zero last layer the
geometry is zero.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import InputError
from .base import ScoreNetwork
from .initialisation import Constant, Distribution, default_distributions
from .layers import (
    CONVOLUTIONS,
    Downsample,
    GroupNorm,
    SelfAttention,
    Upsample,
    timestep_embedding,
)

EMBEDDINGS = ("add", "scale-shift", "none")


class ResidualBlock(nn.Module):
    """Norm, SiLU and convolution, twice, with the time embedding in between.

    The embedding is added before the second norm (`add`), scales and shifts its output
    (`scale-shift`), or is left out (`none`).
    """

    def __init__(
        self,
        width_in: int,
        width_out: int,
        *,
        time_width: int,
        dims: int,
        groups: int,
        embedding: str = "add",
        bypass: bool = False,
    ):
        super().__init__()
        conv = CONVOLUTIONS[dims]
        self.scaled: bool = embedding == "scale-shift"
        self.norm_in: GroupNorm = GroupNorm(groups, width_in, bypass=bypass)
        self.conv_in: nn.Module = conv(width_in, width_out, 3, padding=1)
        self.time: nn.Linear | None = None
        if embedding != "none":
            self.time = nn.Linear(time_width, 2 * width_out if self.scaled else width_out)
        self.norm_out: GroupNorm = GroupNorm(groups, width_out, bypass=bypass)
        self.conv_out: nn.Module = conv(width_out, width_out, 3, padding=1)
        self.skip: nn.Module = (
            nn.Identity() if width_in == width_out else conv(width_in, width_out, 1)
        )

    def forward(self, x: Tensor, embedding: Tensor) -> Tensor:
        """Map x (N, width_in, *S) and embedding (N, time_width) to (N, width_out, *S)."""
        h = self.conv_in(F.silu(self.norm_in(x)))
        if self.time is None:
            h = self.norm_out(h)
        else:
            time = self.time(F.silu(embedding))
            time = time.view(*time.shape, *(1,) * (x.ndim - 2))
            if self.scaled:
                scale, shift = time.chunk(2, dim=1)
                h = self.norm_out(h) * (1 + scale) + shift
            else:
                h = self.norm_out(h + time)
        return self.skip(x) + self.conv_out(F.silu(h))


class UNet(ScoreNetwork):
    """Noise-predicting U-Net.

    Args:
        shape: (C, H, W) or (C, length); sizes divisible by 2^(levels - 1).
        channels: width of the first level.
        mults: width multiplier of each resolution level.
        depth: residual blocks per level.
        heads: attention heads of the middle block.
        groups: groups of every normalisation.
        resampling: `nearest` or `area`.
        embedding: how the time enters each residual block: `add` before a norm, `scale-shift`
            after it, or `none`, so that only the sampler knows the time.
        norm_bypass: whether the mean of each channel bypasses every norm.
        zero_init: zero the last convolution of each residual block, the attention's projection
            and the read-out, as upstream does.
    """

    readout = "convolution"

    def __init__(
        self,
        shape: Sequence[int],
        *,
        channels: int = 32,
        mults: Sequence[int] = (1, 1, 1),
        depth: int = 1,
        heads: int = 4,
        groups: int = 32,
        resampling: str = "nearest",
        embedding: str = "add",
        norm_bypass: bool = False,
        zero_init: bool = False,
    ):
        super().__init__(shape)
        self._check(channels, mults, depth, heads, groups, resampling)
        if embedding not in EMBEDDINGS:
            expected = ", ".join(EMBEDDINGS)
            raise InputError(f"unknown embedding {embedding!r}: expected {expected}")
        dims = len(self.shape) - 1
        time_width = 4 * channels
        self.channels = channels
        self.resampling = resampling
        self.zero_init = zero_init
        self.time: nn.Sequential | None = None
        if embedding != "none":
            self.time = nn.Sequential(
                nn.Linear(channels, time_width), nn.SiLU(), nn.Linear(time_width, time_width)
            )

        def block(width_in: int, width_out: int) -> ResidualBlock:
            return ResidualBlock(
                width_in,
                width_out,
                time_width=time_width,
                dims=dims,
                groups=groups,
                embedding=embedding,
                bypass=norm_bypass,
            )

        conv = CONVOLUTIONS[dims]
        width = channels * mults[0]
        self.stem: nn.Module = conv(self.shape[0], width, 3, padding=1)
        widths = [width]
        self.down: nn.ModuleList = nn.ModuleList()
        for level, mult in enumerate(mults):
            for _ in range(depth):
                self.down.append(block(width, channels * mult))
                width = channels * mult
                widths.append(width)
            if level < len(mults) - 1:
                self.down.append(Downsample(width, dims=dims, resampling=resampling))
                widths.append(width)
        self.middle_in: ResidualBlock = block(width, width)
        self.attention: SelfAttention = SelfAttention(
            width, heads=heads, groups=groups, bypass=norm_bypass
        )
        self.middle_out: ResidualBlock = block(width, width)
        self.up: nn.ModuleList = nn.ModuleList()
        for level, mult in reversed(list(enumerate(mults))):
            for _ in range(depth + 1):
                self.up.append(block(width + widths.pop(), channels * mult))
                width = channels * mult
            if level > 0:
                self.up.append(Upsample(width, dims=dims))
        self.norm: GroupNorm = GroupNorm(groups, width, bypass=norm_bypass)
        self.head: nn.Module = conv(width, self.shape[0], 3, padding=1)
        if zero_init:  # else PyTorch's own initialisation is the declared one
            self.reset()

    def _check(
        self,
        channels: int,
        mults: Sequence[int],
        depth: int,
        heads: int,
        groups: int,
        resampling: str,
    ) -> None:
        if resampling not in ("nearest", "area"):
            raise InputError(f"unknown resampling {resampling!r}: expected nearest or area")
        if len(self.shape) not in (2, 3):
            raise InputError(f"a U-Net takes CxHxW or CxL, got {len(self.shape)} sizes")
        if min(channels, depth, heads, groups, *mults) < 1:
            raise InputError("channels, mults, depth, heads and groups of a U-Net start at 1")
        for width in {channels * m for m in mults}:
            if width % groups or width % heads or channels % 2:
                raise InputError(
                    f"a U-Net's widths must be even and divisible by its {groups} groups and "
                    f"{heads} heads, got {width}: change channels, mults, groups or heads"
                )
        factor = 2 ** (len(mults) - 1)
        if any(n % factor for n in self.shape[1:]):
            sizes = "x".join(map(str, self.shape[1:]))
            raise InputError(
                f"{sizes} cannot be halved {len(mults) - 1} times: {len(mults)} levels need "
                f"sizes divisible by {factor}; pad or resize the data, or pass fewer mults"
            )

    def features(self, x: Tensor, t: Tensor) -> Tensor:
        """What the last convolution reads: (N, C, *S), (N,) to (N, width, *S)."""
        embedding = timestep_embedding(t.to(x.dtype), self.channels)
        if self.time is not None:
            embedding = self.time(embedding)
        h = self.stem(x)
        skips = [h]
        for layer in self.down:
            h = layer(h, embedding) if isinstance(layer, ResidualBlock) else layer(h)
            skips.append(h)
        h = self.middle_out(self.attention(self.middle_in(h, embedding)), embedding)
        for layer in self.up:
            if isinstance(layer, ResidualBlock):
                h = layer(torch.cat([h, skips.pop()], dim=1), embedding)
            else:
                h = layer(h)
        return F.silu(self.norm(h))

    def distributions(self) -> dict[str, Distribution]:
        """PyTorch's defaults; with `zero_init`, zero where upstream uses `zero_module`."""
        zeroed = ("conv_out.", "attention.proj.", "head.") if self.zero_init else ()
        return {
            name: Constant(0.0) if any(part in name for part in zeroed) else default
            for name, default in default_distributions(self).items()
        }

    @property
    def symmetries(self) -> tuple[str, ...]:
        """Stride-2 convolutions treat left and right differently; area averages do not."""
        return ("flip", "transpose") if self.resampling == "area" else ("transpose",)
