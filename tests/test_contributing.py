"""What CONTRIBUTING.md says about places is so."""

import ast
import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
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


FIELD = "    leakage: Size | None = None\n"
VALUE = '                "leakage": _leakage(end),\n'
SWEEPS = """
import sys
from pathlib import Path
from tests.sweep.small import InProcess, write_spec
from sads.sweep import read_rows, run_sweep
from sads.sweep.store.table import write_csv

place = Path(sys.argv[1])
spec = write_spec(place, indices=(5,), seeds=eval(sys.argv[2]))
table = place / "known.csv"
out = place / f"out-{sys.argv[2]}"
results = run_sweep(spec, out, engine=InProcess(), seed_from=table if table.exists() else None)
print(repr(results).splitlines()[0].split())
print([row.get("smallest", "unknown") for row in sorted(results.rows, key=lambda r: r["seed"])])
write_csv(table, results.rows)
print(table.read_text().splitlines()[0].split(",").count("smallest"))
"""


def test_a_column_of_the_results_is_added_in_one_place(tmp_path):
    """Also to a database that was stored before, and with a table that was."""
    shutil.copytree(ROOT / "src", tmp_path / "changed")
    code = tmp_path / "changed/sads/sweep/store/metrics.py"
    text = code.read_text()
    assert text.count(FIELD) == text.count(VALUE) == 1
    text = text.replace(FIELD, FIELD + "    smallest: float | None = None\n")
    code.write_text(text.replace(VALUE, VALUE + '"smallest": float(end.samples.min()),\n'))

    def swept(source: Path, seeds: tuple[int, ...]) -> list:
        path = os.pathsep.join((str(source), str(ROOT)))
        run = subprocess.run(
            [sys.executable, "-c", SWEEPS, str(tmp_path), str(seeds)],
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr
        return [ast.literal_eval(line) for line in run.stdout.splitlines()]

    _, before, count = swept(ROOT / "src", (0,))
    assert (before, count) == (["unknown"], 0)
    _, known, count = swept(tmp_path / "changed", (0,))
    assert (known, count) == ([None], 1)
    shown, values, count = swept(tmp_path / "changed", (0, 1))
    assert "smallest" in shown
    assert values[0] is None
    assert values[1] < 0
    assert count == 1
    # The version without the column still reads what the other one stored.
    _, after, _ = swept(ROOT / "src", (0, 1))
    assert after == ["unknown", "unknown"]


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
