"""The diffusion transformer (DiT), unconditional, without learned variance.

Tokens are patches with fixed two-dimensional sin-cos positions P; blocks are modulated by the
timestep through adaLN-Zero. At initialisation every modulation is zero, so each block is the
identity, and at x = 0 the features are LN(P) for every draw of the parameters.

The last linear layer keeps its xavier-uniform draw; upstream's zero there would make G = 0.
"""

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import InputError
from .base import ScoreNetwork
from .initialisation import Constant, Distribution, Normal, xavier_uniform
from .layers import attention, timestep_embedding, unpatchify

TIME_FEATURES = 256


def sincos_positions(width: int, rows: int, columns: int) -> Tensor:
    """Fixed positions P of shape (rows * columns, width): the column's features, then the row's."""
    quarter = width // 4
    rates = 1 / 10_000 ** (np.arange(quarter) / quarter)

    def encode(position: np.ndarray) -> np.ndarray:
        angles = position.reshape(-1, 1) * rates
        return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)

    row, column = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    return torch.from_numpy(np.concatenate([encode(column), encode(row)], axis=1)).float()


def modulate(x: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    """Scale and shift x (N, T, W) by (N, W)."""
    return x * (1 + scale[:, None]) + shift[:, None]


class Block(nn.Module):
    """Attention and MLP, each gated and modulated by the conditioning (adaLN-Zero)."""

    def __init__(self, width: int, *, heads: int, mlp_width: int):
        super().__init__()
        self.heads = heads
        self.norm_attention: nn.LayerNorm = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.qkv: nn.Linear = nn.Linear(width, 3 * width)
        self.proj: nn.Linear = nn.Linear(width, width)
        self.norm_mlp: nn.LayerNorm = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.mlp_in: nn.Linear = nn.Linear(width, mlp_width)
        self.mlp_out: nn.Linear = nn.Linear(mlp_width, width)
        self.modulation: nn.Linear = nn.Linear(width, 6 * width)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        """Map tokens x (N, T, W) and condition (N, W) to (N, T, W)."""
        shift_a, scale_a, gate_a, shift_m, scale_m, gate_m = self.modulation(
            F.silu(condition)
        ).chunk(6, dim=-1)
        h = attention(self.qkv(modulate(self.norm_attention(x), shift_a, scale_a)), self.heads)
        x = x + gate_a[:, None] * self.proj(h)
        h = F.gelu(self.mlp_in(modulate(self.norm_mlp(x), shift_m, scale_m)), approximate="tanh")
        return x + gate_m[:, None] * self.mlp_out(h)


class DiT(ScoreNetwork):
    """Noise-predicting diffusion transformer.

    Args:
        shape: (C, H, W), H and W divisible by `patch`.
        patch: side of a patch.
        width: hidden size, divisible by 4 and by `heads`.
        depth: number of blocks.
        heads: attention heads.
        mlp_ratio: hidden width of the MLP over `width`.
        zero_init: zero the last linear layer, as upstream does.
    """

    readout = "tokens"

    def __init__(
        self,
        shape: Sequence[int],
        *,
        patch: int = 2,
        width: int = 48,
        depth: int = 8,
        heads: int = 4,
        mlp_ratio: int = 2,
        zero_init: bool = False,
    ):
        super().__init__(shape)
        if min(patch, width, depth, heads, mlp_ratio) < 1:
            raise InputError("patch, width, depth, heads and mlp_ratio of a DiT start at 1")
        if len(self.shape) != 3 or any(n % patch for n in self.shape[1:]):
            sizes = "x".join(map(str, self.shape))
            raise InputError(
                f"a DiT with patches of {patch} takes CxHxW with H and W divisible by {patch}, "
                f"got {sizes}"
            )
        channels, height, breadth = self.shape
        if width % 4 or width % heads:
            raise InputError(
                f"the width of a DiT must be divisible by 4 and by its {heads} heads, got {width}"
            )
        self.patch = patch
        self.zero_init = zero_init
        self.grid: tuple[int, int] = (height // patch, breadth // patch)
        self.embed: nn.Conv2d = nn.Conv2d(channels, width, patch, stride=patch)
        self.register_buffer("positions", sincos_positions(width, *self.grid), persistent=False)
        self.time: nn.Sequential = nn.Sequential(
            nn.Linear(TIME_FEATURES, width), nn.SiLU(), nn.Linear(width, width)
        )
        self.blocks: nn.ModuleList = nn.ModuleList(
            Block(width, heads=heads, mlp_width=mlp_ratio * width) for _ in range(depth)
        )
        self.norm: nn.LayerNorm = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.modulation: nn.Linear = nn.Linear(width, 2 * width)
        self.head: nn.Module = nn.Linear(width, patch * patch * channels)
        self.reset()

    def features(self, x: Tensor, t: Tensor) -> Tensor:
        """What the last linear layer reads: (N, C, H, W), (N,) to tokens (N, T, width)."""
        h = self.embed(x).flatten(2).transpose(1, 2) + self.positions
        condition = self.time(timestep_embedding(t.to(x.dtype), TIME_FEATURES))
        for block in self.blocks:
            h = block(h, condition)
        shift, scale = self.modulation(F.silu(condition)).chunk(2, dim=-1)
        return modulate(self.norm(h), shift, scale)

    def arrange(self, z: Tensor) -> Tensor:
        """Unpatchify: tokens (N, T, patch * patch * C) to (N, C, H, W)."""
        return unpatchify(z, self.grid, self.patch)

    def distributions(self) -> dict[str, Distribution]:
        """Published initialisation, but for the last layer, which is not zeroed by default."""
        found: dict[str, Distribution] = {}
        for name, parameter in self.named_parameters():
            if parameter.ndim < 2 or "modulation." in name or (self.zero_init and "head." in name):
                found[name] = Constant(0.0)
            elif name.startswith("time."):
                found[name] = Normal(0.02)
            else:
                # The patch embedding is initialised like the linear layer that it is.
                found[name] = xavier_uniform(parameter.flatten(1))
        return found

    @property
    def symmetries(self) -> tuple[str, ...]:
        """Transposing swaps the two halves of P, which identically distributed weights ignore."""
        return ("transpose",)
