"""A plain vision transformer (ViT) as a score network: the timestep is a token, no adaLN.

    h_0 = [time(t); embed(x) + P],   h <- h + attend(LN(h)),   h <- h + mlp(LN(h)),

and the last linear layer reads LN(h) token by token, without the time token.

Positions P are `learned` by default, as in the published ViT: they start as independent noise, so
no token knows its place or its neighbours, and the distribution of the untrained network does not
change under any permutation of the tokens. At an input without places (zero, Gaussian) the factor
of G is therefore alpha I + beta 1 1^T over tokens: two eigenvalues. `sincos` takes the fixed
positions of the DiT instead, which do know neighbours.

Initialisation: xavier-uniform weights and zero biases (the published biases of the MLP are 1e-6),
P normal with std 0.02. The last layer keeps its xavier draw; the published zero makes G = 0.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import InputError
from .base import ScoreNetwork
from .dit import TIME_FEATURES, sincos_positions
from .initialisation import Constant, Distribution, Normal, xavier_uniform
from .layers import attention, timestep_embedding, unpatchify

POSITIONS = ("learned", "sincos")


class Block(nn.Module):
    """Attention and MLP, each after a normalisation and added to the tokens."""

    def __init__(self, width: int, *, heads: int, mlp_width: int):
        super().__init__()
        self.heads = heads
        self.norm_attention: nn.LayerNorm = nn.LayerNorm(width, eps=1e-6)
        self.qkv: nn.Linear = nn.Linear(width, 3 * width)
        self.proj: nn.Linear = nn.Linear(width, width)
        self.norm_mlp: nn.LayerNorm = nn.LayerNorm(width, eps=1e-6)
        self.mlp_in: nn.Linear = nn.Linear(width, mlp_width)
        self.mlp_out: nn.Linear = nn.Linear(mlp_width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (N, T, W) to (N, T, W)."""
        x = x + self.proj(attention(self.qkv(self.norm_attention(x)), self.heads))
        return x + self.mlp_out(F.gelu(self.mlp_in(self.norm_mlp(x))))


class ViT(ScoreNetwork):
    """Noise-predicting vision transformer.

    Args:
        shape: (C, H, W), H and W divisible by `patch`.
        patch: side of a patch.
        width: hidden size, divisible by 4 and by `heads`.
        depth: number of blocks.
        heads: attention heads.
        mlp_ratio: hidden width of the MLP over `width`.
        positions: `learned` or `sincos`.
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
        positions: str = "learned",
    ):
        super().__init__(shape)
        self._check(patch, width, depth, heads, mlp_ratio, positions)
        channels, height, breadth = self.shape
        self.patch = patch
        self.grid: tuple[int, int] = (height // patch, breadth // patch)
        self.embed: nn.Conv2d = nn.Conv2d(channels, width, patch, stride=patch)
        fixed = sincos_positions(width, *self.grid)
        self.learned: bool = positions == "learned"
        if self.learned:
            self.positions: nn.Parameter = nn.Parameter(torch.empty_like(fixed))
        else:
            self.register_buffer("positions", fixed, persistent=False)
        self.time: nn.Sequential = nn.Sequential(
            nn.Linear(TIME_FEATURES, width), nn.SiLU(), nn.Linear(width, width)
        )
        self.blocks: nn.ModuleList = nn.ModuleList(
            Block(width, heads=heads, mlp_width=mlp_ratio * width) for _ in range(depth)
        )
        self.norm: nn.LayerNorm = nn.LayerNorm(width, eps=1e-6)
        self.head: nn.Module = nn.Linear(width, patch * patch * channels)
        self.reset()

    def _check(
        self, patch: int, width: int, depth: int, heads: int, mlp_ratio: int, positions: str
    ) -> None:
        if min(patch, width, depth, heads, mlp_ratio) < 1:
            raise InputError("patch, width, depth, heads and mlp_ratio of a ViT start at 1")
        if positions not in POSITIONS:
            raise InputError(f"unknown positions {positions!r}: expected learned or sincos")
        if len(self.shape) != 3 or any(n % patch for n in self.shape[1:]):
            sizes = "x".join(map(str, self.shape))
            raise InputError(
                f"a ViT with patches of {patch} takes CxHxW with H and W divisible by {patch}, "
                f"got {sizes}: choose another patch, or pad or resize the data"
            )
        if width % 4 or width % heads:
            raise InputError(
                f"the width of a ViT must be divisible by 4 and by its {heads} heads, got {width}"
            )

    def features(self, x: Tensor, t: Tensor) -> Tensor:
        """What the last linear layer reads: (N, C, H, W), (N,) to tokens (N, T, width)."""
        time = self.time(timestep_embedding(t.to(x.dtype), TIME_FEATURES))
        patches = self.embed(x).flatten(2).transpose(1, 2) + self.positions
        h = torch.cat([time[:, None], patches], dim=1)
        for block in self.blocks:
            h = block(h)
        return self.norm(h[:, 1:])

    def arrange(self, z: Tensor) -> Tensor:
        """Unpatchify: tokens (N, T, patch * patch * C) to (N, C, H, W)."""
        return unpatchify(z, self.grid, self.patch)

    def distributions(self) -> dict[str, Distribution]:
        """As in the module's text; normalisations start as one and zero."""
        found: dict[str, Distribution] = {}
        for name, parameter in self.named_parameters():
            if name == "positions":
                found[name] = Normal(0.02)
            elif parameter.ndim < 2:
                found[name] = Constant(float("norm" in name and name.endswith("weight")))
            else:
                # The patch embedding is initialised like the linear layer that it is.
                found[name] = xavier_uniform(parameter.flatten(1))
        return found

    @property
    def symmetries(self) -> tuple[str, ...]:
        """Learned positions know no places; sin-cos ones only swap their halves (see DiT)."""
        return ("flip", "transpose") if self.learned else ("transpose",)
