"""Tables of the docs are those of the stored results."""

import pytest

from benchmarks.learning_tables import (
    BLOCK,
    BLOCKS,
    PAGES,
    ROOT,
    filled,
    first_eighth,
    networks,
    stored,
    two,
)
from sads.networks.presets import PRESETS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_generated_tables_are_up_to_date(page):
    text = page.read_text(encoding="utf-8")
    names = [match[1] for match in BLOCK.findall(text)]
    assert names
    assert set(names) <= set(BLOCKS)
    assert filled(text) == text, "run python benchmarks/learning_tables.py"


def test_every_preset_is_in_the_table_of_the_tangent_kernel():
    (page,) = (page for page in PAGES if page.stem == "tangent-kernel")
    rows = [line for line in page.read_text().splitlines() if line.startswith("| `")]
    assert {line.split("`")[1] for line in rows} == set(PRESETS)


def test_every_case_below_its_bar_is_named():
    text = BLOCKS["forecast-failures"]()
    assert text.count("`vit`") == 3  # all that fail early
    for name in ("`cnn`", "`dit-2,patch=1,depth=2`", "`diffusers:unet2d.json`"):
        assert name in text


def test_more_error_is_left_along_the_largest_eigenvalues():
    """The sentence of the page about its last column, for networks that see the timestep."""
    blind = {"iddpm-16", "iddpm-16,resampling=area", "mlp"}
    ratios = [first_eighth(name) for name in networks() if name not in blind]
    assert 2.5 <= min(ratios) <= max(ratios) <= 14


def _summary(basis, outcome, forecast, data):
    rows = stored("forecast-validation")["summary"]
    key = (basis, outcome, forecast, data)
    (row,) = (r for r in rows if (r["basis"], r["outcome"], r["forecast"], r["data"]) == key)
    return two(row["median"]), f"{row['at_bar']} of {row['with_order']}"


def test_prose_states_what_was_measured():
    """README, explanation, tutorial and learning.md quote medians and counts of the validation."""
    drift, right = _summary("eigenvectors", "early", "drift", "all")
    cosines, less = _summary("cosines", "early", "drift", "all")
    pilot = _summary("cosines", "early", "pilot", "all")[1]
    minus, _ = _summary("eigenvectors", "early", "minus G", "all")
    turned, _ = _summary("cosines", "early", "minus G", "all")
    late, _ = _summary("eigenvectors", "late", "G", "isotropic")
    fixed, at_bar = _summary("cosines", "late", "G", "isotropic")
    moments = [_summary("eigenvectors", "late", "G", data)[0] for data in ("digits", "mnist")]
    quoted = {
        "README.md": [f"right in {right} cases", f"along cosines in {less}", f"steps: {pilot})"],
        "docs/explanation.md": [f"{minus} of what", f"({turned})", f"tells it: {drift} along",
                                f"{cosines} along cosines", f"median of {late}", f"({fixed} along",
                                " and ".join(moments)],
        "docs/tutorial.md": [f"right in {right} cases", f"made, in {less}"],
        "docs/learning.md": [" and ".join(moments)],
    }  # fmt: skip
    for page, parts in quoted.items():
        text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        assert [part for part in parts if part not in text] == [], page
    assert at_bar == "7 of 9"  # spelled out in learning.md


def test_the_reasons_of_late_failures_are_those_of_the_page():
    """Beyond the first eighth three networks have hardly an order; the CNN has one."""
    rows = [line.split(" | ") for line in BLOCKS["forecast-reasons"]().splitlines()[2:]]
    agree = {row[0].strip("| `"): float(row[4]) for row in rows}
    spread = {row[0].strip("| `"): float(row[3].split()[0]) for row in rows}
    for name in ("iddpm-16,groups=8", "dit-2,patch=1,depth=2", "diffusers:unet2d.json"):
        assert agree[name] < 0.5
        assert spread[name] < 15
    assert agree["cnn"] > 0.5
    assert set(agree) - {"cnn"} == {
        "iddpm-16,groups=8", "dit-2,patch=1,depth=2", "diffusers:unet2d.json",
        "diffusers:transformer2d.json",
    }  # fmt: skip
