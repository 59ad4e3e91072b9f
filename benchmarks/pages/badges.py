"""One line for each question: what is decided, and how."""

from collections import Counter

from sads.alignment.measured_rotations import SEES_TIME, TIME_BLIND, outcomes
from sads.figures.catalogue import experiment
from sads.figures.stored_experiments import WORDS
from sads.statistics.shapes import LEAST_SEEDS

from .held_out import ratios
from .markdown import Lines, badge, counts, overall
from .registered import order_word, reading


def badge_order() -> Lines:
    """The conjecture's order: all directions at once, and one at a time."""
    orders = [row for row in reading("G").rows if row["quantity"] == "order"]
    together, alone = Counter[str](), Counter[str]()
    for row in orders:
        if row["data"] != "rank-one":
            together[order_word(row)] += 1
        elif row["measure"] == WORDS["risk"]:
            alone[order_word(row)] += 1
    seeds = [row["seeds"] for row in orders if row["data"] == "rank-one"]
    known = f"; the fewest whole seeds of an architecture: {min(seeds)} of 5" if seeds else ""
    return [
        f"Badge, all directions at once: **{overall(together)}** ({counts(together)} of "
        f"{together.total()} pairs of architecture and data). One direction at a time, risk: "
        f"**{overall(alone)}** ({counts(alone)} of {alone.total()} architectures{known})."
    ]


def badge_first() -> Lines:
    """The mechanism: each finding in a word."""
    found = experiment("E").verdict(reading("E").rows)
    words = [f"{one.claim}: {badge(one.holds, one.interval, one.value)}" for one in found]
    seeds = len({row["seed"] for row in reading("E").rows})
    done = f"{reading('E').protocol['trials']} of 120 registered trainings"
    return [f"Badges ({done}, seeds begun {seeds} of 5): " + "; ".join(words) + "."]


def badge_rotations() -> Lines:
    """What rotations did, as the commands count it: a run is a dataset with a budget."""
    asked = (
        ("W_min beats the data as they are (the paper's U-Net)", TIME_BLIND, "min", "identity"),
        ("W_min beats a random rotation (the paper's U-Net)", TIME_BLIND, "min", "random"),
        ("a random rotation helps a network that sees the time", SEES_TIME, "random", "identity"),
    )
    words = {"better": "holds", "worse": "reversed", "open": "open"}
    lines = []
    for claim, network, one, other in asked:
        seen = outcomes(network, one, other)
        each = Counter({words[word]: count for word, count in seen.items()})
        lines.append(f"{claim}: **{overall(each)}** ({counts(each)} of {each.total()} runs)")
    lines.append(_price())
    return [f"Badges, five seeds: {'; '.join(lines)}."]


def _price() -> str:
    """Whether a random rotation costs loss beyond the mean, where the network sees the time."""
    each = Counter[str]()
    for (network, _, _, rotation), cells in ratios():
        if rotation == "random" and network != TIME_BLIND:
            for _, interval, seeds in cells[1:]:
                enough = interval is not None and seeds >= LEAST_SEEDS
                low, high = interval if enough and interval is not None else (0.0, 2.0)
                each["holds" if low > 1 else "reversed" if high < 1 else "open"] += 1
    return (
        f"there it costs held-out loss at low, middle and high frequencies: **{overall(each)}** "
        f"({counts(each)} of {each.total()})"
    )


def badge_architecture() -> Lines:
    """Scores rest on three seeds; forecasts of directions have verdicts of their own."""
    drift = experiment("F").verdict(reading("F").rows)[0]
    word = badge(drift.holds, drift.interval, drift.value)
    return [
        "Badges: a score of untrained networks tells the better architecture: open (3 seeds, "
        f"reversed in sign on both datasets); {drift.claim}: {word}."
    ]
