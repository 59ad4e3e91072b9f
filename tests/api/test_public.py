"""The public surface: few names, quick to import, usable as the README says."""

import subprocess
import sys

import numpy as np
import pytest
from torch import nn

import sads


def test_every_public_name_exists():
    for name in sads.__all__:
        assert getattr(sads, name) is not None
    assert set(dir(sads)) == set(sads.__all__)
    with pytest.raises(AttributeError):
        _ = sads.no_such_name


@pytest.mark.parametrize("code", ["import sads", "import sads.cli"])
def test_import_does_not_load_torch(code):
    check = f"{code}; import sys; assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_estimate_by_name_by_family_and_by_factory():
    fields = "iddpm-16,channels=8,groups=8,mults=1x1"
    by_name = sads.estimate_geometry(fields, shape="1x8x8", networks=60)
    family = sads.network(fields, shape=(1, 8, 8))
    np.testing.assert_array_equal(
        by_name.factor, sads.estimate_geometry(family, networks=60).factor
    )
    found = sads.estimate_geometry(
        lambda: Conv(), shape=(1, 4, 4), networks=60, probe=sads.Gaussian(1.0)
    )
    assert found.structure.kind == "channels"
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
