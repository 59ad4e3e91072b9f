"""The page of an atlas: one table to sort and to filter, one file for all of it."""

import base64
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..report.page import render_scripted
from ..storage.files import atomic_write, write_bytes
from .cells import Line, band_words, lines
from .entries import AtlasEntry
from .rows import AtlasRow, BandPicture


def write_index(entries: Sequence[AtlasEntry], rows: Sequence[AtlasRow], out: Path) -> Path:
    """Write `index.html` of an atlas; returns its path."""
    place = out / "index.html"
    html = atlas_page(lines(entries, rows), out)
    atomic_write(place, write_bytes(html.encode()))
    return place


def atlas_page(shown: Sequence[Line], out: Path) -> str:
    """The whole file."""
    view = {
        "version": version("sads"),
        "lines": [_view(line, out) for line in shown],
        "kinds": sorted({line.entry.kind for line in shown}),
    }
    return render_scripted("atlas.html.j2", ("atlas.js",), view)


def _view(line: Line, out: Path) -> dict[str, Any]:
    report = f"reports/{line.row.slug}.html"
    return {
        "cells": line.cells,
        "sort": line.sort,
        "slug": line.row.slug,
        "report": report if (out / report).exists() else None,
        "paces": line.paces,
        "bands": [
            {"which": which, "words": band_words(band), "picture": _embedded(band, out)}
            for which, band in (("first", line.row.first), ("last", line.row.last))
            if band is not None
        ],
    }


def _embedded(band: BandPicture, out: Path) -> str:
    raw = (out / "pictures" / band.picture).read_bytes()
    return f"data:image/png;base64,{base64.b64encode(raw).decode()}"
