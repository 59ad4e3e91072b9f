"""How quickly a report opens and answers, in headless Chromium, at D = 256 and 10,000.

`python benchmarks/report.py`. First paint is the browser's first contentful paint after navigation;
click to image is from the click to the frame that shows the new picture, the median of nine.

`--screenshot demo/report.html docs/images/report.png` makes the picture in the README instead.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import sads
from sads.report import build_report, write_report

CASES = (("dit-2", "1x16x16"), ("iddpm-16", "1x16x16"), ("dit-4", "1x100x100"))
NETWORKS = 480
# Two frames after the click: the first may have begun before it.
CLICK = """async (index) => {
  const input = document.getElementById("index"), frame = () => new Promise(requestAnimationFrame);
  await frame();
  const started = performance.now();
  input.value = index;
  input.dispatchEvent(new Event("input", { bubbles: true }));
  await frame();
  await frame();
  return performance.now() - started;
}"""
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the rows here")
    parser.add_argument("--screenshot", nargs=2, type=Path, metavar=("REPORT", "PNG"))
    options = parser.parse_args()
    browser = shutil.which("chromium")
    if browser is None:
        sys.exit("no Chromium to measure with: apt-get install chromium")
    if options.screenshot:
        photograph(browser, *options.screenshot)
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(Path(folder), browser, network, shape) for network, shape in CASES]
    print(f"{'network':<10} {'D':>7} {'MB':>6} {'first paint s':>14} {'click to image ms':>18}")
    for row in rows:
        print(
            f"{row['network']:<10} {row['size']:>7,} {row['bytes'] / 1e6:>6.2f} "
            f"{row['first_paint_seconds']:>14.2f} {row['click_milliseconds']:>18.0f}"
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def photograph(browser: str, report: Path, png: Path) -> None:
    """The spectra of a report, with what lies below them."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 1228, "height": 900}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        top = page.locator(".legend").first.bounding_box()
        thumbs = [own.bounding_box() for own in page.locator(".thumbs").all()]
        if top is None or not all(thumbs):
            sys.exit(f"{report} has no plots")
        y = top["y"] - 8
        bottom = max(own["y"] + own["height"] for own in thumbs if own)
        clip: Any = {"x": 0, "y": y, "width": 1228, "height": bottom + 8 - y}
        page.screenshot(path=png, full_page=True, clip=clip)
        chromium.close()


def measure(folder: Path, browser: str, network: str, shape: str) -> dict[str, Any]:
    """One report, opened once and clicked on nine times."""
    from playwright.sync_api import sync_playwright

    out, path = folder / network, folder / f"{network}.html"
    geometry = sads.estimate_geometry(network, shape=shape, networks=NETWORKS, out=out)
    write_report(build_report([out]), path)
    size = geometry.structure.size
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page()
        page.goto(path.as_uri())
        seconds = timings(page, size)
        chromium.close()
    return {"network": network, "size": size, "bytes": path.stat().st_size, **seconds}


def timings(page: Any, size: int) -> dict[str, float]:
    """First paint of an open page, and the time from choosing a direction to its image."""
    page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint')[0]")
    clicks = [page.evaluate(CLICK, (size - 1) * k // 9) for k in range(1, 10)]
    paint = page.evaluate(PAINT) / 1000
    return {"first_paint_seconds": paint, "click_milliseconds": median(clicks)}


if __name__ == "__main__":
    main()
