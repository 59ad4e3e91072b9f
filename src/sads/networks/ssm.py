"""A stack of diagonal state-space layers (S4D) as a score network for signals.

Each channel filters its sequence u with a linear system of S complex states,

    x' = A x + B u,   y = 2 Re(C x) + D u,   A diagonal, B = 1.

Held constant over a step d (zero-order hold) this is a causal convolution with the kernel

    K[l] = 2 Re sum_n C_n (exp(d A_n) - 1) / A_n exp(l d A_n).

Initialisation is S4D-Lin: A_n = -1/2 + i pi n, log d uniform from log 0.001 to log 0.1, C complex
normal of variance 1, D normal. The parameters of A and d are deviations from these, so all of them
start at a constant or symmetric about zero.

A score depends on both sides of a position. By default a second kernel, with its own C, runs
backwards; A and d are shared. All arithmetic is real, so any float precision and `vmap` can run it.

Each block is h <- h + GLU(W gelu(S4D(LN(h) + time))), LN over channels. Images are scanned row by
row: the network then sees one long signal.
"""

import math
from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import InputError
from .base import ScoreNetwork
from .initialisation import Constant, DeclaredLayer, Distribution, Normal, Uniform
from .layers import CONVOLUTIONS, timestep_embedding

SHORTEST, LONGEST = 0.001, 0.1  # steps d
MEAN_LOG_STEP = math.log(SHORTEST * LONGEST) / 2


