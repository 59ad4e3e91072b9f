"""Networks of the atlas for actions and for time series, written from the published facts."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from u_nets import rising_sinusoid, sinusoid


class Policy(nn.Module):
    """The perceptron of Diffusion-QL: three layers of 256 with Mish on action, time and state."""

    def __init__(self, actions: int = 6, states: int = 17, width: int = 256, time: int = 16):
        super().__init__()
        self.states, self.time = states, time
        self.embed = nn.Sequential(nn.Linear(time, 2 * time), nn.Mish(), nn.Linear(2 * time, time))
        self.layers = nn.Sequential(
            nn.Linear(actions + time + states, width),
            nn.Mish(),
            nn.Linear(width, width),
            nn.Mish(),
            nn.Linear(width, width),
            nn.Mish(),
            nn.Linear(width, actions),
        )

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        state = x.new_zeros(len(x), self.states)  # the null condition
        return self.layers(torch.cat([x, self.embed(sinusoid(t, self.time, x)), state], dim=1))


class TimeGrad(nn.Module):
    """TimeGrad's network: eight gated layers of eight channels over the series, zero at its end.

    The state of the recurrent network that sums up the past is the condition; it is zero here.
    """

    def __init__(
        self,
        series: int = 137,
        width: int = 8,
        layers: int = 8,
        hidden: int = 64,
        condition: int = 100,
        cycle: int = 2,
    ):
        super().__init__()
        self.condition = condition
        self.stem = self._around(1, width)
        self.embed = nn.Sequential(
            nn.Linear(32, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU()
        )
        self.past = nn.Sequential(
            nn.Linear(condition, series // 2),
            nn.LeakyReLU(0.4),
            nn.Linear(series // 2, series),
            nn.LeakyReLU(0.4),
        )
        self.time = nn.ModuleList(nn.Linear(hidden, width) for _ in range(layers))
        self.told = nn.ModuleList(self._around(1, 2 * width) for _ in range(layers))
        dilations = [2 ** (i % cycle) for i in range(layers)]
        self.dilated = nn.ModuleList(
            nn.Conv1d(width, 2 * width, 3, padding=d, dilation=d, padding_mode="circular")
            for d in dilations
        )
        self.split = nn.ModuleList(nn.Conv1d(width, 2 * width, 1) for _ in range(layers))
        self.out = nn.Conv1d(width, width, 3)
        self.head = nn.Conv1d(width, 1, 3)
        for layer in (self.stem, self.out, *self.told, *self.split):
            nn.init.kaiming_normal_(layer.get_parameter("weight"))
        nn.init.zeros_(self.head.weight)

    @staticmethod
    def _around(a: int, b: int) -> nn.Conv1d:
        """A map of channels that also lays two more places around each end, as on a circle."""
        return nn.Conv1d(a, b, 1, padding=2, padding_mode="circular")

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        c = self.embed(rising_sinusoid(t, 32, x, 16))
        past = self.past(x.new_zeros(len(x), self.condition))[:, None]
        h, skips = F.leaky_relu(self.stem(x), 0.4), torch.zeros(())
        layers = zip(self.time, self.told, self.dilated, self.split, strict=True)
        for time, told, dilated, split in layers:
            gate, value = (dilated(h + time(c)[:, :, None]) + told(past)).chunk(2, dim=1)
            both = F.leaky_relu(split(gate.sigmoid() * value.tanh()), 0.4)
            residual, skip = both.chunk(2, dim=1)
            h, skips = (h + residual) * math.sqrt(0.5), skips + skip
        h = F.leaky_relu(self.out(skips / math.sqrt(len(self.split))), 0.4)
        return self.head(h)


def diffusion_ql() -> nn.Module:
    """Diffusion-QL for the half-cheetah: 6 actions, 17 observations."""
    return Policy()


def timegrad() -> nn.Module:
    """TimeGrad for 137 series, without what it has seen before."""
    return TimeGrad()
