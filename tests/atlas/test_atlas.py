"""The atlas: what a list may say, what is kept, and what the page lets people do."""

import json
from importlib import import_module
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest
from PIL import Image

from sads.atlas import load_atlas, load_rows, survey
from sads.atlas.cells import counted, last_words, lines, total_cost
from sads.atlas.paces import learning_order
from sads.atlas.page import write_index
from sads.atlas.rows import read_row, row_path
from sads.atlas.survey import band_picture
from sads.errors import ArtefactError, InputError
from sads.geometry import load_geometry
from sads.presentation.small_pictures import save_picture
from tests.cli.conftest import sads
from tests.report.browser import INSTALL, executable, launch

__all__ = ["sads"]

TWO = """
[[network]]
name = "Small CNN"
network = "cnn,width=8,depth=1"
shape = "1x4x4"
kind = "CNN"
published = "here"
networks = 24

[[network]]
name = "Small MLP"
network = "mlp,width=8,depth=1"
shape = "1x4x4"
kind = "MLP"
reduced = "all of it"
networks = 24
"""
WELL_KNOWN = Path(__file__).parents[2] / "benchmarks" / "atlas" / "atlas.toml"


@pytest.fixture(scope="module")
def atlas(tmp_path_factory):
    """A list of two networks, and where they were looked at."""
    folder = tmp_path_factory.mktemp("atlas")
    (folder / "list.toml").write_text(TWO)
    entries = load_atlas(folder / "list.toml")
    for entry in entries:
        survey(entry, folder)
    return entries, folder


def test_rows_say_what_a_summary_says(atlas):
    _, out = atlas
    cnn, mlp = load_rows(out)
    assert [cnn.name, mlp.name] == ["Small CNN", "Small MLP"]
    assert cnn.summary["parameters"] == 225
    assert mlp.summary["effective_directions"] == pytest.approx(16)
    assert 1 <= cnn.summary["effective_directions"] < 16
    assert cnn.first is not None
    assert cnn.first.relative > 1
    geometry = load_geometry(out / "work" / "small-cnn" / "geometry")
    first = geometry.spectrum().eigenvalues[cnn.first.first : cnn.first.last + 1].mean()
    assert cnn.first.relative == pytest.approx(first * 16 / geometry.trace)
    assert (out / "reports" / "small-cnn.html").exists()


def test_pictures_do_not_depend_on_the_basis_of_a_band(atlas):
    _, out = atlas
    geometry = load_geometry(out / "work" / "small-mlp" / "geometry")
    [band] = geometry.spectrum().bands
    np.testing.assert_allclose(band_picture(geometry, band), np.ones((4, 4)), atol=1e-9)
    row = read_row(row_path(out, "small-mlp"))
    with Image.open(out / "pictures" / row.first.picture) as picture:
        assert picture.size == (4, 4)


def test_what_is_known_is_not_looked_at_again(atlas, monkeypatch, tmp_path):
    entries, out = atlas
    monkeypatch.setattr(import_module("sads.atlas.survey"), "summarise", None)
    assert survey(entries[0], out) == read_row(row_path(out, "small-cnn"))
    other = entries[0].model_copy(update={"networks": 36})
    copytree(out / "rows", tmp_path / "rows")
    assert "TypeError" in survey(other, tmp_path).failed


def test_a_forecast_of_more_networks_is_made_alone(atlas, monkeypatch, tmp_path):
    entries, out = atlas
    copytree(out / "rows", tmp_path / "rows")
    monkeypatch.setattr(import_module("sads.atlas.survey"), "summarise", None)
    more = entries[0].model_copy(update={"forecast": 16})
    before, after = read_row(row_path(out, "small-cnn")), survey(more, tmp_path)
    assert (before.summary["forecast"]["networks"], before.failed) == (12, None)
    assert (after.summary["forecast"]["networks"], after.failed) == (16, None)
    assert after.summary["findings"] == before.summary["findings"]
    assert after.processor_seconds > before.processor_seconds
    assert after == read_row(row_path(tmp_path, "small-cnn")) == survey(more, tmp_path)


def test_a_damaged_row_is_refused(atlas, tmp_path):
    _, out = atlas
    (tmp_path / "rows").mkdir()
    text = row_path(out, "small-cnn").read_text()
    (tmp_path / "rows" / "small-cnn.json").write_text(text.replace("225", "226"))
    with pytest.raises(ArtefactError, match=r"damaged|checksum"):
        load_rows(tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("1x4x4", "4 by 4"), "shape"),
        (("networks = 24", "networks = 3"), "networks"),
        (('kind = "MLP"', 'kinds = "MLP"'), "kind"),
        (("Small MLP", "small cnn"), "names must differ"),
        (("[[network]]", "[network"), "not TOML"),
    ],
)
def test_bad_lists(tmp_path, change, said):
    path = tmp_path / "list.toml"
    path.write_text(TWO.replace(*change))
    with pytest.raises(InputError, match=said):
        load_atlas(path)


def test_small_pictures(tmp_path):
    values = np.array([[-2.0, 0.0], [1.0, 2.0]])
    save_picture(values, tmp_path / "signed.png", signed=True)
    save_picture(np.abs(values[1]), tmp_path / "signal.png", signed=False)
    with Image.open(tmp_path / "signed.png") as picture:
        corners = [picture.getpixel(place) for place in ((0, 0), (1, 0), (1, 1))]
    assert corners == [(0, 0x72, 0xB2), (255, 255, 255), (0xD5, 0x5E, 0)]
    with Image.open(tmp_path / "signal.png") as picture:
        assert (picture.size, picture.getpixel((1, 3))) == ((2, 8), (255, 255, 255))


