"""What our transformers share: tokens from patches, blocks of attention, one read-out each.

The last linear layer reads each token separately. It keeps its xavier-uniform draw, because the
usual zero initialisation would make G = 0.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import InputError
from .base import ScoreNetwork
from .initialisation import Constant, Distribution, xavier_uniform

TIME_FEATURES = 256


def sincos_positions(width: int, rows: int, columns: int) -> Tensor:
    """Fixed positions P of shape (rows * columns, width): features of the column, then the row."""
    quarter = width // 4
    rates = 1 / 10_000 ** (np.arange(quarter) / quarter)

    def encode(position: np.ndarray) -> np.ndarray:
        angles = position.reshape(-1, 1) * rates
        return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)

    row, column = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    return torch.from_numpy(np.concatenate([encode(column), encode(row)], axis=1)).float()


class Block(nn.Module):
    """The layers of attention and MLP over tokens of a width, each after a normalisation."""

    affine: bool  # whether the normalisations have parameters

    def __init__(self, width: int, *, heads: int, mlp_width: int):
        super().__init__()
        self.heads = heads
        self.norm_attention: nn.LayerNorm = nn.LayerNorm(
            width, elementwise_affine=self.affine, eps=1e-6
        )
        self.qkv: nn.Linear = nn.Linear(width, 3 * width)
        self.proj: nn.Linear = nn.Linear(width, width)
        self.norm_mlp: nn.LayerNorm = nn.LayerNorm(width, elementwise_affine=self.affine, eps=1e-6)
        self.mlp_in: nn.Linear = nn.Linear(width, mlp_width)
        self.mlp_out: nn.Linear = nn.Linear(mlp_width, width)


class Transformer(ScoreNetwork):
    """A network of patches; subclasses set positions, add a `head` and say how tokens flow.

    Args:
        shape: (C, H, W), H and W divisible by `patch`.
        patch: side of a patch.
        width: hidden size, divisible by 4 and by `heads`.
        depth: number of blocks.
        heads: attention heads.
        mlp_ratio: hidden width of the MLP over `width`.
    """

    readout = "tokens"
    block: type[Block]
    positions: Tensor

    def __init__(
        self,
        shape: Sequence[int],
        *,
        patch: int,
        width: int,
        depth: int,
        heads: int,
        mlp_ratio: int,
    ):
        super().__init__(shape)
        kind = f"a {type(self).__name__}"
        if min(patch, width, depth, heads, mlp_ratio) < 1:
            raise InputError(f"patch, width, depth, heads and mlp_ratio of {kind} start at 1")
        if len(self.shape) != 3 or any(n % patch for n in self.shape[1:]):
            sizes = "x".join(map(str, self.shape))
            raise InputError(
                f"{kind} with patches of {patch} takes CxHxW with H and W divisible by {patch}, "
                f"got {sizes}: choose another patch, or pad or resize the data"
            )
        if width % 4 or width % heads:
            raise InputError(
                f"the width of {kind} must be divisible by 4 and by its {heads} heads, got {width}"
            )
        self.patch = patch
        self.grid: tuple[int, int] = (self.shape[1] // patch, self.shape[2] // patch)
        self.embed: nn.Conv2d = nn.Conv2d(self.shape[0], width, patch, stride=patch)
        self.time: nn.Sequential = nn.Sequential(
            nn.Linear(TIME_FEATURES, width), nn.SiLU(), nn.Linear(width, width)
        )
        self.blocks: nn.ModuleList = nn.ModuleList(
            self.block(width, heads=heads, mlp_width=mlp_ratio * width) for _ in range(depth)
        )
        self.norm: nn.LayerNorm = nn.LayerNorm(
            width, elementwise_affine=self.block.affine, eps=1e-6
        )

    def token_layer(self) -> nn.Linear:
        """A layer from one token to the entries of its patch."""
        return nn.Linear(self.embed.out_channels, self.patch**2 * self.shape[0])

    def tokens(self, x: Tensor) -> Tensor:
        """Images (N, C, H, W) to embedded patches with their positions, (N, T, width)."""
        return self.embed(x).flatten(2).transpose(1, 2) + self.positions

    def arrange(self, z: Tensor) -> Tensor:
        """Tokens (N, T, patch * patch * C) to images (N, C, H, W)."""
        z = z.unflatten(-1, (self.patch, self.patch, -1)).unflatten(1, self.grid)
        return torch.einsum("nrcpqd->ndrpcq", z).flatten(4, 5).flatten(2, 3)

    def distributions(self) -> dict[str, Distribution]:
        """The initial distribution of every parameter, see `start_of`."""
        return {name: self.start_of(name, p) for name, p in self.named_parameters()}

    def start_of(self, name: str, parameter: Tensor) -> Distribution:
        """Xavier-uniform weights and zero biases; normalisations start as one and zero."""
        if parameter.ndim < 2:
            return Constant(float("norm" in name and name.endswith("weight")))
        # The patch embedding is initialised like the linear layer that it is.
        return xavier_uniform(parameter.flatten(1))
