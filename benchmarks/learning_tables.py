"""The tables of docs/learning.md and docs/tangent-kernel.md, from the stored results.

    python benchmarks/learning_tables.py [--check]

A page holds the lines `<!-- generated: NAME -->` and `<!-- end -->`; what stands between them is
written here. `--check` writes nothing and fails where a page is out of date; a test does the same.
"""

import csv
import itertools
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from sads.learning.agreement import halves_agreement
from sads.networks.presets import PRESETS
from sads.statistics.ranks import rank_correlation

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PACKAGE = ROOT / "docs" / "results", ROOT / "src" / "sads"
PAGES = (ROOT / "docs" / "learning.md", ROOT / "docs" / "tangent-kernel.md")
BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
DATASETS = ("isotropic", "digits", "mnist")
JUDGED = "eigenvectors"
EIGHTHS = 8
LATER = 8  # steps

Row = Mapping[str, Any]
Values = Float[np.ndarray, "..."]


def stored(name: str) -> Any:
    """A JSON file of the results."""
    return json.loads((RESULTS / f"{name}.json").read_text())


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def short(network: str) -> str:
    """A network without the directory of its file."""
    return "`" + network.replace("benchmarks/diffusers/", "") + "`"


def two(value: float | None) -> str:
    """A number with two decimals, or none."""
    return "none" if value is None else f"{value:.2f}"


def pairs(outcome: str, forecast: str, basis: str = JUDGED) -> dict[tuple[str, str], Row]:
    """Network and dataset to how a forecast did."""
    key = (basis, outcome, forecast)
    return {
        (p["network"], p["data"]): p
        for p in stored("forecast-validation")["pairs"]
        if (p["basis"], p["outcome"], p["forecast"]) == key
    }


def networks() -> list[str]:
    """Of the pool, in its order."""
    return list(dict.fromkeys(name for name, _ in pairs("early", "drift")))


def ordered(row: Row) -> bool:
    """Whether halves of the seeds agree on an order."""
    return row["agreement"] is not None and row["agreement"] >= 0.5


def bars() -> str:
    """Medians against the registered bars, and beside them what was recorded."""
    known = stored("forecast-validation")["summary"]
    judged = {("early", "drift", "all"), ("late", "G", "isotropic"), ("late", "noise", "isotropic")}
    rows = []
    for r in known:
        key = (r["outcome"], r["forecast"], r["data"])
        wanted = r["data"] == ("all" if r["outcome"] == "early" else "isotropic")
        if r["basis"] != JUDGED or not wanted or r["median"] is None:
            continue
        reached = "recorded"
        if key in judged:
            reached = "**reached**" if r["median"] >= r["bar"] else "**missed**"
        interval = f"{two(r['median'])} ({two(r['low'])} to {two(r['high'])})"
        count = f"{r['at_bar']} of {r['with_order']}"
        rows.append([r["outcome"], r["forecast"], r["data"], interval, count, f"{r['bar']}"])
        rows[-1].append(reached)
    header = ["outcome", "forecast", "data", "median of Spearman / ceiling (95 %)", "at the bar"]
    return table([*header, "bar", ""], rows)


def along_cosines() -> str:
    """Medians along cosines, which were recorded and not judged."""
    names = {"early": ("drift", "pilot", "minus G"), "late": ("G", "noise", "K", "pilot")}
    rows = []
    for r in stored("forecast-validation")["summary"]:
        wanted = r["data"] == ("all" if r["outcome"] == "early" else "isotropic")
        if r["basis"] == JUDGED or not wanted or r["forecast"] not in names[r["outcome"]]:
            continue
        interval = f"{two(r['median'])} ({two(r['low'])} to {two(r['high'])})"
        count = f"{r['at_bar']} of {r['with_order']}"
        rows.append([r["outcome"], r["forecast"], r["data"], interval, count])
    header = ["outcome", "forecast", "data", "median of Spearman / ceiling (95 %)"]
    return table([*header, "at the bar"], rows)


def halves() -> str:
    """Whether drift tells more than the first step itself, where half is learned much later."""
    own = [p for p in pairs("early", "drift").values() if ordered(p)]
    lines = []
    for said, part in (
        (f"after {LATER} steps or more", [p for p in own if p["half_step"] >= LATER]),
        ("earlier", [p for p in own if p["half_step"] < LATER]),
    ):
        median = np.median([p["ratio"] for p in part])
        right = sum(p["ratio"] >= 0.85 for p in part)
        lines.append(
            f"- half learned {said}: median {median:.2f} of the ceiling, {right} of {len(part)} at "
            "the bar."
        )
    return "\n".join(lines)


