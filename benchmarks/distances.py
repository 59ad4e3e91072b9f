"""The sliced distance against POT, side by side in one run.

    python benchmarks/distances.py            10,000 x 256 with 16,384 directions
    python benchmarks/distances.py --large    and 10,000 x 3,072 with 196,608 directions, ours alone

Each measurement has a process to itself, for its peak memory. POT gets its directions in blocks,
since its arrays for all at once take many times the memory. The ratio counts: seconds depend
on the machine and on its other work. A run with `--large` is kept in
`docs/results/distances-benchmark.json`.
"""

import argparse
import json
import math
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SAMPLES = 10_000
POT_BLOCK = 1024
GB = 1e9
TABLE = Path(__file__).parents[1] / "docs" / "results" / "distances-benchmark.json"


def samples(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Two float32 samples that differ in scale."""
    generator = np.random.default_rng(0)
    x = generator.standard_normal((SAMPLES, size), dtype=np.float32)
    y = generator.standard_normal((SAMPLES, size), dtype=np.float32)
    y *= np.float32(1.1)
    return x, y


def memory(field: str) -> int:
    """A field of this process's status, in bytes: VmRSS (now) or VmHWM (peak)."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(field))
    return 1024 * int(line.split()[1])


def ours(x: np.ndarray, y: np.ndarray, projections: int) -> float:
    """SW2 by this package, with seed 1."""
    from sads.distances import sliced_wasserstein

    return sliced_wasserstein(x, y, projections=projections, generator=1).sw2


def pot(x: np.ndarray, y: np.ndarray, projections: int) -> float:
    """SW2 by POT over the same directions, in blocks.

    In float64, which is as fast for it: its sums of float32 weights are off in the fifth digit.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ot

    x, y = x.astype(np.float64), y.astype(np.float64)
    generator = np.random.default_rng(1)
    total = 0.0
    for start in range(0, projections, POT_BLOCK):
        rows = generator.standard_normal((min(POT_BLOCK, projections - start), x.shape[1]))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        _, log = ot.sliced_wasserstein_distance(x, y, projections=rows.T.copy(), log=True)
        total += float(np.sum(log["projected_emds"]))
    return math.sqrt(total / projections)


METHODS: dict[str, Callable[[np.ndarray, np.ndarray, int], float]] = {"ours": ours, "pot": pot}


def measure(method: str, size: int, projections: int) -> None:
    """Run one method in this process and print what came of it as JSON."""
    x, y = samples(size)
    METHODS[method](x[:100], y[:100], 16)  # imports and first calls are not the subject
    before = memory("VmRSS")
    start = time.perf_counter()
    sw2 = METHODS[method](x, y, projections)
    seconds = time.perf_counter() - start
    peak = memory("VmHWM")
    print(json.dumps({"sw2": sw2, "seconds": seconds, "peak": peak, "above": peak - before}))


def run(method: str, size: int, projections: int) -> dict[str, float]:
    """One measurement in a process of its own."""
    command = [sys.executable, __file__, "--measure", method, str(size), str(projections)]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def pot_bytes(projections: int) -> int:
    """What POT holds at least with all directions at once, even in float32.

    The projections of both samples as they come, sorted, and their order as 64-bit integers.
    """
    return 2 * SAMPLES * projections * (4 + 4 + 8)


def row(name: str, result: dict[str, float]) -> str:
    """One line of the table."""
    return (
        f"{name:<22}{result['seconds']:>9.1f} s{result['above'] / 1e6:>12.0f} MB"
        f"{result['peak'] / GB:>9.2f} GB{result['sw2']:>14.7f}"
    )


def recorded(
    size: int, projections: int, own: dict[str, float], other: dict[str, float] | None
) -> dict[str, Any]:
    """One case as the table of results reads it; gigabytes are those above the inputs."""
    return {
        "samples": SAMPLES,
        "dimensions": size,
        "directions": projections,
        "seconds": own["seconds"],
        "gigabytes": own["above"] / GB,
        "pot": other and {"seconds": other["seconds"], "gigabytes": other["above"] / GB},
        "pot_arrays_gigabytes": round(pot_bytes(projections) / GB),
    }


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--large", action="store_true", help="also 3,072 dimensions: minutes")
    parser.add_argument("--measure", nargs=3, metavar=("METHOD", "D", "L"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        method, size, projections = arguments.measure
        measure(method, int(size), int(projections))
        return

    print(f"{'':<22}{'time':>11}{'above inputs':>15}{'peak':>12}{'SW2':>14}")
    print("10,000 x 256, 16,384 directions", flush=True)
    results = {name: run(name, 256, 16_384) for name in METHODS}
    print(row("  sads", results["ours"]))
    print(row(f"  POT, {POT_BLOCK:,} at a time", results["pot"]))
    ratio = results["pot"]["seconds"] / results["ours"]["seconds"]
    difference = abs(results["ours"]["sw2"] / results["pot"]["sw2"] - 1)
    print(f"  {ratio:.1f} times faster, relative difference of SW2 {difference:.1e}")
    print(f"  POT, all at once: at least {pot_bytes(16_384) / GB:.0f} GB")
    if arguments.large:
        print("10,000 x 3,072, 196,608 directions", flush=True)
        large = run("ours", 3072, 196_608)
        print(row("  sads", large))
        print(f"  POT, all at once: at least {pot_bytes(196_608) / GB:.0f} GB")
        cases = [
            recorded(256, 16_384, results["ours"], results["pot"]),
            recorded(3072, 196_608, large, None),
        ]
        TABLE.write_text(json.dumps(cases, indent=1) + "\n")


if __name__ == "__main__":
    main()
