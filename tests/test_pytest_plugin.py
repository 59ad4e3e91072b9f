"""The checks that other projects run on their networks, on planted ones."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from torch import Tensor, nn

import sads
from sads.pytest_plugin import assert_healthy, assert_learns, assert_same_geometry

SHAPE = (1, 4, 4)
HERE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Conv2d(1, width, 3, padding=1)
        self.time = nn.Linear(1, width)
        self.head = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, x, t):
        time = self.time(t[:, None].float() / 1000)[:, :, None, None]
        return self.head(torch.nn.functional.silu(self.inner(x) + time))

def test_network(assert_healthy, assert_same_geometry, assert_learns):
    assert_healthy(lambda: Net(16), (1, 4, 4), networks=64, fail_on="error")
    assert_same_geometry(lambda: Net(16), "golden", (1, 4, 4), networks=48)
    assert_learns(lambda: Net(16), "gaussian", worst=-1.0, shape=(1, 4, 4), iterations=5)
"""


class Net(nn.Module):
    """A healthy network, or one whose output is silenced or does not see the time."""

    def __init__(self, *, zero: bool = False, scale: float = 1.0, learns: bool = True):
        super().__init__()
        self.inner = nn.Conv2d(1, 16, 3, padding=1)
        self.time = nn.Linear(1, 16)
        self.head = nn.Conv2d(16, 1, 3, padding=1)
        self.scale, self.learns = scale, learns
        if zero:
            nn.init.zeros_(self.head.weight)
            nn.init.zeros_(self.head.bias)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        time = self.time(t[:, None].float() / 1000)[:, :, None, None]
        out = self.scale * self.head(nn.functional.silu(self.inner(x) + time))
        # The mean of the output is nobody's to learn.
        return out if self.learns else out - out.mean(dim=(1, 2, 3), keepdim=True)


def test_a_healthy_network_passes_and_a_silent_one_is_named_with_its_remedy():
    diagnosis = assert_healthy(Net, SHAPE, networks=64, fail_on="error")
    assert diagnosis.shape == SHAPE
    with pytest.raises(pytest.fail.Exception, match=r"zero-output.*To do: ") as failure:
        assert_healthy(lambda: Net(zero=True), SHAPE, networks=64, fail_on="note")
    codes = [line.split(":")[0].split()[-1] for line in str(failure.value).splitlines()[1:]]
    assert_healthy(lambda: Net(zero=True), SHAPE, networks=64, fail_on="note", allow=tuple(codes))


def test_a_geometry_is_kept_and_a_change_is_noticed(tmp_path):
    golden = tmp_path / "golden"
    with pytest.raises(pytest.fail.Exception, match=r"no geometry in .*--sads-update"):
        assert_same_geometry(Net, golden, SHAPE, networks=48)
    assert not golden.exists()
    assert_same_geometry(Net, golden, SHAPE, networks=48, update=True)
    comparison = assert_same_geometry(Net, golden, SHAPE, networks=48)
    assert comparison.distance == 0  # the same draws of the same networks
    with pytest.raises(pytest.fail.Exception, match="They differ"):
        assert_same_geometry(lambda: Net(scale=3.0), golden, SHAPE)
    assert_same_geometry(lambda: Net(scale=3.0), golden, SHAPE, ignore_scale=True)
    (golden / "notes.md").write_text("why it is so")
    assert_same_geometry(lambda: Net(scale=3.0), golden, SHAPE, update=True)
    assert (golden / "notes.md").read_text() == "why it is so"
    assert_same_geometry(lambda: Net(scale=3.0), golden, SHAPE)


def test_a_direction_that_is_not_learned_is_named():
    protocol = {
        "shape": SHAPE,
        "iterations": 60,
        "learning_rate": 1e-2,
        "directions": "dct:bands=3",
    }
    shares = assert_learns(Net, "gaussian", worst=0.05, **protocol)
    assert len(shares) == 3
    blind = partial(Net, learns=False)
    with pytest.raises(pytest.fail.Exception, match="hardly learns the mean"):
        assert_learns(blind, "gaussian", worst=0.05, **protocol)


def test_a_golden_geometry_knows_its_shape_its_subspace_and_what_it_is_of(tmp_path):
    golden = {
        "tangent": {"of": "tangent"},
        "few": {"subspace": "dct:2"},
        "naive": {"estimator": "naive"},
    }
    for name, options in golden.items():
        sads.estimate_geometry(Net, shape=SHAPE, networks=24, out=tmp_path / name, **options)
        assert assert_same_geometry(Net, tmp_path / name).distance == 0, name


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (lambda: assert_healthy(Net, SHAPE, networks=48, fail_on="bad"), "unknown severity 'bad'"),
        (lambda: assert_healthy(Net), "does not say its shape"),
        (lambda: assert_learns(Net, "digitz", worst=0.1, shape=SHAPE), "unknown data 'digitz'"),
        (lambda: assert_learns(Net, "gaussian", worst=20, shape=SHAPE), "at most 1, got 20"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_line(check, reason):
    with pytest.raises(pytest.fail.Exception, match=reason) as failure:
        check()
    assert not failure.value.pytrace
    assert "\n" not in str(failure.value)
    assert failure.value.__context__ is None  # pytest would print it as a second failure


def test_pytest_offers_the_checks_as_fixtures(tmp_path):
    Path(tmp_path, "test_network.py").write_text(HERE)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    plain = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert plain.returncode == 1
    assert "make it with --sads-update" in plain.stdout
    for options in (["--sads-update"], []):
        again = subprocess.run(
            [*command, *options], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert again.returncode == 0, again.stdout
