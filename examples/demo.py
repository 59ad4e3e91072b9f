"""The main job end to end: two architectures, their certified directions, pictures, one page.

Run by `make demo`; everything is written to `demo/`.
"""

from pathlib import Path

import sads
from sads.cli.progress import networks_bar
from sads.geometry.summary import sentences, title
from sads.plots.directions import draw_directions, save_figure

OUT = Path("demo")
RUNS = {"iddpm-16": {"tolerance": 0.006}, "dit-2": {}}
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>sads demo</title>
<style>body{{max-width:62rem;margin:2rem auto;padding:0 1rem;font:16px/1.5 system-ui,sans-serif}}
img{{max-width:100%}}</style>
<h1>Which directions do these architectures prefer?</h1>
<p>No network was trained. Each point is a direction of 16x16 images; data along directions
with small eigenvalues (right) is modelled well, along large ones (left) badly.</p>
{sections}
</html>
"""
SECTION = """<section><h2>{name}</h2><p>{words}</p>
<img src="{picture}" alt="Spectrum, eigenvectors and DFT energy of {name}"></section>"""


def main() -> None:
    """Estimate, draw, and say where to look."""
    sections = []
    for name, options in RUNS.items():
        with networks_bar(name) as report:
            geometry = sads.estimate_geometry(name, out=OUT / name, on_progress=report, **options)
        picture = f"{name}.png"
        save_figure(draw_directions(geometry.spectrum(), title(geometry)), OUT / picture)
        words = sentences(geometry)
        print("\n".join(words) + "\n")
        sections.append(SECTION.format(name=name, words=" ".join(words), picture=picture))
    page = OUT / "index.html"
    page.write_text(PAGE.format(sections="\n".join(sections)), encoding="utf-8")
    print(f"Open {page.resolve()} in a browser.")


if __name__ == "__main__":
    main()