class DiagonalStateSpace(DeclaredLayer):
    """S4D on each channel separately: (N, L, W) to (N, L, W).

    Args:
        width: channels W.
        states: complex states S of each channel, which stand for themselves and their conjugates.
        directions: 1 for a causal filter, 2 for one that also runs backwards.
    """

    initial: Mapping[str, Distribution] = {
        "decay": Constant(0.0),
        "frequency": Constant(0.0),
        "step": Uniform(math.log(LONGEST / SHORTEST) / 2),
        "read": Normal(math.sqrt(0.5)),
        "skip": Normal(1.0),
    }

    def __init__(self, width: int, *, states: int, directions: int):
        super().__init__()
        self.decay: nn.Parameter = nn.Parameter(torch.zeros(width, states))  # log(-2 Re A)
        self.frequency: nn.Parameter = nn.Parameter(torch.zeros(width, states))  # Im A - pi n
        self.step: nn.Parameter = nn.Parameter(torch.zeros(width, 1))  # log d - its mean
        # Re C and Im C
        self.read: nn.Parameter = nn.Parameter(torch.zeros(2, directions, width, states))
        self.skip: nn.Parameter = nn.Parameter(torch.zeros(width))  # D

    def kernel(self, length: int) -> Tensor:
        """K of every direction and channel, (directions, W, L)."""
        n = torch.arange(self.decay.shape[1], dtype=self.decay.dtype, device=self.decay.device)
        real, imaginary = -self.decay.exp() / 2, math.pi * n + self.frequency
        step = (MEAN_LOG_STEP + self.step).exp()
        rate, angle = step * real, step * imaginary
        # exp(d A) - 1 without cancellation at small steps, then divided by A.
        grown = torch.expm1(rate) * angle.cos() - 2 * (angle / 2).sin().square()
        turned = rate.exp() * angle.sin()
        size = real.square() + imaginary.square()
        gain = (
            (grown * real + turned * imaginary) / size,
            (turned * real - grown * imaginary) / size,
        )
        # l = i + side * j: exp(l d A) is a product of two short tables, so the sum over states is
        # one matrix product and no array of size states times length is made.
        side = math.isqrt(length - 1) + 1
        fine = _times(_powers(rate, angle, side, 1), _times(tuple(self.read), gain))
        coarse = _powers(rate, angle, -(-length // side), side)
        left = torch.cat([fine[0], -fine[1]], dim=-1)  # (side, directions, W, 2S)
        right = torch.cat(coarse, dim=-1)  # (blocks, 1, W, 2S)
        kernel = torch.einsum("idws,jws->dwji", left, right[:, 0]).flatten(2)
        return 2 * kernel[..., :length]

    def forward(self, u: Tensor) -> Tensor:
        """Filter u (N, L, W): circular convolution at twice the length is the plain one."""
        length = u.shape[1]
        ahead, *back = self.kernel(length)
        zero = torch.zeros_like(ahead)
        if back:  # K_back[l] belongs to position -l
            ahead = torch.cat([ahead[:, :1] + back[0][:, :1], ahead[:, 1:]], dim=1)
            zero = torch.cat([zero[:, :1], back[0][:, 1:].flip(-1)], dim=1)
        response = torch.fft.rfft(torch.cat([ahead, zero], dim=1))
        spectrum = torch.fft.rfft(u.transpose(1, 2), n=2 * length)
        y = torch.fft.irfft(spectrum * response, n=2 * length)[..., :length]
        return y.transpose(1, 2) + self.skip * u


def _powers(rate: Tensor, angle: Tensor, count: int, stride: int) -> tuple[Tensor, Tensor]:
    """exp(k stride (rate + i angle)) for k < count: two of (count, 1, W, S)."""
    k = stride * torch.arange(count, dtype=rate.dtype, device=rate.device).view(-1, 1, 1, 1)
    size = (k * rate).exp()
    return size * (k * angle).cos(), size * (k * angle).sin()


def _times(a: Sequence[Tensor], b: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """The complex product of (real, imaginary) pairs."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


class Block(nn.Module):
    """Normalisation, time, state-space filter, gated mixing of channels, residual."""

    def __init__(self, width: int, *, states: int, directions: int):
        super().__init__()
        self.norm: nn.LayerNorm = nn.LayerNorm(width)
        self.time: nn.Linear = nn.Linear(width, width)
        self.filter: DiagonalStateSpace = DiagonalStateSpace(
            width, states=states, directions=directions
        )
        self.mix: nn.Linear = nn.Linear(width, 2 * width)

    def forward(self, x: Tensor, embedding: Tensor) -> Tensor:
        """Map x (N, L, W) and embedding (N, W) to (N, L, W)."""
        filtered = self.filter(self.norm(x) + self.time(embedding)[:, None])
        return x + F.glu(self.mix(F.gelu(filtered)), dim=-1)


class SSM(ScoreNetwork):
    """Noise-predicting stack of diagonal state-space layers.

    Args:
        shape: (C, length), or (C, H, W) scanned row by row.
        width: channels of every layer, even.
        depth: number of blocks.
        states: complex states of each channel.
        bidirectional: filter in both directions; else the network is causal.
    """

    readout = "convolution"

    def __init__(
        self,
        shape: Sequence[int],
        *,
        width: int = 32,
        depth: int = 4,
        states: int = 16,
        bidirectional: bool = True,
    ):
        super().__init__(shape)
        if len(self.shape) not in (2, 3):
            sizes = "x".join(map(str, self.shape))
            raise InputError(f"an SSM takes CxL, or CxHxW scanned row by row, got {sizes}")
        if width % 2 or min(width, depth, states) < 1:
            raise InputError(
                "an SSM takes an even width and depth and states from 1 on, got "
                f"width {width}, depth {depth} and states {states}"
            )
        self.width = width
        self.bidirectional = bidirectional
        self.embed: nn.Linear = nn.Linear(self.shape[0], width)
        self.blocks: nn.ModuleList = nn.ModuleList(
            Block(width, states=states, directions=1 + bidirectional) for _ in range(depth)
        )
        self.norm: nn.LayerNorm = nn.LayerNorm(width)
        self.head: nn.Module = CONVOLUTIONS[len(self.shape) - 1](width, self.shape[0], 1)
        self.reset()

    def features(self, x: Tensor, t: Tensor) -> Tensor:
        """What the last convolution reads: (N, C, *S), (N,) to (N, width, *S)."""
        embedding = timestep_embedding(t.to(x.dtype), self.width)
        h = self.embed(x.flatten(2).transpose(1, 2))
        for block in self.blocks:
            h = block(h, embedding)
        return self.norm(h).transpose(1, 2).unflatten(2, self.shape[1:])

    @property
    def symmetries(self) -> tuple[str, ...]:
        """Two equal directions can be swapped; scanning by rows breaks reflections of images."""
        return ("flip",) if self.bidirectional and len(self.shape) == 2 else ()
