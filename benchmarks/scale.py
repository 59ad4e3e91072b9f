"""Cost of a geometry against the number of dimensions, from 64 to 196,608, in each regime.

    python benchmarks/scale.py            # measures what is not measured yet, draws, prints slopes
    python benchmarks/scale.py --redraw   # draws what is in docs/results/scale.json

Every point is a process of its own: the same small network at another shape, a fixed number of
networks, the estimate with its spectrum. Written to `docs/results/scale.json`: processor seconds
(of all threads, so that a busy machine counts for little), peak memory of the process beyond that
of an imported package, and what was learned. `docs/images/scale.png` is the picture, and the table
of `docs/scale.md` is made from the rows. The slope of a regime is that of the logarithm over its
larger shapes, where what does not grow is small.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

DOCS = Path(__file__).resolve().parents[1] / "docs"
ROWS, PICTURE = DOCS / "results" / "scale.json", DOCS / "images" / "scale.png"
PAGE, MARKS = DOCS / "scale.md", ("<!-- measured -->\n", "<!-- /measured -->")
NETWORK, NETWORKS, PROBE = "cnn", 24, "gaussian:1"
SHAPES = {
    "full": ["1x8x8", "1x12x12", "1x16x16", "1x24x24", "1x32x32", "1x40x40", "1x48x48"],
    "dct:8": ["1x8x8", "1x16x16", "1x32x32", "1x64x64", "3x64x64", "3x128x128", "3x256x256"],
    "adaptive:64": ["1x8x8", "1x16x16", "1x32x32", "1x64x64", "3x64x64", "3x128x128", "3x256x256"],
    "adaptive:512": ["1x32x32", "1x64x64", "3x64x64", "3x128x128", "3x256x256"],
}
FITTED, FEWEST = 3, 2  # points behind a slope: the largest


def measured(subspace: str, shape: str) -> dict[str, Any]:
    """One point, in this process."""
    import torch

    import sads
    from sads.cli import main  # noqa: F401 - all that a command loads

    sads.estimate_geometry(NETWORK, shape="1x4x4", networks=12).spectrum()  # loads everything
    before, started = _peak(), time.process_time()
    geometry = sads.estimate_geometry(
        NETWORK, shape=shape, networks=NETWORKS, subspace=subspace, probe=PROBE
    )
    drawn = time.process_time()
    spectrum = geometry.spectrum()
    return {
        "subspace": subspace,
        "shape": shape,
        "dimensions": geometry.structure.size,
        "rows": geometry.structure.rows,
        "networks": NETWORKS,
        "estimate_seconds": drawn - started,
        "spectrum_seconds": time.process_time() - drawn,
        "gigabytes": max(_peak() - before, 0) / 2**30,
        "inside": geometry.inside[0],
        "whitened_error": geometry.whitened_error,
        "resolution_median": spectrum.resolution_median,
        "threads": torch.get_num_threads(),
    }


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def slopes(points: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """The exponent of the dimensions in the cost of each regime."""
    found = {}
    for subspace in SHAPES:
        own = [p for p in points if p["subspace"] == subspace]
        own.sort(key=lambda p: p["dimensions"])
        # Further channels make dimensions and no rows: only shapes of as many are compared.
        last = [p for p in own if p["shape"].split("x")[0] == own[-1]["shape"].split("x")[0]]
        last = last[-FITTED:]
        if len(last) < FEWEST:
            continue
        x = np.log([p["dimensions"] for p in last])
        costs = {
            "seconds": [p["estimate_seconds"] + p["spectrum_seconds"] for p in last],
            "gigabytes": [max(p["gigabytes"], 1e-3) for p in last],
        }
        found[subspace] = {k: float(np.polyfit(x, np.log(v), 1)[0]) for k, v in costs.items()}
    return found


def draw(content: dict[str, Any]) -> None:
    """Seconds and gigabytes against dimensions, a line for each regime."""
    from matplotlib.figure import Figure

    from sads.presentation.palette import CYCLE

    figure = Figure(figsize=(9.5, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    for colour, subspace in zip(CYCLE, SHAPES, strict=False):
        own = [p for p in content["points"] if p["subspace"] == subspace]
        own.sort(key=lambda p: p["dimensions"])
        slope = content["slopes"].get(subspace, {})
        x = [p["dimensions"] for p in own]
        seconds = [p["estimate_seconds"] + p["spectrum_seconds"] for p in own]
        memory = [max(p["gigabytes"], 1e-3) for p in own]
        for axes, values, name in ((left, seconds, "seconds"), (right, memory, "gigabytes")):
            label = f"{subspace}: D^{slope[name]:.1f}" if slope else subspace
            axes.loglog(x, values, marker="o", markersize=4, color=colour, label=label)
    left.set_ylabel(f"processor seconds, {NETWORKS} networks")
    right.set_ylabel("GB beyond the loaded package")
    for axes in (left, right):
        axes.set_xlabel("dimensions D")
        axes.legend(fontsize=8)
        axes.grid(alpha=0.3)
    figure.suptitle(f"{NETWORK}: cost of a geometry with its spectrum", fontsize=11)
    figure.savefig(PICTURE, dpi=150)


def write_table(content: dict[str, Any]) -> None:
    """The table of the page, between its marks."""
    head = "| subspace | shape | dimensions | estimate, s | spectrum, s | GB | tr G inside |"
    lines = ["![Cost against dimensions](images/scale.png)", "", head, "|" + " --- |" * 7]
    for p in content["points"]:
        numbers = (
            f"{p['estimate_seconds']:.2g} | {p['spectrum_seconds']:.2g} | {p['gigabytes']:.2g}"
        )
        where = f"`{p['subspace']}` | {p['shape']} | {p['dimensions']:,}"
        lines.append(f"| {where} | {numbers} | {p['inside']:.1%} |")
    lines += ["", "Exponents of the dimensions in the cost, over the largest shapes of each:"]
    lines += ["", "| subspace | seconds | gigabytes |", "| --- | --- | --- |"]
    for name, slope in content["slopes"].items():
        lines.append(f"| `{name}` | {slope['seconds']:.2f} | {slope['gigabytes']:.2f} |")
    before, _, rest = PAGE.read_text().partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    text = "\n".join(lines)
    PAGE.write_text(f"{before}{MARKS[0]}\n{text}\n\n{MARKS[1]}{after}")


def stored() -> dict[str, Any]:
    """What has been measured so far."""
    if not ROWS.exists():
        return {"network": NETWORK, "networks": NETWORKS, "probe": PROBE, "points": []}
    return json.loads(ROWS.read_text())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--redraw", action="store_true")
    parser.add_argument("--one", nargs=2, metavar=("SUBSPACE", "SHAPE"))
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measured(*options.one)))
        return
    content = stored()
    known = {(p["subspace"], p["shape"]) for p in content["points"]}
    missing = [(s, shape) for s, shapes in SHAPES.items() for shape in shapes]
    for subspace, shape in [] if options.redraw else missing:
        if (subspace, shape) in known:
            continue
        command = [sys.executable, __file__, "--one", subspace, shape]
        printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        content["points"].append(json.loads(printed.splitlines()[-1]))
        print(printed.splitlines()[-1], flush=True)
        ROWS.write_text(json.dumps(content, indent=1) + "\n")
    order = list(SHAPES)
    content["points"].sort(key=lambda p: (order.index(p["subspace"]), p["dimensions"]))
    content["slopes"] = slopes(content["points"])
    ROWS.write_text(json.dumps(content, indent=1) + "\n")
    draw(content)
    write_table(content)
    print(json.dumps(content["slopes"], indent=1))


if __name__ == "__main__":
    main()
