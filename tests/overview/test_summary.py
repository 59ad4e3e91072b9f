"""One table about an architecture: what it says, in which order, and of which sources."""

import json
import logging
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

import sads as package
from sads.cli.summary import summary as command
from sads.doctor import diagnose
from sads.errors import NetworkError
from sads.presentation.network_summary import closing, next_step, summary_rows, summary_values

SMALL = "iddpm-16,channels=8,groups=8,mults=1x1"
SHAPE = (1, 8, 8)


class Net(nn.Module):
    def __init__(self, width: int = 8):
        super().__init__()
        self.width = width
        self.inner = nn.Conv2d(1, width, 3, padding=1)
        self.time = nn.Linear(1, width)
        self.head = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, x, t):
        time = self.time(t[:, None].float() / 1000)[:, :, None, None]
        return self.head(torch.nn.functional.silu(self.inner(x) + time))


class Forgetful(Net):
    def __init__(self, secret: int):
        super().__init__(secret)


@pytest.fixture(scope="module")
def blind():
    return package.summary(SMALL, "1x8x8", networks=96)


def test_the_table_names_everything(blind):
    rows = {}
    for name, value in summary_rows(blind):
        rows.setdefault(name, []).append(value)
    network = package.network(SMALL, shape="1x8x8").member(0)
    assert rows["parameters"] == [f"{sum(p.numel() for p in network.parameters()):,}"]
    assert rows["predicts"][0].startswith("noise prediction")
    assert rows["doctor"][0].startswith("! time-blind")
    assert "of 64 directions" in rows["anisotropy"][0]
    assert "eigenvalue" in rows["mean of channel 0"][0]
    assert "eigenvalue" in rows["low frequencies"][0]
    told = rows["learned last"][0]
    assert "on gaussian" in told
    assert told.startswith("no order to forecast") == (not blind.forecast.has_order)
    assert closing(blind) == f"Next, what to change:\n  sads doctor {SMALL} --shape 1x8x8"
    assert "time-blind" in str(blind)
    assert "<table>" in blind._repr_html_()
    assert {"parameters", "effective directions", "drift, mean of channel 0"} <= {
        *blind.to_frame()["name"]
    }


def test_the_doctor_says_what_it_says_alone(blind):
    assert str(blind.diagnosis) == str(package.diagnose(SMALL, shape="1x8x8", networks=96))


def test_a_geometry_of_other_layers_is_not_lent_to_the_doctor():
    family = package.network(SMALL, shape="1x8x8")
    other = package.estimate_geometry("mlp,width=8,depth=1", shape="1x8x8", networks=96)
    assert str(diagnose(family, networks=96, at_zero=other)) == str(diagnose(family, networks=96))


def test_large_samples_get_fewer_networks():
    small, large = (
        package.summary("mlp,width=8,depth=1", shape).diagnosis for shape in ("1x8x8", "1x32x32")
    )
    assert (small.networks, large.networks) == (192, 96)


def test_the_numbers_are_those_of_the_parts(blind):
    geometry = package.estimate_geometry(SMALL, shape="1x8x8", networks=96)
    values = np.linalg.eigvalsh(geometry.matrix())
    plain = values.sum() ** 2 / (values**2).sum()  # biased low by the noise of the estimate
    assert plain < blind.effective < 1.3 * plain
    assert 0 < blind.effective_error < 0.2 * blind.effective
    mean = np.full(64, 1 / 8)
    place = dict(blind.places)["mean of channel 0"]
    relative = mean @ geometry.matrix() @ mean / (geometry.trace / 64)
    assert place.relative == pytest.approx(relative)


def test_parts_come_one_after_the_other():
    seen = []
    package.summary("cnn,width=8,depth=1", "1x4x4", networks=24, on_part=seen.append)
    known = [
        (
            s.parameters is not None,
            s.effective is not None,
            s.diagnosis is not None,
            s.forecast is not None,
        )
        for s in seen
    ]
    assert known == [(True,) * k + (False,) * (4 - k) for k in (1, 2, 3, 4)]
    assert dict(summary_rows(seen[0]))["anisotropy"] == "..."
    assert next_step(seen[0]) is None


