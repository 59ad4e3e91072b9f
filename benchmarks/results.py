"""Rebuild what is generated in the pages of results: tables, badges, drawings.

    python -m benchmarks.results [--check] [--figures]

A block between `<!-- generated: NAME -->` and `<!-- end -->` in `docs/results.md`, in
`docs/doctor.md`, in `docs/well-known.md` and in the pages of `docs/results` is made from the rows
and verdicts in `docs/results` and `docs/atlas`, by the function of that name in `benchmarks.pages`.
What commands say of the doctor's advice and of rotations is made from the same rows and kept in the
package.
`--check` writes nothing and says what is stale, with exit code 1. `--figures` draws the figures
that read rows again.
"""

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.pages import atlas, badges, costs, held_out, paper, registered, remedies, scores
from benchmarks.pages.markdown import ROWS, Lines, table
from sads.alignment.measured_rotations import FILE as ROTATIONS
from sads.alignment.measured_rotations import LOSSES
from sads.doctor.worth import FILE as WORTH
from sads.errors import InputError
from sads.figures import READINGS, make_figure
from sads.figures.catalogue import file_name
from sads.figures.data import Request

DOCS = ROWS.parent
IMAGES = DOCS / "images"
BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def missing(name: str) -> Lines:
    """What stands where an experiment has no rows yet."""
    return [f"*No rows yet*: `sads sweep benchmarks/claims/{name}.toml` makes them. Badge: open."]


def answers() -> Lines:
    """All badges in one place."""
    parts = ("order", "first", "rotations", "architecture")
    names = ("the order", "the first direction", "rotations", "architectures")
    return table(("about", "badges"), zip(names, (block(f"badge-{p}") for p in parts), strict=True))


TABLES: Mapping[str, tuple[str | None, Callable[[], Lines]]] = {
    "architectures": (None, atlas.architectures),
    "claims": (None, paper.claims_of_the_paper),
    "answers": (None, answers),
    "badge-order": ("figure-06", badges.badge_order),
    "badge-first": ("mechanism", badges.badge_first),
    "badge-rotations": (None, badges.badge_rotations),
    "badge-architecture": (None, badges.badge_architecture),
    "figure-6R": ("figure-06", registered.figure_6r),
    "figure-6R-shapes": ("figure-06", registered.figure_6r_shapes),
    "figure-1R": ("figure-01", lambda: registered.findings("1R")),
    "figure-2R": ("figure-02", registered.figure_2r),
    "figure-E": ("mechanism", registered.figure_e),
    "figure-E-square": ("mechanism", registered.figure_e_square),
    "figure-E-findings": ("mechanism", lambda: registered.findings("E")),
    "figure-F": (None, lambda: registered.findings("F")),
    "figure-G": ("figure-06", registered.figure_g),
    "counterexamples": ("figure-06", registered.counterexamples),
    "advice": ("advice", remedies.advice),
    "rotations": (None, remedies.rotations),
    "rotations-revisited": ("rotations", remedies.rotations_revisited),
    "rotations-losses": (None, held_out.held_out_loss),
    "rotations-price": (None, held_out.price_of_rotations),
    "ranking": (None, paper.ranking),
    "scores": (None, scores.scores),
    "ladder": (None, paper.ladder),
    "geometry-costs": (None, costs.geometry_costs),
    "precision": (None, costs.precision),
    "large-models": (None, costs.large_models),
    "distance-costs": (None, costs.distance_costs),
    "training-costs": (None, costs.training_costs),
    "training-metrics": (None, costs.training_metrics),
    "report-costs": (None, costs.report_costs),
}


def block(name: str) -> str:
    """The content of a generated block."""
    needed, make = TABLES[name]
    if needed is not None and not (ROWS / f"claims-{needed}.csv").is_file():
        return "\n".join(missing(needed))
    return "\n".join(make())


def rebuilt(text: str) -> str:
    """A page with its blocks made again."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{block(found[2])}\n\n{found[3]}", text)


def pages() -> list[Path]:
    """All pages of results."""
    names = ("results.md", "doctor.md", "well-known.md")
    return [*(DOCS / name for name in names), *sorted(ROWS.glob("*.md"))]


def stale() -> list[Path]:
    """The pages whose blocks are not what the rows say."""
    return [page for page in pages() if rebuilt(page.read_text()) != page.read_text()]


def draw_figures() -> None:
    """Draw the figures that read rows into the pictures of the documentation."""
    for key in READINGS:
        with tempfile.TemporaryDirectory() as place:
            try:
                make_figure(key, Request("laptop", Path(place), rows=ROWS))
            except InputError as error:
                print(f"figure {key} is left as it is: {error}", file=sys.stderr)
                continue
            shutil.copy(Path(place) / f"{file_name(key)}.png", IMAGES)


#: Files of the package that hold measurements, and what makes each.
PACKAGED: Mapping[Path, Callable[[], str]] = {
    WORTH: remedies.worth_of_advice,
    ROTATIONS: remedies.measured_rotations,
    LOSSES: held_out.losses_under_rotations,
}


def stale_measurements() -> list[Path]:
    """The files of the package that say something else than the rows do."""
    return [path for path, make in PACKAGED.items() if path.read_text() != make()]


def main() -> int:
    """Write the pages, or check them."""
    parser = argparse.ArgumentParser(description="rebuild the pages of results from their rows")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--figures", action="store_true")
    given = parser.parse_args()
    if given.figures:
        draw_figures()
    late = stale_measurements()  # first, since pages say what the package says
    for path in late:
        if not given.check:
            path.write_text(PACKAGED[path]())
    late += stale()
    for path in late:
        print(path.relative_to(DOCS.parent))
        if not given.check and path not in PACKAGED:
            path.write_text(rebuilt(path.read_text()))
    return 1 if given.check and late else 0


if __name__ == "__main__":
    raise SystemExit(main())
