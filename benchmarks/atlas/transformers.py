"""Transformers of the atlas that diffusers has no class for, written from the published facts."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from u_nets import sinusoid


class Block(nn.Module):
    """A pre-norm transformer block; with `joined`, the tokens of an earlier block come in."""

    def __init__(self, width: int, heads: int, *, joined: bool = False):
        super().__init__()
        self.heads = heads
        self.join = nn.Linear(2 * width, width) if joined else None
        self.norm0, self.norm1 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.proj = nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, h: Tensor, earlier: Tensor | None = None) -> Tensor:
        if self.join is not None and earlier is not None:
            h = self.join(torch.cat([h, earlier], dim=-1))
        count, tokens, width = h.shape
        qkv = self.qkv(self.norm0(h)).view(count, tokens, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(h.shape)
        h = h + self.proj(mixed)
        return h + self.mlp(self.norm1(h))


class UViT(nn.Module):
    """U-ViT: the time is a token, long skips join early and late blocks, a convolution ends it."""

    def __init__(self, channels: int, size: int, patch: int, width: int, depth: int, heads: int):
        super().__init__()
        self.patch, self.width, self.size = patch, width, size
        tokens = (size // patch) ** 2
        self.embed = nn.Conv2d(channels, width, patch, stride=patch)
        self.positions = nn.Parameter(torch.empty(1, tokens + 1, width))
        self.early = nn.ModuleList(Block(width, heads) for _ in range(depth // 2))
        self.middle = Block(width, heads)
        self.late = nn.ModuleList(Block(width, heads, joined=True) for _ in range(depth // 2))
        self.norm = nn.LayerNorm(width)
        self.predict = nn.Linear(width, patch**2 * channels)
        self.final = nn.Conv2d(channels, channels, 3, padding=1)
        nn.init.trunc_normal_(self.positions, std=0.02)
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.trunc_normal_(layer.weight, std=0.02)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor, timesteps: Tensor) -> Tensor:
        patches = self.embed(x).flatten(2).transpose(1, 2)
        time = sinusoid(timesteps, self.width, x)[:, None]
        h = torch.cat([time, patches], dim=1) + self.positions
        kept = []
        for block in self.early:
            h = block(h)
            kept.append(h)
        h = self.middle(h)
        for block in self.late:
            h = block(h, kept.pop())
        patches = self.predict(self.norm(h))[:, 1:].transpose(1, 2)
        # Channel-last inside a token: fold wants the channels first.
        side = self.size // self.patch
        tokens = patches.view(len(x), self.patch, self.patch, -1, side, side)
        image = tokens.permute(0, 3, 4, 1, 5, 2).reshape(x.shape)
        return self.final(image)


def uvit_s_2() -> nn.Module:
    """U-ViT-S/2, CIFAR-10: width 512, 12 blocks beside the middle one, 8 heads, patches of 2."""
    return UViT(3, 32, 2, 512, 12, 8)
