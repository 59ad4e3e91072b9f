"""The smallest sweeps, and an engine without processes for tests of what does not need any."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sads.execution.engines import Engine

SPEC = """
protocol = {{ preset = "smoke", iterations = {iterations}, samples = 16, steps = 3, train = 32 }}
seeds = {seeds}

[[grid]]
networks = ["mlp,width=8,depth=1"]
shape = "1x4x4"
bases = ["dct"]
indices = {indices}
"""
#: What differs between two runs of one sweep.
PASSING = (
    "train_seconds",
    "sample_seconds",
    "distance_seconds",
    "risk_seconds",
    "host",
    "finished",
    "attempts",
)


def write_spec(directory: Path, *, indices=(0, 5), seeds=(0, 1), iterations=5) -> Path:
    """A specification of trials that take a few hundredths of a second."""
    path = directory / "spec.toml"
    path.write_text(SPEC.format(indices=list(indices), seeds=list(seeds), iterations=iterations))
    return path


def lasting(rows: list[dict]) -> list[dict]:
    """Rows without what differs from run to run."""
    return [{k: v for k, v in row.items() if k not in PASSING} for row in rows]


class InProcess(Engine):
    """Runs calls in threads of this process."""

    def __init__(self, workers: int = 1):
        super().__init__(workers)
        self.executor = ThreadPoolExecutor(workers)
