"""Names that another package adds: the example of the documentation, installed."""

import sys

import numpy as np
import pytest
import torch

import sads
from sads.errors import InputError
from sads.geometry import Gaussian
from sads.specs import DataSpec, NetworkSpec, ProbeSpec
from sads.specs.plug_ins import entry_points_of
from sads.sweep import read_rows, run_sweep
from tests.docs import ROOT, blocks, install
from tests.sweep.small import InProcess


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The package of the guide, installed in a directory of the path."""
    for block in blocks(ROOT / "docs" / "how-to" / "plug-in.md"):
        if block.file:
            (tmp_path / block.file).write_text(block.text)
    install(tmp_path, tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "stripes", raising=False)
    yield tmp_path
    sys.modules.pop("stripes", None)
    entry_points_of.cache_clear()


def test_a_preset(project):
    family = NetworkSpec.parse("tiny,width=4").family()
    assert family.shape == (1, 8, 8)
    assert family.member(0)(torch.zeros(2, 1, 8, 8), torch.tensor([1, 2])).shape == (2, 1, 8, 8)
    assert family.name == "tiny,width=4"
    assert NetworkSpec.parse("tiny").family((3, 4, 4)).shape == (3, 4, 4)
    with pytest.raises(InputError, match="tiny has no field 'depth': its fields are width"):
        NetworkSpec.parse("tiny,depth=3").family()
    with pytest.raises(InputError, match="width is a whole number"):
        NetworkSpec.parse("tiny,width=big").family()


def test_a_preset_is_known_by_its_source(project):
    before = NetworkSpec.parse("tiny,width=4").digest()
    assert before.startswith("tiny@sha256-")
    assert before.endswith(",width=4")
    (project / "stripes.py").write_text("changed = True\n")
    assert NetworkSpec.parse("tiny,width=4").digest() != before


def test_data(project):
    data = DataSpec.parse("stripes:vertical,period=2,count=10,seed=3").dataset()
    assert data.samples.shape == (10, 1, 8, 8)
    assert data.samples.dtype == np.float32
    assert np.array_equal(data.samples[:, :, :1].repeat(8, axis=2), data.samples)
    with pytest.raises(InputError, match="no option 'size': it takes period, count"):
        DataSpec.parse("stripes:vertical,size=3").dataset()
    with pytest.raises(InputError, match="8x8, expected 1x4x4"):
        DataSpec.parse("stripes:vertical").dataset((1, 4, 4))


def test_a_probe(project):
    assert ProbeSpec.parse("loud:3").probe((1, 8, 8)) == Gaussian(3.0)
    assert sads.estimate_geometry("tiny", probe="loud", networks=16).plan.probe == "gaussian:10"


def test_a_sweep(project):
    (project / "spec.toml").write_text(
        'protocol = { preset = "smoke", iterations = 2, samples = 8, steps = 2 }\nseeds = [0]\n'
        '[[grid]]\nnetworks = ["tiny,width=4"]\ndata = ["stripes:vertical"]\n'
    )
    run_sweep(project / "spec.toml", project / "out", engine=InProcess())
    (row,) = read_rows(project / "out")[1]
    assert row["status"] == "done"
    assert row["sw2"] > 0


@pytest.mark.parametrize(
    ("make", "known"),
    [
        (lambda: DataSpec.parse("strips:vertical").dataset(), "unknown data.*, stripes"),
        (lambda: ProbeSpec.parse("quiet").probe((1, 8, 8)), "unknown probe.*, loud"),
    ],
)
def test_unknown_names_are_told_apart_from_those_of_plug_ins(project, make, known):
    with pytest.raises(InputError, match=known):
        make()


def test_names_of_this_package_cannot_be_replaced(project):
    path = project / "pyproject.toml"
    path.write_text(path.read_text().replace("stripes =", "digits =").replace('0.1"', '0.2"'))
    install(project, project)
    assert DataSpec.parse("digits").dataset().samples.shape == (1797, 1, 8, 8)


def test_a_plug_in_that_cannot_be_imported_is_named(project):
    (project / "stripes.py").write_text("import nothing_of_the_kind\n")
    with pytest.raises(InputError, match=r"the plug-in stripes \(stripes:read\) cannot be loaded"):
        DataSpec.parse("stripes:vertical").dataset()
