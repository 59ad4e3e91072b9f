"""A sweep of a network with frozen, unused and stateful parts: killed or not, the same rows."""

import textwrap

from sads.sweep import read_rows, run_sweep

from .small import InProcess, lasting

MODULE = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(16, 8), nn.Linear(8, 16)
        self.first.requires_grad_(False)
        self.norm, self.spare = nn.BatchNorm1d(8), nn.Linear(2, 2)
        self.gain = nn.Parameter(torch.ones(8, dtype=torch.bfloat16))
        self.phase = nn.Parameter(torch.ones(8, dtype=torch.complex64))

    def forward(self, x, t):
        h = self.norm(self.first(x.flatten(1)))
        h = torch.dropout(h, 0.2, self.training) * self.gain.float() * self.phase.abs()
        return self.last(h).view_as(x)


def make():
    return Net()
"""
SPEC = """
protocol = { preset = "smoke", iterations = 4, samples = 16, steps = 3, train = 32 }
seeds = [0, 1]
keep = "network"

[[grid]]
networks = ["unusual.py:make"]
shape = "1x4x4"
bases = ["dct"]
indices = [0]
"""


def test_rows_are_the_same_twice(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "unusual.py").write_text(textwrap.dedent(MODULE))
    (tmp_path / "spec.toml").write_text(SPEC)
    tables = []
    for name in ("one", "two"):
        results = run_sweep(tmp_path / "spec.toml", tmp_path / name, engine=InProcess())
        assert results.statuses["done"] == 2, read_rows(tmp_path / name)
        tables.append(lasting(read_rows(tmp_path / name)[1]))
    assert tables[0] == tables[1]
