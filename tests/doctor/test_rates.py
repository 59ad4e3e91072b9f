"""Healthy networks are left in peace: what is usual is said in one line, and how often it is."""

import numpy as np
import pytest
import torch
from torch import nn

import sads
from benchmarks import doctor_cost as costs
from benchmarks import doctor_looks as looks
from benchmarks import doctor_rates as rates
from sads.doctor import Diagnosis, Finding
from sads.doctor.findings import spectrum
from sads.doctor.worth import Worth
from sads.presentation.doctor import sentences

RECORDED = ("tensors", "vectors", "signals", "zeros")


class Perceptron(nn.Module):
    """Two layers on image and time."""

    def __init__(self, activation):
        super().__init__()
        self.first, self.last, self.activation = nn.Linear(17, 64), nn.Linear(64, 16), activation

    def forward(self, x, t):
        h = torch.cat([x.flatten(1), (t / 1000).to(x)[:, None]], dim=1)
        return self.last(self.activation(self.first(h))).view_as(x)


class Convolutions(nn.Module):
    """Two layers, the time added in between."""

    def __init__(self, activation):
        super().__init__()
        self.first, self.last = (nn.Conv2d(n, m, 3, padding=1) for n, m in ((1, 16), (16, 1)))
        self.time, self.activation = nn.Linear(1, 16), activation

    def forward(self, x, t):
        shift = self.time((t / 1000).to(x)[:, None])[:, :, None, None]
        return self.last(self.activation(self.first(x) + shift))


@pytest.mark.parametrize("kind", [Perceptron, Convolutions])
@pytest.mark.parametrize("activation", [torch.relu, torch.tanh, nn.functional.silu])
def test_nothing_above_a_note_is_said_of_two_healthy_layers(kind, activation):
    family = sads.ScoreFamily(lambda: kind(activation), (1, 4, 4), name="two layers")
    findings = sads.diagnose(family, networks=24).findings
    assert {finding.severity for finding in findings} <= {"note"}


def finding(code: str, *, usual: bool) -> Finding:
    return Finding(code, "note", f"evidence of {code}", "meaning", "suggestion", usual=usual)


def test_usual_findings_share_a_line_unless_asked_for():
    findings = (
        finding("null-space", usual=False),
        finding("padding-only", usual=True),
        finding("probe-sensitive", usual=True),
    )
    diagnosis = Diagnosis("mine", (1, 4, 4), findings, 24, ())
    said = "\n".join(sentences(diagnosis))
    assert "mine on 1x4x4: 1 note." in said
    assert "evidence of null-space" in said
    assert "evidence of padding-only" not in said
    assert "Common in healthy networks: padding-only, probe-sensitive (--all says more)." in said
    said = "\n".join(sentences(diagnosis, everything=True))
    assert "3 notes" in said
    assert "evidence of probe-sensitive" in said
    assert "Common in healthy" not in said


def test_only_findings_that_are_common_are_called_usual():
    findings = sads.diagnose("cnn", shape="1x4x4", networks=24).findings
    usual = {one.code for one in findings if one.usual}
    assert "padding-only" in usual
    assert usual <= {"padding-only", "probe-sensitive", "low-frequency-heavy"}


@pytest.mark.parametrize("name", RECORDED)
def test_the_recorded_findings_are_those_of_the_networks(name):
    family = dict(rates.zoo())[name]
    assert rates.said_of(family) == rates.read_record()["zoo"][name]


def test_the_record_has_all_networks_of_its_groups():
    record = rates.read_record()
    assert set(record["zoo"]) == {subject.factory for subject in rates.SUBJECTS}
    assert record["atlas"] == rates.of_atlas()
    loud = {
        (name, code)
        for group in record.values()
        for name, one in group.items()
        for code, severity in one.items()
        if severity != "note"
    }
    assert loud == {("U-Net of the paper", "time-blind")}  # which it is


def test_the_table_shows_the_worst_severity():
    found = {"a": {"x": "note"}, "b": {"x": "error", "y": "note"}, "c": {"x": "warning"}}
    shown = rates.table({"zoo": found, "atlas": {"d": {"x": "note"}}}).splitlines()
    assert shown == [
        "| finding | severity | zoo, of 3 | atlas, of 1 | remedies that lowered SW2 |",
        "| --- | --- | --- | --- | --- |",
        "| `x` | error | 3 | 1 | not trained |",
        "| `y` | note | 1 | 0 | not trained |",
    ]


def test_the_table_says_which_findings_cost_quality():
    def tried(network: str, interval: tuple[float, float]) -> Worth:
        return Worth("x", network, "remedy", "digits", 2.0, 1.0, 1.0, interval, 5)

    rows = [tried("a", (0.5, 1.5)), tried("a", (-0.5, 2.5)), tried("b", (-2.0, -1.0))]
    assert rates.cost(rows) == "`a`: 1 of 2; `b`: 0 of 1"
    (line,) = rates.table({"zoo": {"one": {"time-blind": "warning"}}}).splitlines()[2:]
    assert line.endswith("| 1 | `iddpm-16`: 4 of 4 |")


def test_the_table_in_the_docs_is_that_of_the_record():
    page = rates.PAGE.read_text()
    assert rates.page_with(rates.table(rates.read_record()), page) == page


def test_a_first_look_says_the_same_of_every_recorded_network():
    for group in costs.read_costs().values():
        for row in group.values():
            assert row["early"]["findings"] == row["whole"]["findings"]
            assert row["early"]["networks"] <= row["whole"]["networks"]


def test_the_table_of_costs_is_that_of_the_record():
    page = costs.PAGE.read_text()
    assert costs.page_with(costs.table(costs.read_costs()), page) == page


def test_the_table_of_looks_is_that_of_the_simulation():
    page = looks.PAGE.read_text()
    assert looks.page_with(looks.table(looks.read_looks()), page) == page


def test_a_first_look_seldom_decides_otherwise_than_all_networks():
    """In the recorded simulation, and that a wrong decision would be seen by it."""
    rows = looks.read_looks()
    decided = sum(row["ended early"] for row in rows)
    assert decided > 1000
    assert sum(row["ended early with another answer"] for row in rows) < 0.002 * decided


def test_a_simulated_first_look_that_is_too_sure_is_seen(monkeypatch):
    """Without the reach of four standard errors a share near its limit is decided wrongly."""
    monkeypatch.setattr(spectrum, "CERTAIN", 0.0)
    rng, truth = np.random.default_rng(0), looks.smooth(0.5)
    outcomes = [looks.said(spectrum.low_frequency_heavy, truth, truth, rng) for _ in range(30)]
    assert sum(early and first != alone for early, first, alone, _ in outcomes) >= 5
