"""A plain PyTorch loop with a monitor: three lines more than without.

    python examples/monitor_pytorch.py runs/monitor

Then `sads watch runs/monitor`, or open runs/monitor/training.html.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import sads


class Denoiser(nn.Module):
    """A small network that sees the time."""

    def __init__(self, width: int = 32):
        super().__init__()
        self.width = width
        self.first = nn.Conv2d(1, width, 3, padding=1)
        self.time = nn.Linear(1, width)
        self.middle = nn.Conv2d(width, width, 3, padding=1)
        self.last = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        time = self.time(t[:, None].float() / 1000)[:, :, None, None]
        hidden = nn.functional.silu(self.first(x) + time)
        return self.last(nn.functional.silu(self.middle(hidden)) + hidden)


def images() -> Tensor:
    """The embedded digits, in [-1, 1]."""
    from sklearn.datasets import load_digits

    pixels = np.asarray(load_digits().images, dtype=np.float32)
    return torch.from_numpy(pixels / 8 - 1)[:, None]


def main(directory: str, steps: int = 300, batch: int = 64) -> None:
    """Train, watched."""
    data, network = images(), Denoiser()
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    schedule = sads.Schedule()
    abar = torch.from_numpy(schedule.abar).float()
    monitor = sads.Monitor((1, 8, 8), data=data, out=directory, every=20)  # one
    for _ in range(steps):
        clean = data[torch.randint(len(data), (batch,))]
        t, noise = torch.randint(schedule.steps, (batch,)), torch.randn(clean.shape)
        level = abar[t].view(-1, 1, 1, 1)
        prediction = network(level.sqrt() * clean + (1 - level).sqrt() * noise, t)
        loss = nn.functional.mse_loss(prediction, noise)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        monitor.update(prediction, noise, t)  # two
    monitor.report(Path(directory) / "training.html")  # three
    monitor.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "runs/monitor")
