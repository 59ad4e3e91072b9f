"""The pages of results say what the rows say, and each has what a reader expects of it."""

import re
from pathlib import Path

import pytest

from benchmarks import results
from benchmarks.pages import held_out
from benchmarks.pages.markdown import badge

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "results").glob("*.md"))


def test_no_page_is_stale():
    late = [page.name for page in results.stale()]
    assert not late, f"{late} differ from their rows: make results"


def test_commands_say_what_the_rows_say():
    assert not results.stale_measurements(), "make results"


def test_a_changed_number_is_seen():
    page = (ROOT / "docs" / "results" / "scale.md").read_text()
    assert results.rebuilt(page) == page
    changed = page.replace("| naive loop | 3", "| naive loop | 9")
    assert changed != page
    assert results.rebuilt(changed) == page


def test_every_block_is_known_and_used():
    told = {
        name
        for page in results.pages()
        for name in re.findall(r"<!-- generated: ([\w-]+) -->", page.read_text())
    }
    assert told == results.TABLES.keys()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_measured_number_is_typed_into_a_table(page):
    """Tables beside the generated ones explain; they have no cell that is a measurement."""
    typed = results.BLOCK.sub("", page.read_text())
    cells = [
        cell for line in typed.splitlines() if line.startswith("|") for cell in line.split("|")
    ]
    assert not [cell for cell in cells if re.match(r"\s*[-+*]*\d[\d.,]*(e-?\d+)?\b", cell)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_one_that_is_read_to_the_end(page):
    """A question, an answer, one figure, a generated table, the protocol folded; some 600 words."""
    text = page.read_text()
    before = text.partition("<details")[0]
    assert re.match(r"# .+\?\n", text)
    assert "**" in before
    assert before.count("![") == 1
    assert "<!-- generated: " in before
    assert "<summary>" in text
    assert text.count("<details markdown>") == text.count("</details>")
    assert len(re.sub(r"<!-- generated.*?<!-- end -->", "", before, flags=re.DOTALL).split()) < 750


@pytest.mark.parametrize(
    ("holds", "interval", "value", "word"),
    [
        (True, (0.1, 0.3), 0.2, "**holds**"),
        (False, (-0.3, -0.1), -0.2, "**reversed**"),
        (False, (0.1, 0.3), 0.2, "**fails**"),  # above zero, below a bar
        (None, (-0.1, 0.3), 0.1, "open"),
        (False, None, -1.0, "**reversed**"),
    ],
)
def test_badges(holds, interval, value, word):
    assert badge(holds, interval, value) == word


def test_committed_rows_name_no_machine():
    for table in (ROOT / "docs" / "results").glob("claims-*.csv"):
        assert not re.search(r"/(work|home|tmp|root)/", table.read_text())


def test_the_held_out_loss_of_a_group_of_bands_is_that_of_its_directions(tmp_path, monkeypatch):
    """By seed and group per direction, not per band; differences are paired."""
    header = "id,network,data,rotation,iterations,seed,directions,width,loss,error"
    lines = [header]
    for seed in (0, 1):
        for rotation, shift in (("identity", 0.0), ("random", 0.5)):
            for band in range(16):
                loss = (1 + seed + band * shift) * (band + 1)  # the sum over a band's directions
                lines.append(
                    f"{rotation}{seed},net,npy:x,{rotation},400,{seed},b{band},{band + 1},{loss},0"
                )
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(held_out, "FILE", tmp_path / "rows.csv")
    expected = sum(0.5 * band * (band + 1) for band in (1, 2, 3, 4)) / (2 + 3 + 4 + 5)
    _, _, plain, turned = held_out.held_out_loss()
    assert plain.startswith("| `net` | CIFAR-10 in grey, 400 steps | identity | 1.5 ")
    assert "| random | 1.5 " in turned
    assert f"; {expected:.3g}" in turned.split(" | ")[4]