def early() -> str:
    """The forecast of the first step, architecture by architecture."""
    differences = pairs("early", "drift")
    rows = []
    for name in networks():
        cells = []
        for data in DATASETS:
            p = differences[name, data]
            told = f"{two(p['ratio'])} ({two(p['spearman'])})"
            cells.append(told if ordered(p) else f"no order ({two(p['agreement'])})")
        rows.append([short(name), *cells, f"{differences[name, 'isotropic']['half_step']:.1f}"])
    return table(["network", *DATASETS, "half learned at step"], rows)


def conjecture() -> str:
    """Minus the eigenvalue against the order of learning."""
    differences, cosines = pairs("early", "minus G"), pairs("early", "minus G", "cosines")
    rows = []
    for name in networks():
        cells = [differences[name, data] for data in DATASETS] + [cosines[name, DATASETS[0]]]
        told = [two(p["spearman"]) if ordered(p) else "no order" for p in cells]
        if any(p["spearman"] is None for p in cells):
            told = ["G is isotropic"] * len(cells)
        rows.append([short(name), *told])
    return table(["network", *DATASETS, "isotropic, along cosines"], rows)


def isotropic_rows(name: str, network: str) -> list[dict[str, str]]:
    """Rows of a table of the validation, of one network along its eigenvectors."""
    with (RESULTS / f"{name}.csv").open(newline="") as file:
        key = ("isotropic", network, JUDGED)
        return [r for r in csv.DictReader(file) if (r["data"], r["network"], r["basis"]) == key]


def numbers(text: str) -> Values:
    """Numbers of one field."""
    return np.array(text.split(), dtype=float)


def late_risks(network: str) -> Values:
    """The risk left by seed and eigenvector, which stand in descending order."""
    return np.stack(
        [numbers(r["risk_late"]) for r in isotropic_rows("forecast-validation", network)]
    )


def first_eighth(network: str) -> float:
    """Risk left along the eighth of largest eigenvalues over its mean along the others."""
    risk = late_risks(network).mean(axis=0)
    cut = len(risk) // EIGHTHS
    return float(risk[:cut].mean() / risk[cut:].mean())


