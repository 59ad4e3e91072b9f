import numpy as np
import pytest
import torch

import sads.specs.factories as networks_module
from sads.errors import InputError
from sads.geometry import Forward, Gaussian, Point, Zero
from sads.specs import parse_shape, parse_timesteps
from sads.specs.coercion import as_dataset, as_family, as_probe


@pytest.mark.parametrize(
    ("text", "shape"),
    [("1x16x16", (1, 16, 16)), ("3X8x8", (3, 8, 8)), ("2x9", (2, 9)), ("5", (5,))],
)
def test_shapes(text, shape):
    assert parse_shape(text) == shape


@pytest.mark.parametrize("text", ["", "x", "16y16", "0x3x3", "1x2x3x4x5", "-1x3x3", "1.5x2x2"])
def test_malformed_shapes(text):
    with pytest.raises(InputError, match="a shape looks like"):
        parse_shape(text)


def test_presets_take_fields_and_shapes():
    family = as_family("iddpm-16,resampling=area,groups=8,mults=1x1,zero-init=false")
    network = family.factory()
    assert network.resampling == "area"
    assert network.norm.num_groups == 8
    assert sum(type(m).__name__ == "Upsample" for m in network.modules()) == 1
    assert as_family("dit-2,depth=4", shape=(3, 8, 8)).factory().shape == (3, 8, 8)
    linear = as_family("linear,eigenvalues=8x5x3x2x1").factory()
    np.testing.assert_allclose(np.diag(linear.phi.numpy()) ** 2, [8, 5, 3, 2, 1], rtol=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("iddpm16", "did you mean 'iddpm-16'"),
        ("", "expected one of"),
        ("iddpm-16,group=8", "did you mean 'groups'"),
        ("iddpm-16,groups=many", "groups is a whole number"),
        ("iddpm-16,zero_init=maybe", "true or false"),
        ("iddpm-16,groups=8,groups=4", "twice"),
        ("iddpm-16,=8", "without a name"),
        ("nowhere.py:make", "no such file"),
        ("no_such_package.module:make", "cannot be imported"),
        ("collections:OrderedDict", "pass one, for example shape="),
        ("collections:OrderedDic", "did you mean OrderedDict"),
        ("math:pi", "not callable"),
        ("collections:OrderedDict,x=1", "takes no fields but prediction"),
        ("collections:OrderedDict,prediction=w", "eps, v, x0"),
        ("torch.nn:Linear", "is a class, not a factory"),
        ("math:hypot", "pass one, for example shape="),
        ("shutil:copyfile", r"needs arguments \(src, dst\)"),
        ("diffusers:nowhere.json", "no such file"),
    ],
)
def test_networks_that_do_not_exist(text, message):
    with pytest.raises(InputError, match=message):
        as_family(text)


def test_a_factory_in_a_file(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from torch import nn\n"
        "class Mine(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer = nn.Conv2d(1, 1, 3, padding=1)\n"
        "    def forward(self, x, t):\n"
        "        return self.layer(x)\n"
        "def make():\n"
        "    return Mine()\n"
    )
    family = as_family(f"{tmp_path}/mine.py:make", shape=(1, 4, 4))
    assert type(family.factory()).__name__ == "Mine"
    assert as_family(f"{tmp_path}/mine.py:make,prediction=v", shape=(1, 4, 4)).prediction == "v"
    with pytest.raises(InputError, match=r"did you mean mine.py"):
        as_family(f"{tmp_path}/mne.py:make", shape=(1, 4, 4))
    (tmp_path / "one.py").write_text("from torch import nn\nnetwork = nn.Linear(2, 2)\n")
    with pytest.raises(InputError, match="is one network, not a factory"):
        as_family(f"{tmp_path}/one.py:network", shape=(1, 4, 4))
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(3)\n")
    with pytest.raises(InputError, match="SystemExit: 3"):
        as_family(f"{tmp_path}/leaves.py:make", shape=(1, 4, 4))
    (tmp_path / "broken.py").write_text("1 / 0\n")
    with pytest.raises(InputError, match="ZeroDivisionError"):
        as_family(f"{tmp_path}/broken.py:make", shape=(1, 4, 4))


def test_imports_that_hang_or_touch_the_seed(tmp_path, monkeypatch):
    monkeypatch.setattr(networks_module, "IMPORT_SECONDS", 0.5)
    (tmp_path / "hangs.py").write_text("import time\ntime.sleep(600)\n")
    with pytest.raises(InputError, match="did not finish within"):
        as_family(f"{tmp_path}/hangs.py:make", shape=(1, 4, 4))
    (tmp_path / "seeds.py").write_text("import torch\ntorch.manual_seed(1)\ndef make(): ...\n")
    before = torch.get_rng_state()
    as_family(f"{tmp_path}/seeds.py:make", shape=(1, 4, 4))
    assert torch.equal(torch.get_rng_state(), before)


def test_probes(tmp_path):
    shape = (1, 4, 4)
    assert as_probe("zero", shape=shape) == Zero()
    assert as_probe("gaussian:0.5", shape=shape) == Gaussian(0.5)
    np.save(tmp_path / "x.npy", np.arange(16.0).reshape(4, 4))
    point = as_probe(f"point:{tmp_path}/x.npy", shape=shape)
    assert isinstance(point, Point)
    assert point.x.shape == shape
    forward = as_probe("forward:digits,count=3", shape=shape)
    assert isinstance(forward, Forward)
    assert forward.images.shape == (3, 1, 4, 4)


@pytest.mark.parametrize(
    "text",
    ["one", "zero:1", "gaussian:-1", "gaussian:x", "point", "point:nowhere.npy", "forward:nothing"],
)
def test_probes_that_do_not_exist(text):
    with pytest.raises(InputError):
        as_probe(text, shape=(1, 4, 4))


def test_a_point_of_another_size_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros(9))
    with pytest.raises(InputError, match="expected"):
        as_probe(f"point:{tmp_path}/x.npy", shape=(1, 4, 4))


def test_timesteps():
    assert parse_timesteps("0:100") == (0, 100)
    for text in ("100", "a:b", ":5", "-1:5"):
        with pytest.raises(InputError, match="a range like"):
            parse_timesteps(text)


def test_data_of_another_shape_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((5, 3, 3)))
    with pytest.raises(InputError, match="expected 1x4x4"):
        as_dataset(f"npy:{tmp_path}/x.npy", shape=(1, 4, 4))
    assert as_dataset(f"npy:{tmp_path}/x.npy", shape=(1, 3, 3)).samples.shape == (5, 1, 3, 3)
