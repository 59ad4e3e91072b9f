"""Well-known score transformers, small, with the initialisation they were published with."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.doctor.blocks import sinusoid


def attend(qkv: Tensor, heads: int) -> Tensor:
    """Attention of tokens (N, T, 3 W) to (N, T, W), written out."""
    count, tokens, width = qkv.shape
    split = qkv.view(count, tokens, 3, heads, width // 3 // heads).permute(2, 0, 3, 1, 4)
    query, key, value = split
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    mixed = scores.softmax(dim=-1) @ value
    return mixed.transpose(1, 2).reshape(count, tokens, width // 3)


def unpatched(z: Tensor, shape: tuple[int, int, int], patch: int) -> Tensor:
    """Tokens (N, T, patch^2 C) to images (N, C, H, W)."""
    channels, height, width = shape
    z = z.view(len(z), height // patch, width // patch, patch, patch, channels)
    return torch.einsum("nhwpqc->nchpwq", z).reshape(len(z), channels, height, width)


class AdaLNBlock(nn.Module):
    """DiT's block: six modulations of the condition, which start at zero."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width)
        )
        self.modulation = nn.Linear(width, 6 * width)

    def forward(self, h: Tensor, c: Tensor) -> Tensor:
        shift, scale, gate, shift2, scale2, gate2 = self.modulation(F.silu(c))[:, None].chunk(6, -1)
        h = h + gate * self.proj(attend(self.qkv(self.norm(h) * (1 + scale) + shift), self.heads))
        return h + gate2 * self.mlp(self.norm(h) * (1 + scale2) + shift2)


class DiT(nn.Module):
    """DiT with class labels and learned variance: modulations and last layer start at zero.

    SiT is the same network; it is called with times from 0 to 1.
    """

    patch, width = 2, 32

    def __init__(self, shape: tuple[int, int, int] = (1, 8, 8), unit_time: bool = False):
        super().__init__()
        self.shape, self.unit_time = shape, unit_time
        channels, height, breadth = shape
        w, tokens = self.width, (height // self.patch) * (breadth // self.patch)
        self.embed = nn.Conv2d(channels, w, self.patch, stride=self.patch)
        self.register_buffer("positions", sinusoid(torch.arange(tokens), w, torch.zeros(1)))
        self.time = nn.Sequential(nn.Linear(w, w), nn.SiLU(), nn.Linear(w, w))
        self.y_embedder = nn.Embedding(11, w)
        self.blocks = nn.ModuleList(AdaLNBlock(w, 4) for _ in range(2))
        self.norm = nn.LayerNorm(w, elementwise_affine=False, eps=1e-6)
        self.modulation = nn.Linear(w, 2 * w)
        self.final = nn.Linear(w, self.patch**2 * 2 * channels)
        for layer in (*(b.modulation for b in self.blocks), self.modulation, self.final):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor, t: Tensor, y: Tensor) -> Tensor:
        time = t.to(x.dtype) / 1000 if self.unit_time else t
        h = self.embed(x).flatten(2).transpose(1, 2) + self.positions
        c = self.time(sinusoid(time, self.width, x)) + self.y_embedder(y)
        for block in self.blocks:
            h = block(h, c)
        shift, scale = self.modulation(F.silu(c))[:, None].chunk(2, -1)
        channels, height, breadth = self.shape
        z = self.final(self.norm(h) * (1 + scale) + shift)
        return unpatched(z, (2 * channels, height, breadth), self.patch)


class UViT(nn.Module):
    """U-ViT: the time is a token, long skips join early and late blocks, a convolution ends it."""

    patch, width = 2, 32

    def __init__(self, shape: tuple[int, int, int] = (1, 8, 8)):
        super().__init__()
        self.shape = shape
        channels, height, breadth = shape
        w, tokens = self.width, (height // self.patch) * (breadth // self.patch)
        self.embed = nn.Conv2d(channels, w, self.patch, stride=self.patch)
        self.positions = nn.Parameter(torch.zeros(1, tokens + 1, w))

        def block() -> nn.Module:
            return nn.TransformerEncoderLayer(
                w, 4, 4 * w, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )

        self.early, self.middle, self.late = block(), block(), block()
        self.join = nn.Linear(2 * w, w)
        self.norm = nn.LayerNorm(w)
        self.predict = nn.Linear(w, self.patch**2 * channels)
        self.final = nn.Conv2d(channels, channels, 3, padding=1)
        nn.init.trunc_normal_(self.positions, std=0.02)
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.trunc_normal_(layer.weight, std=0.02)
                nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor, timesteps: Tensor) -> Tensor:
        patches = self.embed(x).flatten(2).transpose(1, 2)
        time = sinusoid(timesteps, self.width, x)[:, None]
        early = self.early(torch.cat([time, patches], dim=1) + self.positions)
        h = self.middle(early)
        h = self.late(self.join(torch.cat([h, early], dim=-1)))
        return self.final(unpatched(self.predict(self.norm(h))[:, 1:], self.shape, self.patch))
