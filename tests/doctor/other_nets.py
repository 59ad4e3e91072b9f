"""Well-known score networks with blocks of their own: images, signals, tables, points."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.doctor.blocks import Fourier, sinusoid


class ScoreTutorial(nn.Module):
    """The tutorial of score-based models: unpadded convolutions, output over the deviation."""

    def __init__(self, channels: int = 1):
        super().__init__()
        self.embed = nn.Sequential(Fourier(32, 30.0), nn.Linear(32, 32))
        widths = (8, 16, 32)
        self.down = nn.ModuleList(
            nn.Conv2d(a, b, 3, bias=False)
            for a, b in zip((channels, *widths[:-1]), widths, strict=True)
        )
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(a, b, 3, bias=False) for a, b in ((32, 16), (32, 8))
        )
        self.down_time = nn.ModuleList(nn.Linear(32, w) for w in widths)
        self.up_time = nn.ModuleList(nn.Linear(32, w) for w in (16, 8))
        self.down_norm = nn.ModuleList(nn.GroupNorm(4, w) for w in widths)
        # As published the last norm has one channel a group, and removes what the time adds there.
        self.up_norm = nn.ModuleList((nn.GroupNorm(8, 16), nn.GroupNorm(8, 8)))
        self.head = nn.ConvTranspose2d(16, channels, 3)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        time = (t.to(x.dtype) + 1) / 1000
        c = F.silu(self.embed(time))
        h, kept = x, []
        for conv, shift, norm in zip(self.down, self.down_time, self.down_norm, strict=True):
            h = F.silu(norm(conv(h) + shift(c)[:, :, None, None]))
            kept.append(h)
        kept.pop()
        for conv, shift, norm in zip(self.up, self.up_time, self.up_norm, strict=True):
            h = F.silu(norm(conv(h) + shift(c)[:, :, None, None]))
            h = torch.cat([h, kept.pop()], dim=1)
        deviation = ((25 ** (2 * time) - 1) / (2 * math.log(25))).sqrt()
        return self.head(h) / deviation.view(-1, 1, 1, 1)


class InstancePlus(nn.Module):
    """NCSN's norm of each channel, which puts the channels' normalised means back.

    With a number of noise levels its gains are a table with a row for each.
    """

    def __init__(self, width: int, levels: int = 1):
        super().__init__()
        self.table = nn.Embedding(levels, 3 * width)
        nn.init.normal_(self.table.weight[:, : 2 * width], 1.0, 0.02)
        nn.init.zeros_(self.table.weight[:, 2 * width :])

    def forward(self, x: Tensor, level: Tensor) -> Tensor:
        gain, alpha, shift = self.table(level)[:, :, None, None].chunk(3, dim=1)
        means = x.mean(dim=(2, 3), keepdim=True)
        spread = means.var(dim=1, keepdim=True)
        back = (means - means.mean(dim=1, keepdim=True)) / (spread + 1e-5).sqrt()
        return gain * (F.instance_norm(x) + alpha * back) + shift


class NCSN(nn.Module):
    """Dilated convolutions with instance norms, whose gains the noise level chooses.

    In its second version it divides the output instead.
    """

    levels = 10

    def __init__(self, channels: int = 1, width: int = 16, *, second: bool = False):
        super().__init__()
        self.second = second
        levels = 1 if second else self.levels
        self.stem = nn.Conv2d(channels, width, 3, padding=1)
        self.norms = nn.ModuleList(InstancePlus(width, levels) for _ in range(4))
        self.convs = nn.ModuleList(
            nn.Conv2d(width, width, 3, padding=d, dilation=d) for d in (1, 1, 2)
        )
        self.head = nn.Conv2d(width, channels, 3, padding=1)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        level = t * self.levels // 1000
        rows = torch.zeros_like(level) if self.second else level
        h = self.stem(x)
        for norm, conv in zip(self.norms, self.convs, strict=False):
            h = h + conv(F.elu(norm(h, rows)))
        out = self.head(F.elu(self.norms[-1](h, rows)))
        sigma = 0.01 * 100 ** (level.to(x.dtype) / (self.levels - 1))
        return out / sigma.view(-1, 1, 1, 1) if self.second else out


class Temporal(nn.Module):
    """Diffuser's one-dimensional U-Net over trajectories: norms of eight groups and Mish."""

    def __init__(self, channels: int = 2, width: int = 32):
        super().__init__()
        self.width = width
        self.embed = nn.Sequential(
            nn.Linear(width, 4 * width), nn.Mish(), nn.Linear(4 * width, width)
        )

        def step(width_in: int, width_out: int) -> nn.Module:
            return nn.Sequential(
                nn.Conv1d(width_in, width_out, 5, padding=2), nn.GroupNorm(8, width_out), nn.Mish()
            )

        widths = ((channels, width), (width, width), (2 * width, width))
        self.before = nn.ModuleList(step(a, b) for a, b in widths)
        self.after = nn.ModuleList(step(b, b) for _, b in widths)
        self.skip = nn.ModuleList(
            nn.Conv1d(a, b, 1) if a != b else nn.Identity() for a, b in widths
        )
        self.time = nn.ModuleList(nn.Linear(width, width) for _ in widths)
        self.down = nn.Conv1d(width, width, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose1d(width, width, 4, stride=2, padding=1)
        self.head = nn.Sequential(step(width, width), nn.Conv1d(width, channels, 1))

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        c = F.mish(self.embed(sinusoid(t, self.width, x)))

        def block(i: int, h: Tensor) -> Tensor:
            return self.after[i](self.before[i](h) + self.time[i](c)[:, :, None]) + self.skip[i](h)

        fine = block(0, x)
        h = self.up(block(1, self.down(fine)))
        return self.head(block(2, torch.cat([h, fine], dim=1)))


class DiffWave(nn.Module):
    """Dilated gated convolutions over a signal; the last weight is zero, its bias is not."""

    def __init__(self, channels: int = 1, width: int = 16, layers: int = 3):
        super().__init__()
        self.width = width
        self.stem = nn.Conv1d(channels, width, 1)
        self.embed = nn.Sequential(nn.Linear(width, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU())
        self.time = nn.ModuleList(nn.Linear(64, width) for _ in range(layers))
        self.dilated = nn.ModuleList(
            nn.Conv1d(width, 2 * width, 3, padding=2**i, dilation=2**i) for i in range(layers)
        )
        self.out = nn.ModuleList(nn.Conv1d(width, 2 * width, 1) for _ in range(layers))
        self.skip = nn.Conv1d(width, width, 1)
        self.head = nn.Conv1d(width, channels, 1)
        for layer in self.modules():
            if isinstance(layer, nn.Conv1d):
                nn.init.kaiming_normal_(layer.weight)
        nn.init.zeros_(self.head.weight)

    def forward(self, x: Tensor, diffusion_step: Tensor) -> Tensor:
        c = self.embed(sinusoid(diffusion_step, self.width, x))
        h, total = F.relu(self.stem(x)), torch.zeros_like(x[:, :1])
        for time, dilated, out in zip(self.time, self.dilated, self.out, strict=True):
            gate, filtered = dilated(h + time(c)[:, :, None]).chunk(2, dim=1)
            more, skip = out(gate.sigmoid() * filtered.tanh()).chunk(2, dim=1)
            h, total = (h + more) / math.sqrt(2), total + skip
        return self.head(F.relu(self.skip(total / math.sqrt(len(self.out)))))


class CSDI(nn.Module):
    """Transformers along time and along features; the last weight is zero, its bias is not."""

    def __init__(self, channels: int = 1, width: int = 16):
        super().__init__()
        self.width = width
        self.stem = nn.Conv1d(channels, width, 1)
        self.embed = nn.Sequential(nn.Linear(width, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU())
        self.time = nn.Linear(64, width)

        def transformer() -> nn.Module:
            return nn.TransformerEncoderLayer(
                width, 4, 64, dropout=0.0, activation="gelu", batch_first=True
            )

        self.along, self.across = transformer(), transformer()
        self.middle = nn.Conv1d(width, 2 * width, 1)
        self.out = nn.Conv1d(width, 2 * width, 1)
        self.skip = nn.Conv1d(width, width, 1)
        self.head = nn.Conv1d(width, channels, 1)
        nn.init.zeros_(self.head.weight)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        count, channels, features, length = x.shape
        c = self.time(self.embed(sinusoid(t, self.width, x)))
        h = F.relu(self.stem(x.reshape(count, channels, -1))) + c[:, :, None]
        h = h.view(count, -1, features, length)
        rows = self.along(h.permute(0, 2, 3, 1).flatten(0, 1)).view(count, features, length, -1)
        columns = self.across(rows.transpose(1, 2).flatten(0, 1))
        h = columns.view(count, length, features, -1).permute(0, 3, 2, 1).flatten(2)
        gate, filtered = self.middle(h).chunk(2, dim=1)
        _, skip = self.out(gate.sigmoid() * filtered.tanh()).chunk(2, dim=1)
        return self.head(F.relu(self.skip(skip))).view(x.shape)


class TabDDPM(nn.Module):
    """A perceptron for rows of a table; the time is added to its first layer."""

    def __init__(self, size: int = 12, width: int = 64):
        super().__init__()
        self.width = width
        self.proj = nn.Linear(size, width)
        self.time_embed = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.mlp = nn.Sequential(
            *(nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(2))
        )
        self.head = nn.Linear(width, size)

    def forward(self, x: Tensor, timesteps: Tensor) -> Tensor:
        time = self.time_embed(sinusoid(timesteps, self.width, x))
        return self.head(self.mlp(self.proj(x) + time))


class FourierMLP(nn.Module):
    """The usual toy network in a plane: Fourier features of the time beside the point."""

    def __init__(self, size: int = 2, width: int = 64):
        super().__init__()
        self.fourier = Fourier(32, 1.0)
        self.layers = nn.Sequential(
            nn.Linear(size + 32, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, size),
        )

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return self.layers(torch.cat([x, self.fourier(t.to(x.dtype) / 1000)], dim=1))
