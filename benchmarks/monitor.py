"""What a monitor costs a training loop: 3x32x32, batches of 128, 64 directions.

    python benchmarks/monitor.py

One run, steps with and without a monitor in turns, so that whatever else the machine does meets
both. Prints two measures of the overhead and writes docs/results/monitor-benchmark.json:

- by itself: the median time of an update over the median time of a step without one;
- paired: the median, over pairs of neighbouring steps, of how much longer the one with a monitor
  took, with an interval that holds the true median in at least 95 % of such runs. It also counts
  what an update does to the step that follows (caches), and is as noisy as the steps are.
"""

import json
import platform
import time
from pathlib import Path

import numpy as np
import torch
from scipy.stats import binom
from torch import nn

from sads.learning.monitor import Monitor
from sads.networks.presets import preset_family

SHAPE, BATCH, DIRECTIONS, TURNS = (3, 32, 32), 128, 64, 80
OUT = Path(__file__).resolve().parents[1] / "docs" / "results" / "monitor-benchmark.json"


def main() -> None:
    """Time steps in turns."""
    network = preset_family("iddpm-cifar10").member(0)
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    columns = np.linalg.qr(np.random.default_rng(0).standard_normal((3072, DIRECTIONS)))[0]
    monitor = Monitor(SHAPE, columns)
    plain, watched, alone = [], [], []
    for turn in range(2 * TURNS + 2):
        started = time.perf_counter()
        prediction, target, t = step(network, optimiser)
        if turn % 2:
            before = time.perf_counter()
            monitor.update(prediction, target, t)
            alone.append(time.perf_counter() - before)
        seconds = time.perf_counter() - started
        if turn > 1:  # the first two warm up
            (watched if turn % 2 else plain).append(seconds)
    overhead = float(np.median(alone[1:]) / np.median(plain))
    longer = np.sort(np.array(watched) / np.array(plain) - 1)
    few = int(binom.ppf(0.025, len(longer), 0.5)) - 1  # pairs cut off on either side
    result = {
        "step_seconds": float(np.median(plain)),
        "step_with_monitor_seconds": float(np.median(watched)),
        "update_seconds": float(np.median(alone[1:])),
        "overhead": overhead,
        "paired_overhead": float(np.median(longer)),
        "paired_interval": [float(longer[few]), float(longer[-1 - few])],
        "network": "iddpm-cifar10",
        "batch": BATCH,
        "directions": DIRECTIONS,
        "threads": torch.get_num_threads(),
        "machine": f"{platform.machine()}, torch {torch.__version__}",
    }
    OUT.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


def step(
    network: nn.Module, optimiser: torch.optim.Optimizer
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """One step of training on noise; what the loop has in its hands at its end."""
    x, target = torch.randn(BATCH, *SHAPE), torch.randn(BATCH, *SHAPE)
    t = torch.randint(1000, (BATCH,))
    prediction = network(x, t)
    loss = ((prediction - target) ** 2).mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return prediction, target, t


if __name__ == "__main__":
    main()
