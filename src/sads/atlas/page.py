"""The page of an atlas: one table to sort and to filter, one file for all of it."""

import base64
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..report.page import render_scripted
from ..specs import parse_shape
from ..storage.files import atomic_write, write_bytes
from .cells import Line, band_words, lines, total_cost
from .entries import AtlasEntry
from .rows import AtlasRow, BandPicture

COLUMNS = (
    ("name", "Architecture"),
    ("kind", "Kind"),
    ("shape", "Shape"),
    ("parameters", "Parameters"),
    ("findings", "Doctor"),
    ("anisotropy", "Effective directions"),
    ("last", "Learned last"),
    ("seconds", "Cost"),
)


def write_index(entries: Sequence[AtlasEntry], rows: Sequence[AtlasRow], out: Path) -> Path:
    """Write `index.html` of an atlas; returns its path."""
    place = out / "index.html"
    html = atlas_page(entries, rows, out)
    atomic_write(place, write_bytes(html.encode()))
    return place


def atlas_page(entries: Sequence[AtlasEntry], rows: Sequence[AtlasRow], out: Path) -> str:
    """The whole file."""
    shown = lines(entries, rows)
    looked_at = {line.row.slug for line in shown}
    view = {
        "version": version("sads"),
        "columns": COLUMNS,
        "lines": [_view(line, out) for line in shown],
        "kinds": sorted({line.entry.kind for line in shown}),
        "cost": total_cost([line.row for line in shown]),
        "waiting": ", ".join(e.name for e in entries if e.slug not in looked_at),
    }
    return render_scripted("atlas.html.j2", ("atlas.js",), view)


def _view(line: Line, out: Path) -> dict[str, Any]:
    report = f"reports/{line.row.slug}.html"
    return {
        "cells": line.cells,
        "soft": {key: line.soft.get(key, "") for key, _ in COLUMNS},
        "sort": line.sort,
        "loud": line.loud,
        "report": report if (out / report).exists() else None,
        "paces": line.paces,
        "signal": len(parse_shape(line.entry.shape)) < 3,  # a line that fills the whole square
        "bands": [
            {"which": which, "words": band_words(band), "picture": _embedded(band, out)}
            for which, band in (("first", line.row.first), ("last", line.row.last))
            if band is not None
        ],
    }


def _embedded(band: BandPicture, out: Path) -> str:
    raw = (out / "pictures" / band.picture).read_bytes()
    return f"data:image/png;base64,{base64.b64encode(raw).decode()}"