def reasons() -> str:
    """What is left to order beyond the first eighth, where G or noise fails."""
    told = {name: pairs("late", name) for name in ("G", "noise")}
    rows = []
    for name in networks():
        own = [told[f][name, "isotropic"] for f in told]
        if not ordered(own[0]) or all((p["ratio"] or 0.0) >= 0.8 for p in own):
            continue
        risks = late_risks(name)
        rest = risks[:, risks.shape[1] // EIGHTHS :]
        mean = rest.mean(axis=0)
        known = {
            r["forecast"]: numbers(r["values"])[-len(mean) :]
            for r in isotropic_rows("forecast-validation-forecasts", name)
        }
        cells = [two(p["ratio"]) for p in own]
        cells += [f"{100 * mean.std() / mean.mean():.0f} %", two(halves_agreement(rest))]
        cells += [two(rank_correlation(known[f], mean)) for f in ("G", "noise", "K")]
        rows.append([short(name), *cells])
    header = ["network", "G", "noise", "others: spread of the risk", "halves agree"]
    return table([*header, "G there", "noise there", "K there"], rows)


def late() -> str:
    """G, noise and a pilot against the risk left on isotropic data."""
    found = {name: pairs("late", name) for name in ("G", "noise", "pilot")}
    cosines = pairs("late", "G", "cosines")
    rows = []
    for name in networks():
        key = (name, "isotropic")
        own = found["G"][key]
        agreement = two(own["agreement"])
        cells = [two(found[f][key]["ratio"]) for f in found] if ordered(own) else ["no order"] * 3
        beside = two(cosines[key]["ratio"]) if ordered(cosines[key]) else "no order"
        rows.append([short(name), agreement, *cells, beside, f"{first_eighth(name):.2f}"])
    header = ["network", "halves agree", "G", "noise", "pilot", "G along cosines"]
    return table([*header, "risk, first eighth / others"], rows)


def failures() -> str:
    """Every pair with an order whose own ratio is below its bar."""
    lines = []
    for outcome, forecast, bar in (
        ("early", "drift", 0.85),
        ("late", "G", 0.8),
        ("late", "noise", 0.8),
    ):
        own = pairs(outcome, forecast)
        shown = DATASETS if outcome == "early" else ("isotropic",)
        named = [
            f"{short(name)} on {data} ({two(own[name, data]['ratio'])})"
            for name in networks() for data in shown
            if ordered(own[name, data]) and (own[name, data]["ratio"] or 0.0) < bar
        ]  # fmt: skip
        lines.append(f"- {outcome}, {forecast}, below {bar}: {', '.join(named) or 'none'}.")
    return "\n".join(lines)


def ranking() -> str:
    """How the pilot's order compared with what its networks came to."""
    known = json.loads((PACKAGE / "ranking" / "validity.json").read_text())
    rows = []
    for r in known:
        if r["score"].startswith("pilot") or r["score"] in ("parameters", "synflow", "jacobian"):
            low, high = r["interval"]
            rows.append([r["score"], r["dataset"], r.get("pool", "first"), str(r["architectures"])])
            rows[-1] += [f"{r['spearman']:+.2f} ({low:+.2f} to {high:+.2f})", f"{r['p_value']:.2g}"]
    header = ["order by", "data", "pool", "networks", "Spearman with SW2 (95 %)", "p"]
    return table(header, rows)


def pilot_cost() -> str:
    """Training steps of the pilots over those of the trainings that they foretell."""
    lines = []
    for pool, name in (("ranking", "first"), ("ranking-second", "second")):
        place = RESULTS / f"{pool}-pilot.csv"
        if not place.exists():
            continue
        with place.open(newline="") as file:
            own = [
                r for r in csv.DictReader(file) if (r["dataset"], r["by"]) == ("digits", "constant")
            ]
        steps = 4 * sum(int(r["steps"]) for r in own)
        whole = 3 * 400 * len(own)
        lines.append(
            f"- {name} pool: {steps:,} steps, four seeds, against {whole:,} of the trainings, "
            f"three seeds of 400 steps each: {steps / whole:.3f}."
        )
    return "\n".join(lines)


def costs() -> str:
    """What forecasts and risks take, against what they should."""
    known = stored("forecast-benchmark")
    said = {
        "spearman": "Spearman of the drift with figure A's learned share after 10 steps, iddpm-16",
        "seconds_1x8x8": "processor seconds, 32 networks of iddpm-16 at 1x8x8",
        "seconds_1x16x16": "the same at 1x16x16",
        "pair_over_gradient": "a gradient and a product over a plain gradient",
        "risk_seconds": "processor seconds of a trial's risk at D = 256, after 300 steps",
        "risk_total_error": "relative error of its total",
        "risk_along_error": "of the part along the data",
        "risk_nats_error": "of the nats",
        "pilot_over_training": "processor time of a ranking's pilot over that of its trainings",
    }
    rows = []
    for name, words in said.items():
        bar, value = known["bars"][name], known[name]
        least = name == "spearman"
        good = value >= bar if least else value <= bar
        wanted = f"at least {bar}" if least else f"at most {bar}"
        rows.append([words, f"{value:.3g}", wanted, "reached" if good else "**missed**"])
    return table(["", "measured", "bar", ""], rows)


def similarity() -> str:
    """How similar the eigenbases of G and K are, preset by preset."""
    known = {(r["network"], r["probe"]): r for r in stored("tangent-kernel")}
    rows = []
    for key in itertools.product(PRESETS, ("zero", "gaussian:1")):
        r = known.get(key, {"network": key[0], "probe": key[1], "reason": "not measured yet"})
        head = [f"`{r['network']}`", r.get("shape", ""), f"`{r['probe']}`"]
        names = ("first", "leading", "all", "ceiling", "baseline", "order")
        if r.get("first") is None:
            reason = r.get("reason", "G is isotropic")
            reason = "no geometry there" if key in known and "reason" in r else reason
            rows.append([*head, reason, *[""] * (len(names) + 1)])
        else:
            rows.append([*head, *(two(r[n]) for n in (*names, "error")), str(r["networks"])])
    header = ["network", "shape", "probe", "first", "first eight", "all", "K with K", "by chance"]
    return table([*header, "order", "error of K", "networks"], rows)


BLOCKS: dict[str, Callable[[], str]] = {
    "forecast-bars": bars,
    "forecast-early": early,
    "forecast-halves": halves,
    "forecast-cosines": along_cosines,
    "forecast-conjecture": conjecture,
    "forecast-late": late,
    "forecast-failures": failures,
    "forecast-reasons": reasons,
    "forecast-costs": costs,
    "ranking-pools": ranking,
    "ranking-cost": pilot_cost,
    "tangent-similarity": similarity,
}


def filled(text: str) -> str:
    """A page with its generated blocks made anew; blocks of other names are left alone."""

    def block(found: re.Match[str]) -> str:
        made = BLOCKS.get(found[2])
        return found[0] if made is None else f"{found[1]}{made()}\n{found[3]}"

    return BLOCK.sub(block, text)


def main() -> None:
    stale = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        new = filled(text)
        if new != text:
            stale.append(page.name)
            if "--check" not in sys.argv:
                page.write_text(new, encoding="utf-8")
    if stale:
        print(f"{'out of date' if '--check' in sys.argv else 'written'}: {', '.join(stale)}")
    sys.exit("--check" in sys.argv and bool(stale))


if __name__ == "__main__":
    main()
