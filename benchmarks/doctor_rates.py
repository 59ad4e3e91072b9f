"""How often each finding of the doctor appears, over networks that are not broken.

    python -m benchmarks.doctor_rates [GROUP...]     # examine groups: zoo, well-known, diffusers
    python -m benchmarks.doctor_rates --table        # write the table of what is recorded

The zoo are the small foreign networks of the tests, of which none has a defect; the well-known ones
are small versions of published architectures; those of diffusers come from the configurations in
`examples/diffusers`; those of the atlas are read from its rows. The record is
`docs/results/doctor-rates.json`, the table a part of `docs/doctor.md`. A network that is recorded
already is left out, so the work may be interrupted.
"""

import json
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import sads
from benchmarks.diffusers_classes import CONFIGURATIONS, names
from sads.atlas import load_rows
from sads.doctor.finding import SEVERITIES
from sads.doctor.worth import Worth, worth_of
from sads.storage.files import atomic_write, write_bytes
from tests.doctor.well_known import CONFIGURATIONS as SMALL
from tests.doctor.well_known import FACTORIES, well_known
from tests.zoo.foreign import SUBJECTS

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "docs" / "results" / "doctor-rates.json"
PAGE = ROOT / "docs" / "doctor.md"
ATLAS = "atlas"  # the group whose findings are in its rows
BEGIN, END = "<!-- table of rates: generated -->", "<!-- end of the table -->"
NETWORKS = 48
Record = dict[str, dict[str, dict[str, str]]]


def zoo() -> Iterator[tuple[str, Any]]:
    """The small foreign networks, by name."""
    for subject in SUBJECTS:
        yield subject.factory, subject.family


def published() -> Iterator[tuple[str, Any]]:
    """Small versions of well-known networks, by name."""
    for name in (*FACTORIES, *SMALL):
        with tempfile.TemporaryDirectory() as place:
            yield name, well_known(name, Path(place))


def of_diffusers() -> Iterator[tuple[str, Any]]:
    """The configurations, by name."""
    for name in names():
        yield name, sads.network(f"diffusers:{CONFIGURATIONS / name}.json")


GROUPS: dict[str, Callable[[], Iterator[tuple[str, Any]]]] = {
    "zoo": zoo,
    "well-known": published,
    "diffusers": of_diffusers,
}


def of_atlas() -> dict[str, dict[str, str]]:
    """Severity of each finding by its code, of every architecture in the atlas, by name."""
    return {
        row.name: {one["code"]: one["severity"] for one in row.findings}
        for row in load_rows(ROOT / "docs" / "atlas")
        if row.examined
    }


def said_of(family: Any) -> dict[str, str]:
    """Severity of each finding, by its code."""
    found = sads.diagnose(family, networks=NETWORKS).findings
    return {one.code: one.severity for one in found}


def table(record: Record) -> str:
    """How many networks of each group have a finding, as a table in Markdown."""
    groups = [group for group in (*GROUPS, ATLAS) if group in record]
    counts = {
        group: Counter(code for one in record[group].values() for code in one) for group in groups
    }
    said = [item for group in groups for one in record[group].values() for item in one.items()]
    worst = dict(sorted(said, key=lambda item: -SEVERITIES.index(item[1])))  # the last one stays
    total = Counter[str]()
    for found in counts.values():
        total.update(found)
    of_each = (f"{group}, of {len(record[group])}" for group in groups)
    head = ["finding", "severity", *of_each, "remedies that lowered SW2"]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for code, _ in sorted(total.items(), key=lambda item: (-item[1], item[0])):
        cells = [f"`{code}`", worst[code], *(str(counts[group][code]) for group in groups)]
        cells.append(cost(worth_of(code)))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def cost(tried: Sequence[Worth]) -> str:
    """What trainings say about a finding: how many of its remedies helped, by network."""
    if not tried:
        return "not trained"
    by_network: dict[str, list[Worth]] = {}
    for one in tried:
        by_network.setdefault(one.network, []).append(one)
    return "; ".join(
        f"`{network}`: {sum(one.verdict == 'worth it' for one in rows)} of {len(rows)}"
        for network, rows in by_network.items()
    )


def page_with(text: str, page: str) -> str:
    """A page with a text between the marks."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}"


def read_record() -> Record:
    """What is recorded so far."""
    return json.loads(RECORD.read_text()) if RECORD.is_file() else {}


def keep(record: Record) -> None:
    """Write the record."""
    text = json.dumps(record, indent=1, sort_keys=True) + "\n"
    atomic_write(RECORD, write_bytes(text.encode()))


def main() -> None:
    """Examine what is not recorded yet, and write record and table."""
    warnings.simplefilter("ignore", FutureWarning)
    chosen = [] if "--table" in sys.argv else (sys.argv[1:] or list(GROUPS))
    for group in chosen:
        for name, family in GROUPS[group]():
            record = read_record()
            if name in record.get(group, {}):
                continue
            record.setdefault(group, {})[name] = said_of(family)
            print(group, name, record[group][name], flush=True)
            keep(record)
    keep(read_record() | {ATLAS: of_atlas()})
    PAGE.write_text(page_with(table(read_record()), PAGE.read_text()))


if __name__ == "__main__":
    main()
