"""The report in headless Chromium: what a reader does with it, and what it must never do."""

from dataclasses import dataclass, field

import pytest

import sads
from sads.report import build_report, write_report

from .browser import INSTALL, executable, launch

if executable() is None:
    pytest.skip(f"no Chromium to test with: {INSTALL}", allow_module_level=True)

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from benchmarks.report import timings

PIXELS = "c => Array.from(c.getContext('2d').getImageData(0, 0, c.width, c.height).data).join()"
EIGENVECTOR = "[data-explorer='0'] .chosen canvas >> nth=0"


@pytest.fixture(scope="module")
def chromium():
    with sync_playwright() as playwright:
        browser = launch(playwright, executable())
        yield browser
        browser.close()


@dataclass
class Visit:
    """An open page, and everything that must not happen on it."""

    page: object
    errors: list = field(default_factory=list)
    requests: list = field(default_factory=list)


@pytest.fixture
def visit(chromium):
    """Open a file; at the end nothing has gone wrong and nothing was asked for."""
    contexts, visits = [], []

    def open_file(path, *, width=1280, scheme="light"):
        context = chromium.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True
        )
        page = context.new_page()
        visited = Visit(page)
        page.on("console", lambda m: visited.errors.append(m.text) if m.type != "log" else None)
        page.on("pageerror", lambda e: visited.errors.append(str(e)))
        page.on("request", lambda r: visited.requests.append(r.url))
        page.goto(path.as_uri())
        contexts.append(context)
        visits.append((visited, path))
        return page

    yield open_file
    for visited, path in visits:
        assert visited.errors == []
        asked = [u for u in visited.requests if not u.startswith("data:")]
        assert asked == [path.as_uri()]
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory, unet, low_noise, transformer, sweep, forecast):
    """A report with everything in it."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    directories = [unet, low_noise, transformer]
    built = build_report(directories, data="digits", sweep=sweep, forecasts=[forecast])
    write_report(built, path)
    return path


def test_clicking_a_direction_shows_its_image(visit, report):
    page = visit(report)
    before = page.locator(EIGENVECTOR).evaluate(PIXELS)
    plot = page.locator("[data-explorer='0'] .plot")
    box = plot.bounding_box()
    plot.click(position={"x": box["width"] * 0.6, "y": 60})
    page.mouse.move(0, 0)  # a click stays when the pointer leaves
    chosen = int(page.locator("#index").input_value())
    assert 30 < chosen < 45
    assert page.locator("[data-explorer='0'] .chosen h4").inner_text() == (
        f"Direction {chosen} of 64"
    )
    assert page.locator(EIGENVECTOR).evaluate(PIXELS) != before


def test_pointing_shows_and_leaving_returns(visit, report):
    page = visit(report)
    page.locator("[data-explorer='0'] .plot").scroll_into_view_if_needed()
    box = page.locator("[data-explorer='0'] .plot").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 60)
    heading = page.locator("[data-explorer='0'] .chosen h4")
    assert heading.inner_text() != "Direction 0 of 64"
    page.mouse.move(box["x"] - 5, box["y"] - 30)
    assert heading.inner_text() == "Direction 0 of 64"


def test_keys_go_through_directions_and_bands(visit, report):
    page = visit(report)
    plot = page.locator("[data-explorer='0'] .plot")
    plot.focus()
    value = lambda: int(plot.get_attribute("aria-valuenow"))  # noqa: E731
    for key, expected in (("ArrowRight", 1), ("End", 63), ("ArrowLeft", 62), ("Home", 0)):
        page.keyboard.press(key)
        assert value() == expected
    page.locator("[data-explorer='1'] .plot").focus()
    page.keyboard.press("PageDown")
    assert value() == 4  # the transformer's first band has four directions
    page.keyboard.press("PageUp")
    assert value() == 0
    assert "eigenvalue" in plot.get_attribute("aria-valuetext")


def test_everything_about_a_direction_is_said(visit, report):
    page = visit(report)
    words = page.locator("[data-explorer='0'] .chosen").inner_text()
    for part in (
        "eigenvalue",
        "band",
        "certificate",
        "share of digits",
        "measured MSW2",
        "forecast drift",
        "±",
    ):
        assert part in words
    assert page.locator("[data-explorer='0'] .chosen canvas").count() == 2
    page.locator("[data-go='last']").click()
    other = page.locator("[data-explorer='1'] .chosen").inner_text()
    assert "no output along it" in other


def test_the_forecast_stands_in_words_beside_the_spectrum_and_as_a_table(visit, report):
    page = visit(report)
    card = page.locator("#answer .card").first.inner_text()
    assert card.index("Learned early") < card.index("puts out, before training")
    assert "How often it was right" in card
    assert "Learned early" not in page.locator("#answer .card").nth(1).inner_text()
    assert page.locator("[data-explorer='0'] .plot path.forecast").count() > 3
    assert page.locator("[data-explorer='1'] .plot path.forecast").count() == 0
    bars = page.locator("#forecast tbody rect")
    widths = [float(bars.nth(i).get_attribute("width")) for i in range(bars.count())]
    assert max(widths) <= 100
    assert widths[0] == max(widths)  # what is learned first stands on top
    assert page.locator("#forecast rect").first.bounding_box()["width"] > 20


def test_architectures_stand_side_by_side_and_move_together(visit, report):
    page = visit(report)
    cards = [page.locator(f"[data-explorer='{i}']").bounding_box() for i in (0, 1)]
    assert cards[0]["y"] == cards[1]["y"]
    assert cards[0]["x"] + cards[0]["width"] <= cards[1]["x"]
    page.locator("#index").fill("17")
    for i in (0, 1):
        heading = page.locator(f"[data-explorer='{i}'] .chosen h4")
        assert heading.inner_text() == "Direction 17 of 64"
    assert page.locator("[data-overlay='together'] path.curve").count() == 4  # two, with keys


def test_a_phone_needs_no_sideways_scrolling(visit, report):
    page = visit(report, width=360)
    page.locator("details").evaluate_all("all => all.forEach(d => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    cards = [page.locator(f"[data-explorer='{i}']").bounding_box() for i in (0, 1)]
    assert cards[1]["y"] > cards[0]["y"]


def test_dark_is_dark_and_print_is_light(visit, report):
    brightness = (
        "() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]"
    )
    page = visit(report, scheme="dark")
    assert page.evaluate(brightness) < 60
    page.emulate_media(media="print")
    assert page.evaluate(brightness) == 255
    assert len(page.pdf()) > 10_000
    assert visit(report, scheme="light").evaluate(brightness) > 230


def test_names_are_shown_and_not_run(visit, report):
    page = visit(report)
    assert "hacked" not in page.title()
    assert "<script>document.title='hacked'</script>" in page.locator("#provenance").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit, report, scheme):
    page = visit(report, scheme=scheme)
    page.locator("details").evaluate_all("all => all.forEach(d => { d.open = true; })")
    violations = Axe().run(page).response["violations"]
    serious = [v for v in violations if v["impact"] in ("serious", "critical")]
    assert [(v["id"], [n["html"] for n in v["nodes"]][:3]) for v in serious] == []


def test_it_paints_and_answers_at_once(visit, tmp_path, record_property):
    """At D = 256; the bounds are for a machine that does other work, `make bench` measures."""
    sads.estimate_geometry("dit-2", out=tmp_path / "dit")
    write_report(build_report([tmp_path / "dit"]), tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size < 8e6
    seconds = timings(visit(tmp_path / "report.html"), 256)
    for name, value in seconds.items():
        record_property(name, value)
    assert seconds["first_paint_seconds"] < 5
    assert seconds["click_milliseconds"] < 500


def test_pictures_that_are_not_there_say_so(visit, tmp_path, unet, monkeypatch):
    monkeypatch.setattr("sads.report.pictures.MOST", 16)
    monkeypatch.setattr("sads.report.pictures.PIXELS", 0)
    write_report(build_report([unet]), tmp_path / "few.html")
    page = visit(tmp_path / "few.html")
    assert page.locator("[data-explorer='0'] .chosen canvas").count() == 2
    page.locator("#index").fill("9")
    assert "holds 16 of 64" in page.locator("[data-explorer='0'] .missing").inner_text()


def test_signals_are_drawn_as_lines(visit, tmp_path):
    sads.estimate_geometry("iddpm-1d,channels=8,groups=4", shape="1x16", networks=60, out=tmp_path)
    write_report(build_report([tmp_path]), tmp_path / "signal.html")
    page = visit(tmp_path / "signal.html")
    canvas = page.locator(EIGENVECTOR)
    assert canvas.evaluate("c => [c.width, c.height]") == [320, 160]
    assert len(set(canvas.evaluate(PIXELS).split(","))) > 3
