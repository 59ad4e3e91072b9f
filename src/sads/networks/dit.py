"""The diffusion transformer (DiT), unconditional, without learned variance.

Tokens are patches with fixed two-dimensional sin-cos positions P; blocks are modulated by the
timestep through adaLN-Zero. At initialisation every modulation is zero, so each block is the
identity, and at x = 0 the features are LN(P) for every draw of the parameters.
"""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from .initialisation import Constant, Distribution, Normal
from .layers import attention, timestep_embedding
from .transformer import TIME_FEATURES, Block, Transformer, sincos_positions


def modulate(x: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    """Scale and shift x (N, T, W) by (N, W)."""
    return x * (1 + scale[:, None]) + shift[:, None]


class ModulatedBlock(Block):
    """Attention and MLP, each gated and modulated by the conditioning (adaLN-Zero)."""

    affine: bool = False

    def __init__(self, width: int, *, heads: int, mlp_width: int):
        super().__init__(width, heads=heads, mlp_width=mlp_width)
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


class DiT(Transformer):
    """Noise-predicting diffusion transformer; its sizes are those of `Transformer`.

    Args:
        zero_init: zero the last linear layer, as upstream does.
    """

    block: type[Block] = ModulatedBlock

    def __init__(
        self,
        shape: Sequence[int],
        *,
        zero_init: bool = False,
        patch: int = 2,
        width: int = 48,
        depth: int = 8,
        heads: int = 4,
        mlp_ratio: int = 2,
    ):
        super().__init__(
            shape, patch=patch, width=width, depth=depth, heads=heads, mlp_ratio=mlp_ratio
        )
        self.zero_init = zero_init
        self.register_buffer("positions", sincos_positions(width, *self.grid), persistent=False)
        self.modulation: nn.Linear = nn.Linear(width, 2 * width)
        self.head: nn.Module = self.token_layer()
        self.reset()

    def features(self, x: Tensor, t: Tensor) -> Tensor:
        """What the last linear layer reads: (N, C, H, W), (N,) to tokens (N, T, width)."""
        h = self.tokens(x)
        condition = self.time(timestep_embedding(t.to(x.dtype), TIME_FEATURES))
        for block in self.blocks:
            h = block(h, condition)
        shift, scale = self.modulation(F.silu(condition)).chunk(2, dim=-1)
        return modulate(self.norm(h), shift, scale)

    def start_of(self, name: str, parameter: Tensor) -> Distribution:
        """The published initialisation, except that the last layer is not zeroed by default."""
        if "modulation." in name or (self.zero_init and "head." in name):
            return Constant(0.0)
        if name.startswith("time.") and parameter.ndim > 1:
            return Normal(0.02)
        return super().start_of(name, parameter)

    @property
    def symmetries(self) -> tuple[str, ...]:
        """Transposing swaps the two halves of P, which identically distributed weights ignore."""
        return ("transpose",)
