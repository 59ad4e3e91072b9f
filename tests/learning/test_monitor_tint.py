"""Why are the samples tinted? A small U-Net for tinted digits, with a fault put in on purpose."""

import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import interpolate, silu

import sads
from sads.presentation.training_record import record_sentences

TINTS = torch.tensor([[0.9, 0.5, 0.2], [0.2, 0.6, 0.9], [0.4, 0.9, 0.4]])
UPDATES, FAULT, EVERY = 300, 150, 10


class UNet(nn.Module):
    """Two levels; with the fault, the mean of the red channel is nobody's to predict."""

    def __init__(self, width=16):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, width))
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.Conv2d(width, width, 3, stride=2, padding=1)
        self.up = nn.Conv2d(2 * width, width, 3, padding=1)
        self.last = nn.Conv2d(width, 3, 3, padding=1)
        self.fault = False

    def forward(self, x, t):
        time = self.time(t[:, None].float() / 1000)[:, :, None, None]
        high = silu(self.first(x) + time)
        low = interpolate(silu(self.down(high) + time), scale_factor=2.0)
        out = self.last(silu(self.up(torch.cat([high, low], 1))))
        if not self.fault:
            return out
        red = out[:, :1] - out[:, :1].mean((2, 3), keepdim=True)
        return torch.cat([red, out[:, 1:]], 1)


def tinted() -> torch.Tensor:
    grey = torch.from_numpy(load_digits().images / 16).float()[:, None]
    return grey * TINTS[torch.arange(len(grey)) % 3][:, :, None, None] * 2 - 1


def trained(fault_at: int | None) -> sads.TrainingRecord:
    images, abar = tinted(), torch.from_numpy(sads.Schedule().abar).float()
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = UNet()
        optimiser = torch.optim.Adam(network.parameters(), lr=5e-3)
        monitor = sads.Monitor((3, 8, 8), data=images, every=EVERY)
        for step in range(UPDATES):
            network.fault = fault_at is not None and step >= fault_at
            clean, t = images[torch.randint(len(images), (64,))], torch.randint(1000, (64,))
            noise, level = torch.randn_like(clean), abar[t].view(-1, 1, 1, 1)
            prediction = network(level.sqrt() * clean + (1 - level).sqrt() * noise, t)
            optimiser.zero_grad()
            (prediction - noise).square().mean().backward()
            optimiser.step()
            monitor.update(prediction, noise, t)
    return monitor.record


@pytest.mark.parametrize("fault_at", [None, 0, FAULT], ids=["healthy", "always", "later"])
def test_the_page_says_which_direction_lags_and_since_when(fault_at):
    record = trained(fault_at)
    words = " ".join(record_sentences(record))
    if fault_at is None:
        assert record.lagging() == ()
        assert "none lags" in words
        return
    lag = record.lagging()[0]  # the furthest behind
    assert lag.label == "mean of channel 0"
    assert abs(lag.since - fault_at) <= EVERY  # a window is what it can tell
    when = f"since update {lag.since}" if lag.since else "from the start"
    assert f"Mean of channel 0 lags {when}" in words
    assert "tinted" in words
