"""Tables of the docs are those of the stored results."""

import pytest

from benchmarks.learning_tables import BLOCK, BLOCKS, PAGES, filled, first_eighth, networks
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
