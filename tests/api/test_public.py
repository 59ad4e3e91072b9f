"""The public surface: few names, quick to import, usable as the README says."""

import ast
import doctest
import inspect
import re
import resource
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from torch import nn

import sads

ROOT = Path(__file__).resolve().parents[2]


def test_every_public_name_exists():
    for name in sads.__all__:
        assert getattr(sads, name) is not None
    assert set(dir(sads)) == set(sads.__all__)
    with pytest.raises(AttributeError):
        _ = sads.no_such_name


def test_the_reference_has_every_public_name_and_no_other():
    page = (ROOT / "docs" / "api.md").read_text()
    documented = [line.removeprefix("::: ") for line in page.splitlines() if line.startswith(":::")]
    assert sorted(path.rpartition(".")[2] for path in documented) == sorted(sads.__all__)
    for path in documented:
        module, _, name = path.rpartition(".")
        assert getattr(import_module(module), name) is getattr(sads, name), path


@pytest.mark.parametrize("name", sads.__all__)
def test_every_public_name_has_an_example_that_runs(name):
    """Whether it runs is tested with the other docstrings."""
    assert doctest.DocTestParser().get_examples(getattr(sads, name).__doc__ or "")


@pytest.mark.parametrize("name", [n for n in sads.__all__ if inspect.isroutine(getattr(sads, n))])
def test_public_functions_name_all_that_they_take(name):
    signature = inspect.signature(getattr(sads, name))
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    assert not {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL} & kinds
    assert all(p.annotation is not p.empty for p in signature.parameters.values())
    assert signature.return_annotation is not signature.empty


def takes_networks(name: str) -> bool:
    """Whether a public function's first argument is a network, or several."""
    value = getattr(sads, name)
    if not inspect.isroutine(value):
        return False
    first = next(iter(inspect.signature(value).parameters.values()))
    return "ScoreFamily" in str(first.annotation)


@pytest.mark.parametrize("name", [name for name in sads.__all__ if takes_networks(name)])
def test_prediction_and_schedule_go_with_every_network(name):
    assert {"shape", "prediction", "schedule"} <= {
        *inspect.signature(getattr(sads, name)).parameters
    }


def test_these_take_networks():
    assert {name for name in sads.__all__ if takes_networks(name)} == {
        "diagnose",
        "estimate_geometry",
        "forecast",
        "network",
        "rank",
        "risk",
        "running_estimates",
        "summary",
        "train",
    }


LOADS = "import sys; print(*sorted({'torch', 'numpy', 'pandas'} & set(sys.modules)))"
TOOLS = {
    "import sads": ("import sads", 0.1),
    "sads --help": ("import sads.cli; sads.cli.app(['--help'], result_action='return_value')", 0.4),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_what_must_start_at_once_loads_no_torch(tool):
    """The seconds are those of the processor, beyond what an empty Python takes."""
    code, most = TOOLS[tool]
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; {LOADS}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == ""
    empty, own = (min(_seconds(text) for _ in range(3)) for text in ("pass", code))
    assert own - empty < most


def _seconds(code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_errors_of_the_library_name_no_options_of_the_command_line():
    """Whole commands may be named (`sads geometry NETWORK --out DIR`), single options may not."""
    source = ROOT / "src" / "sads"
    for path in sorted(source.rglob("*.py")):
        if path.is_relative_to(source / "cli") or path.name == "pytest_plugin.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Raise):
                continue
            parts = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]
            said = " ".join(part for part in parts if isinstance(part, str))
            assert "sads " in said or not re.search(r"(?<!\S)--[a-z]", said), (path.name, said)


def test_nothing_is_said_unless_somebody_listens(capfd, caplog):
    options = {"shape": "1x4x4", "iterations": 1, "batch_size": 2}
    sads.train("mlp", "gaussian", **options)
    assert capfd.readouterr() == ("", "")
    with caplog.at_level("INFO", logger="sads"):
        sads.train("mlp", "gaussian", **options)
    assert "training mlp" in caplog.text


def test_estimate_by_name_by_family_and_by_factory():
    fields = "iddpm-16,channels=8,groups=8,mults=1x1"
    by_name = sads.estimate_geometry(fields, shape="1x8x8", networks=60)
    family = sads.network(fields, shape=(1, 8, 8))
    np.testing.assert_array_equal(
        by_name.factor, sads.estimate_geometry(family, networks=60).factor
    )
    geometry = sads.estimate_geometry(
        lambda: Conv(), shape=(1, 4, 4), networks=60, probe=sads.Gaussian(1.0)
    )
    assert geometry.structure.kind == "channels"
    with pytest.raises(sads.InputError, match="pass shape"):
        sads.estimate_geometry(Conv)


def test_running_estimates_by_name():
    fields = "iddpm-16,channels=8,groups=8,mults=1x1"
    *_, last = sads.running_estimates(fields, shape="1x8x8", networks=60, probe="gaussian:1")
    assert last.networks == 60


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(1, 1, 3, padding=1)

    def forward(self, x, t):
        return self.layer(x)