def test_words(atlas):
    entries, out = atlas
    assert counted(225) == "225"
    row = read_row(row_path(out, "small-cnn"))
    noticed = [{"severity": "warning", "code": "time-blind"}, {"severity": "note", "code": "x"}]
    found = row.model_copy(update={"summary": row.summary | {"findings": noticed}})
    [line] = lines(entries, [found])
    assert (line.loud, line.cells["findings"], line.soft["findings"]) == (
        ("warning: time-blind",),
        "",
        "note: x",
    )
    [healthy] = lines(entries, [found.model_copy(update={"summary": row.summary})])
    assert healthy.cells["findings"] == "healthy"
    unseen = row.summary | {"findings": [], "untold": {"doctor": "it is out"}}
    [away] = lines(entries, [row.model_copy(update={"summary": unseen})])
    assert away.cells["findings"] == "not told: it is out"
    assert (row.examined, away.row.examined) == (True, False)


def test_the_cost_of_all_is_told(atlas):
    row = read_row(row_path(atlas[1], "small-cnn"))
    rows = [
        row.model_copy(update={"seconds": wall, "processor_seconds": processor})
        for wall, processor in ((300.0, 90.0), (700.0, 50.0), (30.0, None))
    ]
    assert total_cost(rows) == (
        "In all it took 2.3 min of processor time (17 min by the clock) for 2 architectures and "
        "30 s by the clock for 1 architecture."
    )
    assert total_cost([]) == ""


def forecast_of(drifts, error, **more):
    """A forecast as rows keep it."""
    told = {"p_value": 0.5, "has_order": False, "networks": 8, "validity": {}}
    directions = [
        {"direction": label, "drift": value, "drift_error": error}
        for label, value in drifts.items()
    ]
    return told | {"directions": directions, "recipe": {"batch_size": 4}} | more


def test_the_measured_order_is_told_without_a_significant_one(atlas):
    """Means of channels are one group: (5 + 3) / 2 with an error of sqrt(2) / 2, over 2."""
    drifts = {"mean of channel 0": 5.0, "mean of channel 1": 3.0, "low": 1.0, "high": 2.0}
    order = learning_order(forecast_of(drifts, 0.5))
    told = [(pace.label, pace.value, round(pace.error, 4)) for pace in order.paces]
    assert told == [
        ("low", 0.5, 0.25),
        ("high", 1.0, 0.25),
        ("means of the channels", 2.0, 0.1768),
    ]
    row = read_row(row_path(atlas[1], "small-cnn"))

    def words(forecast, untold=()):
        summary = row.summary | {"forecast": forecast, "untold": dict(untold)}
        return last_words(row.model_copy(update={"summary": summary}))

    assert words(forecast_of(drifts, 0.5)) == "not told: typical errors of 25 % are too large"
    assert words(forecast_of(drifts, 0.1)) == "no order beyond the errors, typically 5 %"
    assert words(forecast_of(drifts, 0.5, has_order=True)) == "low"
    assert "larger than the paces" in words(forecast_of(drifts, 50.0))
    why = f"so {row.summary['network']} has nothing to learn"
    assert words(None, [("forecast", why)]) == "not told: so it has nothing to learn"


def test_the_well_known_ones_are_described():
    entries = load_atlas(WELL_KNOWN)
    assert len(entries) >= 20
    for entry in entries:
        assert entry.published
        for path in entry.network.paths():
            assert (WELL_KNOWN.parents[2] / path).exists()


def test_the_command(atlas, tmp_path, sads):
    _, out = atlas
    listed = str(out / "list.toml")
    code, text, _ = sads("atlas", listed, "--out", str(out))
    assert code == 0
    assert "2 of 2 architectures" in text
    code, text, _ = sads("atlas", listed, "--out", str(out), "--json")
    assert [row["name"] for row in json.loads(text)["rows"]] == ["Small CNN", "Small MLP"]
    both = ("--only", "Small CNN", "Small MLP", "--json")
    code, text, _ = sads("atlas", listed, "--out", str(out), *both)
    assert len(json.loads(text)["rows"]) == 2
    code, _, error = sads("atlas", listed, "--out", str(tmp_path / "x"), "--only", "Smal CNN")
    assert code == 2
    assert "did you mean 'Small CNN'" in error
    assert not (tmp_path / "x").exists()


@pytest.mark.skipif(executable() is None, reason=f"needs a browser: {INSTALL}")
def test_the_page_sorts_and_filters(atlas):
    from playwright.sync_api import sync_playwright

    entries, out = atlas
    assert len(lines(entries, load_rows(out))) == 2
    page_path = write_index(entries, load_rows(out), out)
    with sync_playwright() as playwright:
        browser = launch(playwright, executable())
        page = browser.new_page()
        problems = []
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(page_path.as_uri())
        names = "tbody tr:not([hidden]) th"

        def shown():
            return [text.split("\n")[0].strip() for text in page.locator(names).all_inner_texts()]

        assert shown() == ["Small CNN", "Small MLP"]
        page.get_by_role("button", name="Effective directions").click()
        assert shown() == ["Small CNN", "Small MLP"]
        page.get_by_role("button", name="Effective directions").click()
        assert shown() == ["Small MLP", "Small CNN"]
        page.get_by_label("Filter").fill("mlp")
        assert shown() == ["Small MLP"]
        page.get_by_label("Filter").fill("")
        page.get_by_label("Kind").select_option("CNN")
        assert shown() == ["Small CNN"]
        assert page.locator("#shown").inner_text() == "1 shown"
        assert page.locator("img.band").first.evaluate("image => image.naturalWidth") == 4
        browser.close()
    assert problems == []
