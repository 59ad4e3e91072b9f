"""Every known class of diffusers from its configuration alone: does it work, how is it read.

    python benchmarks/diffusers_classes.py [NAME...]     # measure all configurations, or some
    python benchmarks/diffusers_classes.py --quick       # only whether and how they are read
    python benchmarks/diffusers_classes.py --table       # write the table of what is recorded

Each configuration of `examples/diffusers` is estimated to a whitened error of 0.1 at Gaussian
inputs and examined by the doctor, with the settings that the commands have by default. The record
is `docs/results/diffusers.json`, the table a part of `docs/how-to/diffusers.md`. Seconds are those
of the processor, user and system together: they do not depend on what else the machine does.
"""

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import sads
from sads.storage.files import atomic_write, write_bytes

ROOT = Path(__file__).resolve().parents[1]
CONFIGURATIONS = ROOT / "examples" / "diffusers"
RECORD = ROOT / "docs" / "results" / "diffusers.json"
PAGE = ROOT / "docs" / "how-to" / "diffusers.md"
BEGIN, END = "<!-- table of classes: generated -->", "<!-- end of the table -->"
TOLERANCE, FEW = 0.1, 12
READ = {"random": "random last layers", "sampled": "sampled"}
HEAD = (
    *("class", "configuration", "sample", "parameters", "also passed", "last layer"),
    *("networks to 0.1", "error", "geometry, s", "doctor, s"),
)


def names() -> list[str]:
    """The configurations, by name."""
    return sorted(path.stem for path in CONFIGURATIONS.glob("*.json"))


def facts(name: str, geometry: sads.Geometry) -> dict[str, Any]:
    """What is recorded of a configuration and does not depend on the machine or the effort."""
    path = CONFIGURATIONS / f"{name}.json"
    member = sads.network(f"diffusers:{path}").member(0)
    taken = geometry.plan.assumptions
    return {
        "class": json.loads(path.read_text())["_class_name"],
        "sample": "x".join(map(str, geometry.shape)),
        "parameters": sum(p.numel() for p in member.parameters()),
        "passed": sorted(taken.inputs) if taken is not None else [],
        "read": READ.get(geometry.plan.readout.kind, "exact"),
        "redrawn": list(geometry.plan.redrawn),
    }


def estimated(name: str, **options: Any) -> sads.Geometry:
    """The geometry of a configuration at Gaussian inputs."""
    network = f"diffusers:{CONFIGURATIONS / name}.json"
    return sads.estimate_geometry(network, probe="gaussian:1", zero_output="last", **options)


def measured(name: str) -> dict[str, Any]:
    """The whole row of a configuration."""
    begun = time.process_time()
    geometry = estimated(name, tolerance=TOLERANCE)
    between = time.process_time()
    diagnosis = sads.diagnose(f"diffusers:{CONFIGURATIONS / name}.json")
    ended = time.process_time()
    return facts(name, geometry) | {
        "networks": geometry.networks,
        "error": geometry.whitened_error,
        "geometry_seconds": round(between - begun, 1),
        "doctor_seconds": round(ended - between, 1),
        "findings": {one.code: one.severity for one in diagnosis.findings},
    }


def table(record: dict[str, dict[str, Any]]) -> str:
    """The record as a table in Markdown."""
    lines = [f"| {' | '.join(HEAD)} |", f"|{' --- |' * len(HEAD)}"]
    for name, row in sorted(record.items(), key=lambda item: (item[1]["class"], item[0])):
        seconds = [row.get(f"{what}_seconds") for what in ("geometry", "doctor")]
        cells = (
            f"`{row['class']}`",
            f"`{name}.json`",
            row["sample"],
            f"{row['parameters'] / 1e6:.2g} M",
            ", ".join(f"`{one}`" for one in row["passed"]) or "nothing",
            row["read"],
            f"{row['networks']:,}" if "networks" in row else "not measured",
            f"{row['error']:.3f}" if "error" in row else "",
            *("" if one is None else f"{one:.0f}" for one in seconds),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def page_with(text: str, page: str) -> str:
    """A page with a text between the marks."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}"


def read_record() -> dict[str, dict[str, Any]]:
    """What is recorded so far."""
    return json.loads(RECORD.read_text()) if RECORD.is_file() else {}


def main() -> None:
    """Measure what is named, all by default, and write record and table."""
    warnings.simplefilter("ignore", FutureWarning)
    chosen = [name for name in sys.argv[1:] if not name.startswith("--")]
    if "--table" not in sys.argv:
        for name in chosen or names():
            quick = "--quick" in sys.argv
            known = read_record().get(name, {}) if quick else {}
            row = known | facts(name, estimated(name, networks=FEW)) if quick else measured(name)
            print(name, row, flush=True)
            record = dict(sorted((read_record() | {name: row}).items()))
            atomic_write(RECORD, write_bytes((json.dumps(record, indent=2) + "\n").encode()))
    PAGE.write_text(page_with(table(read_record()), PAGE.read_text()))


if __name__ == "__main__":
    main()
