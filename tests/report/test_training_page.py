"""The page of a monitor: what it says, in which browser widths, and what it must never do."""

import numpy as np
import pytest
import torch

import sads
from sads.errors import InputError
from sads.foundation.rendering import as_text
from sads.presentation.training_record import record_sentences, record_summary
from sads.report.training_page import training_page

from .browser import INSTALL, executable, launch

SHAPE = (3, 4, 4)


def followed(steps: int = 60, *, blind: bool = True, data=None) -> "sads.Monitor":
    """A training in which the mean of the second channel is not learned."""
    monitor = sads.Monitor(SHAPE, every=10, bins=4, data=data)
    generator = torch.Generator().manual_seed(0)
    for step in range(steps):
        target = torch.randn(32, *SHAPE, generator=generator)
        prediction = target * min(step / 40, 0.9)
        if blind:
            prediction[:, 1] -= prediction[:, 1].mean(dim=(1, 2), keepdim=True)
        monitor.update(prediction, target, torch.randint(1000, (32,), generator=generator))
    return monitor


def test_what_lags_is_said_first_and_what_it_looks_like():
    lines = record_sentences(followed().record)
    assert "1 of 10 lags behind" in lines[0]
    assert lines[1].startswith("Mean of channel 1 lags from the start: 0 % is")
    assert "tinted" in lines[2]
    assert "Give the monitor the data" in lines[3]
    healthy = record_sentences(followed(blind=False, data=np.zeros((4, *SHAPE))).record)
    assert "none lags" in healthy[0]
    assert len(healthy) == 1


def test_little_is_said_of_little():
    assert record_sentences(sads.Monitor(SHAPE).record) == ["Nothing has been seen yet."]
    assert "from the second window on" in record_sentences(followed(5).record)[0]
    assert "<table" not in training_page(sads.Monitor(SHAPE).record)


def test_the_same_in_plain_values_text_and_notebooks():
    record = followed().record
    summary = record_summary(record)
    late = [row for row in summary["directions"] if row["lags_since"] is not None]
    assert [row["direction"] for row in late] == ["mean of channel 1"]
    assert "mean of channel 1" in as_text(record)
    assert "<pre>" in record._repr_html_()
    assert len(record.to_frame()) == len(record.rows())


def test_the_forecast_stands_beside():
    monitor = followed()
    monitor.expect(
        sads.forecast(
            "cnn,width=4,depth=1",
            "gaussian",
            shape=SHAPE,
            directions=monitor.directions,
            networks=8,
        )
    )
    page = training_page(monitor.record)
    assert "forecast place" in page
    assert "orecast" in record_sentences(monitor.record)[-1]


def test_a_file_is_replaced_only_if_that_is_asked_for(tmp_path):
    path = tmp_path / "training.html"
    monitor = followed()
    monitor.report(path)
    monitor.report(path)  # again and again inside a loop
    with pytest.raises(InputError, match="exists"):
        monitor.record.report(path)
    with pytest.raises(InputError, match="no directory"):
        monitor.report(tmp_path / "missing" / "training.html")


@pytest.mark.skipif(executable() is None, reason=f"no Chromium to test with: {INSTALL}")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_opens_offline_at_every_width(tmp_path, scheme):
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    path = tmp_path / "training.html"
    followed().report(path)
    with sync_playwright() as playwright:
        browser = launch(playwright, executable())
        for width in (1300, 800, 360):
            context = browser.new_context(
                viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True
            )
            page = context.new_page()
            errors, asked = [], []
            page.on("console", lambda m, errors=errors: errors.append(m.text))
            page.on("request", lambda r, asked=asked: asked.append(r.url))
            page.goto(path.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.locator("polyline.late").count() == 1
            assert page.locator("tr.late th").inner_text() == "mean of channel 1"
            assert Axe().run(page).violations_count == 0
            assert errors == []
            assert asked == [path.as_uri()]
            context.close()
        browser.close()
