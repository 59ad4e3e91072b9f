"""Small networks as other people write them."""

import math
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import nn


def embed(t, width, like):
    """Features of the timestep in the precision of another tensor."""
    rates = torch.exp(torch.arange(width // 2, dtype=like.dtype) * -1.0)
    angles = t.to(like.dtype)[:, None] * 0.02 * rates
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class Trunk(nn.Module):
    """Two convolutions with the time added in between: (N, C, *S) to (N, width, *S)."""

    def __init__(self, channels, width=8, dims=2):
        super().__init__()
        conv = {1: nn.Conv1d, 2: nn.Conv2d}[dims]
        self.width = width
        self.stem = conv(channels, width, 3, padding=1)
        self.time = nn.Linear(width, width)
        self.mix = conv(width, width, 3, padding=1)

    def forward(self, x, t):
        shift = self.time(embed(t, self.width, x))
        h = F.silu(self.stem(x) + shift.view(*shift.shape, *(1,) * (x.ndim - 2)))
        return F.silu(self.mix(h))


class Conv(nn.Module):
    """The plain case: `forward(x, t)` returns a tensor; what `how` names is different."""

    def __init__(self, how="", channels=2, width=8, dims=2, out=None):
        super().__init__()
        conv = {1: nn.Conv1d, 2: nn.Conv2d}[dims]
        self.how = how
        self.trunk = Trunk(channels, width, dims)
        self.out = conv(width, out or channels, 3, padding=1)
        self.extra = nn.Linear(width, 1)

    def forward(self, x, t):
        h = self.trunk(x, t)
        out = self.out(h)
        if self.how == "head after":  # a layer that runs last and reaches nothing
            self.extra(h.flatten(2).mean(-1))
        if self.how == "tanh":
            return torch.tanh(out)
        if self.how == "residual":
            return x + out
        if self.how == "scaled":
            return out * (1 + 0.01 * t.to(x.dtype)).view(-1, 1, 1, 1)
        if self.how == "smooth":  # fixed and linear, but it mixes entries
            return F.avg_pool2d(out, 3, stride=1, padding=1)
        return out


class Sampled(Conv):
    """Returns an output object."""

    def forward(self, x, t):
        return SimpleNamespace(sample=super().forward(x, t))


class Pair(Conv):
    """Returns a tuple."""

    def forward(self, x, t):
        return super().forward(x, t), None


class Keyword(Conv):
    """Takes the timestep by keyword, behind something else."""

    def forward(self, x, mask=None, *, timestep):
        if mask is not None:
            raise ValueError("mask")
        return {"sample": super().forward(x, timestep)}


class Labelled(Conv):
    """Class-conditional with a null label in the last row."""

    def __init__(self, classes=5):
        super().__init__()
        self.y_embedder = nn.Embedding(classes + 1, 2)
        self.seen = None

    def forward(self, x, t, y):
        self.seen = y
        return super().forward(x + self.y_embedder(y)[:, :, None, None], t)


class Preconditioned(nn.Module):
    """EDM's wrapper: returns the denoised image at noise level sigma."""

    def __init__(self, inner=None, sigma_data=0.5):
        super().__init__()
        self.model = inner or Conv()
        self.sigma_data = sigma_data

    def forward(self, x, sigma, class_labels=None):
        sigma = sigma.to(x.dtype).reshape(-1, 1, 1, 1)
        total = sigma**2 + self.sigma_data**2
        skip, out = self.sigma_data**2 / total, sigma * self.sigma_data / total.sqrt()
        noise = sigma.log().flatten() / 4
        return skip * x + out * self.model(x / total.sqrt(), noise)


class Normalised(nn.Module):
    """EDM2's convolution: the weight is normalised and scaled by a gain."""

    def __init__(self, width_in, width_out, size):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width_out, width_in, size, size))

    def forward(self, x, gain=1.0):
        norm = self.weight.flatten(1).norm(dim=1).view(-1, 1, 1, 1)
        fan = self.weight[0].numel()
        w = self.weight / norm * math.sqrt(fan) * (gain / math.sqrt(fan))
        return F.conv2d(x, w.to(x.dtype), padding=w.shape[-1] // 2)


class Gained(nn.Module):
    """EDM2's output: a gain that starts at zero."""

    def __init__(self, channels=2, width=8):
        super().__init__()
        self.trunk = Trunk(channels, width)
        self.out_conv = Normalised(width, channels, 3)
        self.out_gain = nn.Parameter(torch.zeros([]))

    def forward(self, x, t):
        return self.out_conv(self.trunk(x, t), gain=self.out_gain)


def zero_module(module):
    """As in guided diffusion."""
    for parameter in module.parameters():
        parameter.detach().zero_()
    return module


class ADM(Conv):
    """A zero last convolution and a zero convolution in a residual branch."""

    def __init__(self):
        super().__init__()
        self.branch = zero_module(nn.Conv2d(8, 8, 3, padding=1))
        zero_module(self.out)

    def forward(self, x, t):
        h = self.trunk(x, t)
        return self.out(h + self.branch(h))


class ZeroConvs(Conv):
    """A zero convolution with a layer behind it, as in ControlNet."""

    def __init__(self):
        super().__init__()
        self.zero = zero_module(nn.Conv2d(8, 8, 1))
        nn.init.zeros_(self.out.bias)

    def forward(self, x, t):
        return self.out(self.zero(self.trunk(x, t)))


class TwoInARow(ZeroConvs):
    """Two zero layers, one behind the other."""

    def __init__(self):
        super().__init__()
        zero_module(self.out)


class AdaLNZero(nn.Module):
    """A small DiT: modulation and last layer start at zero, tokens are patches."""

    def __init__(self, shape=(1, 8, 8), patch=2, width=8, zero=True):
        super().__init__()
        self.shape, self.patch = shape, patch
        self.embed = nn.Conv2d(shape[0], width, patch, stride=patch)
        tokens = (shape[1] // patch) * (shape[2] // patch)
        self.register_buffer("positions", torch.linspace(-1, 1, tokens * width).view(tokens, width))
        self.time = nn.Linear(width, width)
        self.mlp = nn.Linear(width, width)
        self.adaLN = nn.Linear(width, 3 * width)
        self.norm = nn.LayerNorm(width, elementwise_affine=False)
        self.final = nn.Linear(width, 2 * patch * patch * shape[0])  # with learned variance
        zero_module(self.adaLN)
        if zero:
            zero_module(self.final)

    def forward(self, x, t):
        h = self.embed(x).flatten(2).transpose(1, 2) + self.positions
        c = self.time(embed(t, h.shape[-1], x))
        shift, scale, gate = self.adaLN(F.silu(c))[:, None].chunk(3, dim=-1)
        h = h + gate * self.mlp(self.norm(h) * (1 + scale) + shift)
        z = self.final(self.norm(h))
        channels, height, width = self.shape
        p = self.patch
        z = z.view(len(x), height // p, width // p, p, p, 2 * channels)
        return torch.einsum("nhwpqc->nchpwq", z).reshape(len(x), 2 * channels, height, width)


class Flat(nn.Module):
    """A perceptron on flat vectors."""

    def __init__(self, size=12, width=8):
        super().__init__()
        self.width = width
        self.inner = nn.Linear(size + width, width)
        self.outer = nn.Linear(width, size)

    def forward(self, x, t):
        return self.outer(torch.tanh(self.inner(torch.cat([x, embed(t, self.width, x)], dim=1))))
