"""The main job end to end: two architectures, their certified directions, one report.

Run by `make demo`; everything is written to `demo/`.
"""

from pathlib import Path

import sads
from sads.cli.progress import networks_bar, waiting
from sads.report import build_report, write_report

OUT = Path("demo")
RUNS = {"iddpm-16": {"tolerance": 0.006}, "dit-2": {}}
DATA = "digits,size=16"


def main() -> None:
    """Estimate, report, and say where to look."""
    for name, options in RUNS.items():
        with networks_bar(name) as report:
            geometry = sads.estimate_geometry(name, out=OUT / name, on_progress=report, **options)
        print(geometry)
    with waiting("writing the report") as tell:
        found = build_report([OUT / name for name in RUNS], data=DATA, on_stage=tell)
        write_report(found, OUT / "report.html", force=True)
    print("\n".join(["", *found.sentences, ""]))
    print(f"Open {(OUT / 'report.html').resolve()} in a browser.")


if __name__ == "__main__":
    main()
