"""What CONTRIBUTING.md says about places is so."""

import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from sads import probes
from sads.doctor import findings
from sads.errors import InputError
from sads.presentation.registry import RENDERERS
from sads.specs import ProbeSpec

ROOT = Path(__file__).resolve().parents[1]


def test_every_place_exists():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    places = re.findall(r"`(src/[^`]*)`", text)
    assert len(places) >= 8
    assert [place for place in places if not (ROOT / place).exists()] == []


def test_a_probe_is_added_in_one_place(monkeypatch, tmp_path):
    class Shifted(probes.Point):
        kind = "shifted"
        spelling = "shifted:FILE.npy"

    np.save(tmp_path / "x.npy", np.ones((1, 2, 2)))
    text = f"shifted:{tmp_path / 'x.npy'}"
    with pytest.raises(InputError, match="unknown probe"):
        ProbeSpec.parse(text).probe((1, 2, 2))
    monkeypatch.setitem(probes.PROBES, Shifted.kind, Shifted)
    spec = ProbeSpec.parse(text)
    assert isinstance(spec.probe((1, 2, 2)), Shifted)
    assert [path.name for path in spec.paths()] == ["x.npy"]
    assert spec.placeholder == "shifted:FILE.npy"
    with pytest.raises(InputError, match=r"expected one of zero, .*, shifted:FILE\.npy"):
        ProbeSpec.parse("unheard-of").probe((1, 2, 2))


def test_every_check_is_in_the_list_of_findings():
    written = set()
    for module in pkgutil.iter_modules(findings.__path__, "sads.doctor.findings."):
        for name, function in inspect.getmembers(import_module(module.name), inspect.isfunction):
            returned = inspect.signature(function).return_annotation
            if function.__module__ == module.name and "Finding" in str(returned):
                written.add(name)
    assert written == {check.__name__ for check in (*findings.RESPONSES, *findings.GEOMETRIES)}


def test_every_renderer_is_there():
    for name, home in RENDERERS.items():
        html = import_module(f"sads.presentation.{home}").html
        assert name in str(inspect.signature(html))
