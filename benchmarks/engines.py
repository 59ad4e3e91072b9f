"""Networks a second of an estimate on engines, and of the two ways to evaluate a stack.

    python benchmarks/engines.py [stacks] [one] [local] [dask] [--rounds 3] [--json FILE]

Without names everything is measured; a round of one engine takes about half a minute on idle cores.

Workers: networks a second of one and of two workers with one thread each, and of one process with
as many threads as cores, in alternating rounds, from the fifth batch that has come to the last.
Bare: what two processes that multiply matrices do on this machine against one alone, in the same
rounds; more than that no engine can give. Stacks: batches of the paper's U-Net through `vmap` and
as ordinary batches, in turns and in one thread, in processor time, so that a busy machine counts
for little; the moments are compared bit by bit.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch

import sads
from sads.geometry import Zero
from sads.geometry.ensemble import DrawnEnsemble
from sads.geometry.estimators import Integrated
from sads.geometry.goal import Goal
from sads.geometry.run import Progress, settled
from sads.geometry.source import prepare
from sads.networks import preset_family

NAME = "iddpm-16"
KINDS = {
    "one process": {},
    "local, 1 worker": {"engine": "local", "workers": 1},
    "local, 2 workers": {"engine": "local", "workers": 2},
    "dask, 1 worker": {"engine": "dask", "workers": 1},
    "dask, 2 workers": {"engine": "dask", "workers": 2},
}
ENGINES = ("local", "dask")
PARTS = ("stacks", "one", *ENGINES)
BARE = """
import time, torch
torch.set_num_threads(1)
a = torch.randn(32, 32, 288)
b = torch.randn(32, 288, 256)
end, count = time.perf_counter() + 4, 0
while time.perf_counter() < end:
    torch.bmm(a, b)
    count += 1
print(count)
"""


def rate(networks: int, **engine: object) -> float:
    """Networks a second, after the first have come."""
    seen: list[tuple[float, int]] = []

    def note(progress: Progress) -> None:
        if progress.networks:
            seen.append((time.perf_counter(), progress.networks))

    sads.estimate_geometry(NAME, networks=networks, on_progress=note, **engine)  # pyright: ignore
    (started, first), (ended, last) = seen[4], seen[-1]
    return (last - first) / (ended - started)


def bare(processes: int) -> int:
    """Products that some processes make at once in the same time."""
    command = [sys.executable, "-c", BARE]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    return sum(int(p.communicate()[0]) for p in running)


def workers(engines: list[str], rounds: int, networks: int) -> dict:
    """Rates of the engines that are asked for, each round told as it ends."""
    asked = {n: e for n, e in KINDS.items() if e.get("engine", "one") in engines}
    found: dict[str, list[float]] = {name: [] for name in asked}
    allowed = []
    for number in range(rounds):
        for name in reversed(asked) if number % 2 else asked:
            found[name].append(rate(networks, **asked[name]))
            print(f"{name}: {found[name][-1]:.0f} networks a second", file=sys.stderr, flush=True)
        allowed.append(bare(2) / bare(1))
    ratios = {
        name: [
            b / a
            for a, b in zip(found[f"{name}, 1 worker"], found[f"{name}, 2 workers"], strict=True)
        ]
        for name in ENGINES
        if name in engines
    }
    return {
        "networks": networks,
        "rates": {name: statistics.median(values) for name, values in found.items()},
        "ratios": ratios,
        "two to one": {name: statistics.median(values) for name, values in ratios.items()},
        "bare": allowed,
        "load": os.getloadavg(),
    }


def through_vmap(ensemble: DrawnEnsemble, x, t, rng, dtype):
    """What `DrawnEnsemble.evaluate` did before stacks ran as batches."""
    return ensemble.read(ensemble.draw(len(t), rng), x, t, dtype)


def stacks(batches: int) -> dict:
    torch.set_num_threads(1)
    source = prepare(
        preset_family(NAME),
        Zero(),
        estimator=Integrated(),
        weighting="score",
        timesteps=None,
        seed=5,
        device="cpu",
        zero_output="explain",
    )
    source = settled(source, Goal(4096, None))
    size, taken = source.plan.batch, {"vmap": [], "batch": []}
    same = True
    for number in range(-2, batches):
        moments = []
        for name, way in (("vmap", through_vmap), ("batch", DrawnEnsemble.evaluate)):
            with patch.object(DrawnEnsemble, "evaluate", way):
                started = time.thread_time()
                moments.append(source.moment(max(number, 0), size))
                taken[name].append(time.thread_time() - started)
        same &= np.array_equal(*moments)
    own = {name: np.array(values[2:]) / size for name, values in taken.items()}
    ratio = own["vmap"] / own["batch"]
    return {
        "batches": batches,
        "same bits": bool(same),
        "milliseconds": {name: 1e3 * float(np.median(v)) for name, v in own.items()},
        "ratio": float(np.median(ratio)),
        "quartiles": np.percentile(ratio, [25, 75]).tolist(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", help="all unless given")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--networks", type=int, default=4096)
    parser.add_argument("--batches", type=int, default=60)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    parts: list[str] = arguments.parts or [*PARTS]
    threads = torch.get_num_threads()
    found = {}
    if "stacks" in parts:
        found["stacks"] = stacks(arguments.batches)
        torch.set_num_threads(threads)
    if set(parts) - {"stacks"}:
        found["workers"] = workers(parts, arguments.rounds, arguments.networks)
    text = json.dumps(found, indent=1)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
