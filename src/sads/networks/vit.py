"""A plain vision transformer (ViT) as a score network: the timestep is a token, no adaLN.

    h_0 = [time(t); embed(x) + P],   h <- h + attend(LN(h)),   h <- h + mlp(LN(h)),

and the last linear layer reads LN(h) token by token, without the time token.

Positions P are `learned` by default, as in the published ViT. They start as independent noise, so
no token knows its place or its neighbours, and the distribution of the untrained network does not
change under any permutation of the tokens. At an input that treats all places equally (zero,
Gaussian) the factor of G is therefore alpha I + beta 1 1^T over tokens, with two eigenvalues.
`sincos` uses the fixed positions of the DiT instead, which distinguish neighbours.

Initialisation: xavier-uniform weights and zero biases (the published biases of the MLP are 1e-6),
P normal with std 0.02.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import InputError
from .initialisation import Distribution, Normal
from .layers import attention, timestep_embedding
from .transformer import TIME_FEATURES, Block, Transformer, sincos_positions

POSITIONS = ("learned", "sincos")


class PlainBlock(Block):
    """Attention and MLP, each after a normalisation and added to the tokens."""

    affine: bool = True

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (N, T, W) to (N, T, W)."""
        x = x + self.proj(attention(self.qkv(self.norm_attention(x)), self.heads))
        return x + self.mlp_out(F.gelu(self.mlp_in(self.norm_mlp(x))))


class ViT(Transformer):
    """Noise-predicting vision transformer; its sizes are those of `Transformer`.

    Args:
        positions: `learned` or `sincos`.
    """

    block: type[Block] = PlainBlock

    def __init__(
        self,
        shape: Sequence[int],
        *,
        positions: str = "learned",
        patch: int = 2,
        width: int = 48,
        depth: int = 8,
        heads: int = 4,
        mlp_ratio: int = 2,
    ):
        if positions not in POSITIONS:
            raise InputError(f"unknown positions {positions!r}: expected learned or sincos")
        super().__init__(
            shape, patch=patch, width=width, depth=depth, heads=heads, mlp_ratio=mlp_ratio
        )
        fixed = sincos_positions(width, *self.grid)
        self.learned: bool = positions == "learned"
        if self.learned:
            self.positions: Tensor = nn.Parameter(torch.empty_like(fixed))
        else:
            self.register_buffer("positions", fixed, persistent=False)
        self.head: nn.Module = self.token_layer()
        self.reset()

    def features(self, x: Tensor, t: Tensor) -> Tensor:
        """What the last linear layer reads: (N, C, H, W), (N,) to tokens (N, T, width)."""
        time = self.time(timestep_embedding(t.to(x.dtype), TIME_FEATURES))
        h = torch.cat([time[:, None], self.tokens(x)], dim=1)
        for block in self.blocks:
            h = block(h)
        return self.norm(h[:, 1:])

    def start_of(self, name: str, parameter: Tensor) -> Distribution:
        """Positions start as normal noise, everything else as in `Transformer`."""
        return Normal(0.02) if name == "positions" else super().start_of(name, parameter)

    @property
    def symmetries(self) -> tuple[str, ...]:
        """Learned positions start equally everywhere; sin-cos ones swap their halves (see DiT)."""
        return ("flip", "transpose") if self.learned else ("transpose",)
