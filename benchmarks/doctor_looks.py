"""How often the doctor's two looks say something wrong, on geometries whose truth is known.

    python -m benchmarks.doctor_looks [--draws 400]   # simulate what is missing, and write
    python -m benchmarks.doctor_looks --table         # write the table of what is recorded

Every draw is a pair of synthetic geometries of 1x6x6, sample moments of Gaussian vectors, eight for
each network, so that 768 networks have a whitened error of 0.08. The doctor's own three checks that
look twice are asked with a truth that is planted: none of what they look for, some near their
limits, and much of it. They are asked with a first look at 72 networks and, where it decides
nothing, with 768 others, and once with these 768 alone. The record is
`docs/results/doctor-looks.json`, the table a part of `docs/doctor.md`.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import root_scalar
from scipy.stats import beta

import sads
from benchmarks.doctor_rates import PAGE, RECORD
from sads.directions import FOLDS
from sads.directions.reflections import reflections
from sads.doctor.diagnosis import FIRST, NETWORKS
from sads.doctor.finding import Finding, Undecided
from sads.doctor.findings.borders import asymmetric
from sads.doctor.findings.probe_sensitivity import probe_sensitive
from sads.doctor.findings.spectrum import LOWEST, low_frequency_heavy, low_frequency_share
from sads.doctor.patient import Examined, Patient, admit
from sads.geometry import Geometry
from sads.geometry.running_sums import State
from sads.inspection.readout import Sampled
from sads.randomness import stream
from sads.storage.files import atomic_write, write_bytes
from tests.comparison.synthetic import exact, plan_of

LOOKS = RECORD.with_name("doctor-looks.json")
BEGIN, END = "<!-- table of looks: generated -->", "<!-- end of the looks -->"
SHAPE, SHOWN = (1, 6, 6), 8  # vectors that one network shows
LEVEL = 0.95  # of the upper limit of a rate that was never seen
Factor = np.ndarray
Check = Callable[[Examined], Iterator[Finding]]


def sampled(factor: Factor, networks: int, rng: np.random.Generator) -> Geometry:
    """The geometry of so many networks whose truth is `factor`."""
    root = np.linalg.cholesky(factor)
    draws = rng.standard_normal((FOLDS, SHOWN * networks // FOLDS, len(factor))) @ root.T
    counts = np.full(FOLDS, networks // FOLDS)
    state = State.of(draws.transpose(0, 2, 1) @ draws / SHOWN, counts)
    return Geometry(plan_of(Sampled(SHAPE)), state)


@cache
def waves() -> np.ndarray:
    """The cosines of the shape, a row each, from low to high frequencies."""
    size = SHAPE[1]
    k = np.arange(size)
    cosines = np.cos(np.pi * (k + 0.5) * k[:, None] / size)
    cosines /= np.linalg.norm(cosines, axis=1, keepdims=True)
    order = np.add.outer(k**2, k**2).argsort(axis=None, kind="stable")
    return np.kron(cosines, cosines)[order]


@cache
def plain() -> Factor:
    """Alike on both sides, with eigenvalues from 20 to 1 that fall with the frequency."""
    return waves().T * np.geomspace(20, 1, len(waves())) @ waves()


def lopsided(size: float) -> Factor:
    """The plain one, changed by a flip by so much of its norm."""
    flip = reflections(Sampled(SHAPE).structure, "flip")[0]
    change = stream(0, "simulation of looks: a change").standard_normal(plain().shape)
    change = change + change.T
    change = (change - flip.turned(change)) / 2
    return plain() + size / 2 * np.linalg.norm(plain()) / np.linalg.norm(change) * change


def moved(distance: float) -> Factor:
    """The plain one with other scales, which differ by about so much for each direction."""
    scales = stream(0, "simulation of looks: scales").standard_normal(len(plain()))
    scales = np.exp(distance * (scales - scales.mean()) / scales.std())
    root = np.linalg.cholesky(plain())
    return root * scales @ root.T


def smooth(share: float) -> Factor:
    """The plain one with so much of its trace on the lowest tenth, as the doctor measures it."""

    def excess(logarithm: float) -> float:
        return _measured(_raised(logarithm)) - share

    return _raised(root_scalar(excess, bracket=(-5.0, 5.0)).root)


def _raised(logarithm: float) -> Factor:
    """The plain one with its lowest tenth multiplied by exp(logarithm)."""
    values = np.geomspace(20, 1, len(waves()))
    values[: round(LOWEST * len(values))] *= np.exp(logarithm)
    return waves().T * values @ waves()


def _measured(factor: Factor) -> float:
    return low_frequency_share(exact(factor, readout=Sampled(SHAPE)))[0]


def patient_of(zero: Geometry, gaussian: Geometry, *, looks: int, part: float) -> Examined:
    """The same small network with the geometries at hand."""
    known = {own.name: getattr(_anybody(), own.name) for own in fields(Patient)}
    return Examined(**known, zero=zero, gaussian=gaussian, looks=looks, part=part)


@cache
def _anybody() -> Patient:
    return admit(sads.network("cnn,width=4", shape=SHAPE))


def said(check: Check, zero: Factor, gaussian: Factor, rng: np.random.Generator) -> list[bool]:
    """Whether a first look decided, what it said, and what all networks say without and with it."""
    first, every = ([sampled(f, n, rng) for f in (zero, gaussian)] for n in (FIRST, NETWORKS))
    alone = bool(list(check(patient_of(*every, looks=1, part=1.0))))
    try:
        early = bool(list(check(patient_of(*first, looks=2, part=FIRST / NETWORKS))))
    except Undecided:
        return [False, False, alone, bool(list(check(patient_of(*every, looks=2, part=1.0))))]
    return [True, early, alone, early]


#: What is planted, by check: its name, the truth at x = 0 and at Gaussian inputs.
CASES: dict[str, tuple[Check, list[tuple[str, Callable[[], tuple[Factor, Factor]]]]]] = {
    "asymmetric": (
        asymmetric,
        [(f"{s:.0%}", lambda s=s: (lopsided(s), plain())) for s in (0, 0.01, 0.03, 0.1, 0.3)],
    ),
    "probe-sensitive": (
        probe_sensitive,
        [(f"{d:.2g}", lambda d=d: (moved(d), plain())) for d in (0, 0.1, 0.25, 0.35, 0.6)],
    ),
    "low-frequency-heavy": (
        low_frequency_heavy,
        [
            (f"{s:.0%}", lambda s=s: (smooth(s), plain()))
            for s in (0.3, 0.45, 0.49, 0.5, 0.51, 0.55)
        ],
    ),
}


def simulated(draws: int, known: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """A row for each check and truth; some may be known from as many draws."""
    there = {(row["finding"], row["truth"], row["draws"]): row for row in known}
    for code, (check, cases) in CASES.items():
        for truth, factors in cases:
            if (code, truth, draws) in there:
                yield there[code, truth, draws]
                continue
            rng = stream(0, f"simulation of looks: {code}, {truth}")
            outcomes = np.array([said(check, *factors(), rng) for _ in range(draws)])
            ended, early, alone, both = outcomes.T
            yield {
                "finding": code,
                "truth": truth,
                "draws": draws,
                "ended early": int(ended.sum()),
                "said by all networks alone": int(alone.sum()),
                "said with two looks": int(both.sum()),
                "ended early with another answer": int((ended & (early != alone)).sum()),
            }


def table(rows: list[dict[str, Any]]) -> str:
    """The record as a table, rates with the upper limit of those that were never seen."""
    counted = [name for name in rows[0] if name not in ("finding", "truth", "draws")]
    lines = ["| finding | planted | " + " | ".join(counted) + " |", "|" + " --- |" * 6]
    for row in rows:
        rates = (_rate(row[name], row["draws"]) for name in counted)
        lines.append(f"| `{row['finding']}` | {row['truth']} | {' | '.join(rates)} |")
    return "\n".join(lines)


def _rate(count: int, draws: int) -> str:
    if count:
        return f"{count / draws:.1%}"
    return f"0 (< {beta.ppf(LEVEL, 1, draws):.1%})"


def read_looks() -> list[dict[str, Any]]:
    """What was simulated."""
    return json.loads(LOOKS.read_text())


def page_with(made: str, page: str) -> str:
    """A page with the table between its marks."""
    before, after = page.index(BEGIN) + len(BEGIN) + 1, page.index(END)
    return page[:before] + made + "\n" + page[after:]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--table", action="store_true")
    arguments = parser.parse_args()
    if not arguments.table:
        rows = []
        for row in simulated(arguments.draws, read_looks() if LOOKS.exists() else []):
            rows.append(row)
            print(json.dumps(row), flush=True)
        atomic_write(LOOKS, write_bytes((json.dumps(rows, indent=1) + "\n").encode()))
    made = page_with(table(read_looks()), PAGE.read_text())
    atomic_write(PAGE, write_bytes(made.encode()))


if __name__ == "__main__":
    main()