def test_a_built_module_is_made_again_or_redrawn_and_that_is_said(caplog):
    made = package.summary(Net(4), SHAPE, networks=24)
    assert made.origin == "arguments"
    assert made.network == "Net"
    redrawn = package.summary(Forgetful(4), SHAPE, networks=24)
    assert redrawn.origin == "measured"
    assert "redrawn" in dict(summary_rows(redrawn))["fresh networks"]
    # The distributions are nearly those it started from, so the geometry is nearly the same.
    assert redrawn.effective == pytest.approx(made.effective, rel=0.35)
    with caplog.at_level(logging.WARNING, "sads"):
        package.estimate_geometry(Forgetful(4), shape=SHAPE, networks=24, probe="gaussian:1")
    assert "parameters drawn from the distributions of its own" in caplog.text


def test_a_compiled_module_is_asked_like_the_one_inside():
    network = Net(4)
    network.compile()  # in place, and it stays so
    compiled = package.summary(torch.compile(network), SHAPE, networks=24)
    assert (compiled.network, compiled.origin) == ("Net", "arguments")
    assert network._compiled_call_impl is not None
    assert summary_rows(compiled) == summary_rows(package.summary(Net(4), SHAPE, networks=24))


def test_a_first_step_in_the_wrong_direction_has_no_pace(blind):
    wrong = SimpleNamespace(
        has_order=True,
        labels=("mean of channel 0", "frequency 0.1-0.2", "frequency 0.3-0.4"),
        drift=np.array([-900.0, -100.0, -90.0]),
        drift_error=np.full(3, 0.1),
    )
    rows = dict(summary_rows(replace(blind, forecast=wrong)))
    assert rows["learned last"].startswith("mean of channel 0, on gaussian; the first step makes")


def test_what_cannot_be_told_is_said():
    class OnlyForward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

    class Odd(Net):
        def forward(self, x, t):
            return OnlyForward.apply(super().forward(x, t))

    try:
        summary = package.summary(Odd, SHAPE, networks=24)
    except NetworkError:
        pytest.fail("the parts that can be told are told")
    assert summary.parameters is not None
    assert all(why for _, why in summary.untold)


def test_where_nothing_can_be_told_the_doctor_is_next_and_the_exit_code_is_2(tmp_path, capsys):
    text = "from torch import nn\n\nclass Net(nn.Module):\n"
    text += "    def __init__(self):\n        super().__init__()\n"
    text += "        self.a = nn.Conv2d(1, 1, 3, padding=1)\n\n"
    text += "    def forward(self, x, t):\n        return self.a(x) + t[:, None, None, None]\n\n"
    text += "def make():\n    return Net()\n"
    (tmp_path / "flat.py").write_text(text)
    with pytest.raises(SystemExit, match="2"):
        command(f"{tmp_path / 'flat.py'}:make", shape="1x8", networks=24)
    said = capsys.readouterr().out
    assert "must return the shape of its input" in " ".join(said.split())
    assert "sads doctor" in said
    assert "sads forecast" not in said


def test_plain_values_hold_no_arrays(blind):
    json.dumps(summary_values(blind))


def make():
    return Net()


@pytest.mark.parametrize(
    ("source", "prediction"),
    [(make, None), (Net(4), None), (lambda: Net(4), None), ("cnn,width=8", "v")],
    ids=["function", "module", "lambda", "keyword"],
)
def test_the_next_line_in_python_works_as_it_stands(source, prediction, capsys):
    summary = package.summary(source, SHAPE, networks=24, prediction=prediction)
    why, line = next_step(summary)
    assert line.startswith("print(sads.")
    assert line in str(summary).splitlines()[-2]
    short = line.replace(
        "shape=", "networks=24, shape=" if "diagnose" in line else "networks=8, shape="
    )
    exec(short, {"sads": package, "make": make, "network": source})  # noqa: S102 - our own words
    assert capsys.readouterr().out.count("\n") > 2
    assert why


def test_the_table_fits_a_terminal(blind):
    assert max(map(len, str(blind).splitlines())) <= 100
