"""Networks of the atlas for sound and for tables, written from the published facts."""

import math
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from u_nets import rising_sinusoid, sinusoid


class DiffWave(nn.Module):
    """DiffWave base: 64 channels, 30 dilated gated layers in three cycles, zero at its end."""

    def __init__(self, channels: int = 1, width: int = 64, layers: int = 30, cycle: int = 10):
        super().__init__()
        self.stem = nn.Conv1d(channels, width, 1)
        self.embed = nn.Sequential(nn.Linear(128, 512), nn.SiLU(), nn.Linear(512, 512), nn.SiLU())
        self.time = nn.ModuleList(nn.Linear(512, width) for _ in range(layers))
        dilations = [2 ** (i % cycle) for i in range(layers)]
        self.dilated = nn.ModuleList(
            nn.Conv1d(width, 2 * width, 3, padding=d, dilation=d) for d in dilations
        )
        self.split = nn.ModuleList(nn.Conv1d(width, 2 * width, 1) for _ in range(layers))
        self.out = nn.Conv1d(width, width, 1)
        self.head = nn.Conv1d(width, channels, 1)
        for layer in self.modules():
            if isinstance(layer, nn.Conv1d):
                nn.init.kaiming_normal_(layer.weight)
        nn.init.zeros_(self.head.weight)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        c = self.embed(rising_sinusoid(t, 128, x, 63))
        h, skips = F.relu(self.stem(x)), 0.0
        for time, dilated, split in zip(self.time, self.dilated, self.split, strict=True):
            gate, value = dilated(h + time(c)[:, :, None]).chunk(2, dim=1)
            residual, skip = split(gate.sigmoid() * value.tanh()).chunk(2, dim=1)
            h, skips = (h + residual) * math.sqrt(0.5), skips + skip
        return self.head(F.relu(self.out(skips / math.sqrt(len(self.split)))))


class TabDDPM(nn.Module):
    """TabDDPM's network: a projection of the row plus the time, then a ReLU network."""

    def __init__(self, columns: int = 24, width: int = 512, time: int = 128, layers: int = 4):
        super().__init__()
        self.width = time
        self.embed = nn.Sequential(nn.Linear(time, time), nn.SiLU(), nn.Linear(time, time))
        self.project = nn.Linear(columns, time)
        sizes = [time, *[width] * layers]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.head = nn.Linear(width, columns)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        h = self.project(x) + self.embed(sinusoid(t, self.width, x))
        for layer in self.layers:
            h = torch.relu(layer(h))
        return self.head(h)


def diffwave() -> nn.Module:
    """DiffWave base, on 1,024 samples of sound."""
    return DiffWave()


def tabddpm() -> nn.Module:
    """TabDDPM on a table with 24 numerical columns."""
    return TabDDPM()
