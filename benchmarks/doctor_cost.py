"""What an early look saves the doctor, and that it says the same.

    python -m benchmarks.doctor_cost [GROUP...]     # U-Net, zoo, well-known
    python -m benchmarks.doctor_cost --table        # write the table of what is recorded

Every network is examined twice in one process: with a first look at some networks, which ends the
examination where it decides everything, and with all networks at once. Seconds are those of the
processor. The record is `docs/results/doctor-cost.json`, the table a part of `docs/doctor.md`. A
network that is recorded already is left out, so the work may be interrupted.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

import sads
from benchmarks.doctor_rates import CONFIGURATIONS, PAGE, RECORD, published, zoo
from sads.doctor import diagnosis
from sads.networks import ScoreFamily
from sads.storage.files import atomic_write, write_bytes

COSTS = RECORD.with_name("doctor-cost.json")
BEGIN, END = "<!-- table of costs: generated -->", "<!-- end of the costs -->"
NEVER = 10**9  # times the first look that would have to follow
Row = dict[str, Any]


def u_net() -> Iterator[tuple[str, ScoreFamily]]:
    """The U-Net of diffusers at 3x32x32."""
    yield "unet2d, 3x32x32", sads.network(f"diffusers:{CONFIGURATIONS / 'unet2d'}.json")


GROUPS: dict[str, Callable[[], Iterator[tuple[str, Any]]]] = {
    "U-Net": u_net,
    "zoo": zoo,
    "well-known": published,
}


def examined(family: ScoreFamily, worth: int) -> Row:
    """Findings, networks behind each geometry and seconds of an examination."""
    usual, diagnosis.WORTH = diagnosis.WORTH, worth
    try:
        started = time.process_time()
        said = diagnosis.diagnose(family)
        seconds = time.process_time() - started
    finally:
        diagnosis.WORTH = usual
    findings = {one.code: one.severity for one in said.findings}
    return {"findings": findings, "networks": said.networks, "seconds": round(seconds, 2)}


def table(record: dict[str, dict[str, Row]]) -> str:
    """How long the examinations took, a line for each group."""
    lines = [
        "| networks | ended early | all networks, s | a first look, s | ratio | same findings |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for group, rows in record.items():
        early, whole = ([row[key] for row in rows.values()] for key in ("early", "whole"))
        ended = sum(a["networks"] < b["networks"] for a, b in zip(early, whole, strict=True))
        same = sum(a["findings"] == b["findings"] for a, b in zip(early, whole, strict=True))
        before, after = (sum(one["seconds"] for one in side) for side in (whole, early))
        name = next(iter(rows)) if len(rows) == 1 else f"{group}, {len(rows)}"
        lines.append(
            f"| {name} | {ended} | {before:.0f} | {after:.0f} | {before / after:.2f} | "
            f"{same} of {len(rows)} |"
        )
    return "\n".join(lines)


def page_with(text: str, page: str) -> str:
    """The page with a text between the marks."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}"


def read_costs() -> dict[str, dict[str, Row]]:
    """What is recorded so far."""
    return json.loads(COSTS.read_text()) if COSTS.is_file() else {}


def main() -> None:
    """Examine what is not recorded yet, and write record and table."""
    warnings.simplefilter("ignore", FutureWarning)
    torch.set_num_threads(1)
    for group in [] if "--table" in sys.argv else (sys.argv[1:] or list(GROUPS)):
        for name, family in GROUPS[group]():
            record = read_costs()
            if name in record.get(group, {}):
                continue
            row = {
                "whole": examined(family, NEVER),
                "early": examined(family, diagnosis.WORTH),
            }
            record.setdefault(group, {})[name] = row
            print(group, name, row, flush=True)
            text = json.dumps(record, indent=1) + "\n"
            atomic_write(COSTS, write_bytes(text.encode()))
    PAGE.write_text(page_with(table(read_costs()), PAGE.read_text()))


if __name__ == "__main__":
    main()
