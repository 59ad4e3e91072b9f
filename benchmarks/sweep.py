"""Sweeps: what a second worker gives, what the store costs, how fast results are read.

    python benchmarks/sweep.py [--trials 8] [--rounds 3] [--json FILE]

Trials an hour of two one-thread workers, one worker with one thread and one worker with two, on the
same small trials of iddpm-16, in alternating rounds so that a noisy machine disturbs all alike. The
workers are started before anything is timed. Run it on a quiet machine. What the machine itself
allows is measured in the same rounds: training steps of two bare loops at once against one alone.
Two such loops that keep freed memory, as our workers do, against two others show what that brings.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sads.execution.engines import Engine, LocalEngine
from sads.sweep import load_specification, read_rows, run_sweep
from sads.sweep.describe.plan import plan_trials
from sads.sweep.execute import driver, run_job, run_trial
from sads.sweep.store.database import Store
from sads.sweep.store.layout import Layout
from sads.sweep.store.outcome import TrialResult

SMOKE = Path(__file__).parents[1] / "examples" / "smoke.toml"
SPEC = """
seeds = {seeds}

[protocol]
preset = "smoke"
iterations = {iterations}
batch_size = 64
samples = 64
steps = 10

[[grid]]
networks = ["iddpm-16"]
bases = ["dct"]
indices = [0]
"""
KINDS = {"two workers, one thread": (2, 1), "one worker, one thread": (1, 1)} | {
    "one worker, two threads": (1, 2)
}
RECORDED = 10_000
BARE_SECONDS = 8.0
BATCHES = (64, 256)  # of the figures at laptop scale
BARE_LOOP = """
import time, torch, sads
torch.set_num_threads(1)
module = sads.network("iddpm-16").factory()
x, t = torch.randn({batch}, 1, 16, 16), torch.zeros({batch}, dtype=torch.long)
module(x, t).square().mean().backward()
started, steps = time.perf_counter(), 0
while time.perf_counter() - started < {seconds}:
    module(x, t).square().mean().backward()
    steps += 1
print(steps / (time.perf_counter() - started))
"""


def throughput(trials: int, iterations: int, rounds: int, place: Path) -> dict[str, Any]:
    """Trials an hour of each kind, and how much better the first is."""
    spec = place / "spec.toml"
    rates: dict[str, list[float]] = {kind: [] for kind in KINDS}
    ceilings: list[float] = []
    with ExitStack() as stack:
        engines = {kind: stack.enter_context(_warm(*sizes)) for kind, sizes in KINDS.items()}
        for number in range(rounds):
            for kind, (_, threads) in KINDS.items():
                spec.write_text(SPEC.format(seeds=list(range(trials)), iterations=iterations))
                started = time.perf_counter()
                run_sweep(spec, place / f"{kind} {number}", engine=engines[kind], threads=threads)
                rates[kind].append(3600 * trials / (time.perf_counter() - started))
            ceilings.append(_bare_steps(2) / _bare_steps(1))
    found = {kind: statistics.median(values) for kind, values in rates.items()}
    two, one, threads = found.values()
    return {
        "trials_per_hour": found,
        "against_one_worker": two / one,
        "against_two_threads": two / threads,
        "rates": rates,
        "bare_loops": ceilings,
    }


def kept_memory(rounds: int) -> dict[int, list[float]]:
    """By size of the batch and round: steps of loops that keep freed memory, against others."""
    return {
        batch: [_bare_steps(2, batch, keep=True) / _bare_steps(2, batch) for _ in range(rounds)]
        for batch in BATCHES
    }


def _bare_steps(processes: int, batch: int = 64, keep: bool = False) -> float:
    """Training steps a second, in all, of plain loops in so many processes at once."""
    first = "from sads.devices import keep_freed_memory as keep; keep()" if keep else ""
    code = f"{first}\n{BARE_LOOP.format(batch=batch, seconds=BARE_SECONDS)}"
    command = [sys.executable, "-c", code]
    loops = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return sum(float(loop.communicate()[0]) for loop in loops)


@contextmanager
def _warm(workers: int, threads: int) -> Iterator[Engine]:
    engine = LocalEngine(workers, threads=threads)
    try:
        # Long enough for every worker to be started.
        for future in [engine.executor.submit(time.sleep, 1.0) for _ in range(workers)]:
            future.result()
        yield engine
    finally:
        engine.close()


def overhead(place: Path) -> dict[str, float]:
    """The share of the smoke sweep's time, on one worker, that goes into recording results."""
    spent: list[float] = []

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                spent.append(time.perf_counter() - started)

        return call

    recording = [
        (run_job, "publish"),
        (run_trial, "publish"),
        (driver, "settle"),
        (Store, "record"),
    ]
    real = [getattr(owner, name) for owner, name in recording]
    for (owner, name), function in zip(recording, real, strict=True):
        setattr(owner, name, timed(function))
    try:
        engine = _InProcess()
        started = time.perf_counter()
        run_sweep(SMOKE, place / "overhead", engine=engine)
        total = time.perf_counter() - started
    finally:
        for (owner, name), function in zip(recording, real, strict=True):
            setattr(owner, name, function)
    return {"seconds": total, "recording_seconds": sum(spent), "share": sum(spent) / total}


class _InProcess(Engine):
    """One worker, in a thread of this process, where it can be timed."""

    def __init__(self) -> None:
        from concurrent.futures import ThreadPoolExecutor

        super().__init__(1)
        self.executor = ThreadPoolExecutor(1)


def reading(place: Path) -> dict[str, float]:
    """Seconds that `sads results` takes for 10,000 recorded trials."""
    _, rows = read_rows(place / "overhead")
    known = TrialResult.model_validate_json(
        (place / "overhead" / "results" / f"{rows[0]['id']}.json").read_bytes()
    )
    spec = place / "many.toml"
    spec.write_text(SPEC.format(seeds=list(range(RECORDED)), iterations=1))
    plan = plan_trials(load_specification(spec))
    (place / "many").mkdir()
    store = Store(Layout(place / "many"))
    store.create(plan, {})
    store.record([known.model_copy(update={"id": p.id, "trial": p.trial}) for p in plan])
    store.close()
    times = {}
    for option in ("--json", "--csv"):
        command = [sys.executable, "-m", "sads", "results", str(place / "many"), option]
        command += [str(place / "many.csv")] if option == "--csv" else []
        started = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times[option] = time.perf_counter() - started
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        found = {
            "throughput": throughput(
                arguments.trials, arguments.iterations, arguments.rounds, place
            ),
            "kept_memory": kept_memory(arguments.rounds),
            "store": overhead(place),
            "reading": reading(place),
        }
    rates = found["throughput"]
    for kind, rate in rates["trials_per_hour"].items():
        print(f"{kind:26} {rate:8.0f} trials an hour")
    print(
        f"two workers against one: {rates['against_one_worker']:.2f} times; against one with two "
        f"threads: {rates['against_two_threads']:.2f} times"
    )
    print("bare loops, two at once against one, by round: ", end="")
    print(", ".join(f"{ceiling:.2f}" for ceiling in rates["bare_loops"]))
    for batch, ratios in found["kept_memory"].items():
        said = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"two loops that keep freed memory against two others, batches of {batch}: {said}")
    store = found["store"]
    print(
        f"recording {store['recording_seconds']:.2f} s of {store['seconds']:.1f} s of the smoke "
        f"sweep: {100 * store['share']:.2f} %"
    )
    print(
        f"{RECORDED:,} trials: " + ", ".join(f"{k} {v:.2f} s" for k, v in found["reading"].items())
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
