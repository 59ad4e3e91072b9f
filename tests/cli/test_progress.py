"""Long commands without a terminal write a line now and then, short ones none."""

import json
import re
import time
from collections import Counter
from dataclasses import replace

import pytest

from sads.cli import plain_progress
from sads.cli.plain_progress import Count
from sads.cli.progress import networks_bar, status, steps_bar, sweep_table, waiting
from sads.geometry import Progress
from sads.sweep.execute.driver import Progress as SweepProgress

from .test_train_cli import train


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(plain_progress, "FIRST_SECONDS", 0.05)
    monkeypatch.setattr(plain_progress, "EVERY_SECONDS", 0.05)


def test_steps_are_told_with_the_time_left(impatient, capsys):
    with steps_bar("mine") as report:
        for step in range(1, 41):
            report(step, 100, f"loss {1 / step:.3f}")
            time.sleep(0.01)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) >= 2
    for line in lines:
        assert re.fullmatch(r"sads: mine: \d+ of 100 steps, loss 0\.\d+(, about .+ left)?", line), (
            line
        )
    assert "left" in lines[-1]


def test_the_pace_is_that_since_the_first_update():
    """A run that goes on at step 1,000 has not made them all in no time."""
    now = [0.0]
    count = Count("mine", "steps", clock=lambda: now[0])
    count.update(1_000, 2_000, "")
    assert count.seconds_left() is None
    now[0] = 10.0
    count.update(1_100, 2_000, "")
    assert count.seconds_left() == pytest.approx(90.0)
    assert str(count) == "mine: 1,100 of 2,000 steps, about 90 s left"


def test_work_without_steps_is_told_too(impatient, capsys):
    """The lines come although nothing is reported in between."""
    with waiting("first stage") as tell:
        time.sleep(0.3)
        tell("second stage")
        time.sleep(0.3)
    with status("figure 4"):
        print("a result in between")
        time.sleep(0.3)
    said = capsys.readouterr()
    assert said.out == "a result in between\n"
    stages = [line.split(",")[0] for line in said.err.splitlines()]
    assert stages == sorted(
        stages, key=["sads: first stage", "sads: second stage", "sads: figure 4"].index
    )
    assert len(set(stages)) == 3


def test_geometries_and_sweeps_are_told(impatient, capsys):
    with networks_bar("cnn") as report:
        report(Progress(48, 480, 0.1))
        time.sleep(0.3)
    assert "sads: cnn: 48 of 480 networks, error 0.1000" in capsys.readouterr().err
    with sweep_table("smoke") as report:
        report(SweepProgress(Counter(done=3, pending=5), ("a", "b"), 130.0))
        time.sleep(0.3)
    said = capsys.readouterr().err
    assert "sads: smoke: 3 of 8 trials done, 2 running, 0 failed, time left about 2.2 min" in said


def test_a_training_writes_lines_also_with_json(sads, tmp_path, monkeypatch):
    monkeypatch.setattr(plain_progress, "FIRST_SECONDS", 0.02)
    monkeypatch.setattr(plain_progress, "EVERY_SECONDS", 0.02)
    code, out, err = sads(*train(out=str(tmp_path / "run"), iterations="200"), "--json")
    assert code == 0
    assert out.count("\n") == 1
    assert re.search(r"sads: mlp,width=16: \d+ of 200 steps, loss", err)


def test_a_short_command_says_nothing(sads, tmp_path, monkeypatch):
    monkeypatch.setattr(plain_progress, "FIRST_SECONDS", 5.0)
    code, _, err = sads(*train(out=str(tmp_path / "run")))
    assert (code, err) == (0, "")


def test_an_error_ends_the_lines(impatient, capsys):
    def fail():
        with waiting("working"):
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    capsys.readouterr()
    time.sleep(0.15)
    assert capsys.readouterr().err == ""


def test_what_is_prepared_and_the_subspace_are_shown(impatient, capsys):
    with networks_bar("mine") as report:
        report(Progress(0, None, None, "looking at a few networks"))
        time.sleep(0.2)
        report(Progress(3, 40, None, "sketch of the subspace", "adaptive:512"))
        time.sleep(0.2)
        report(Progress(48, 480, 0.1, "", "adaptive:512"))
        time.sleep(0.2)
    said = capsys.readouterr().err
    assert "sads: mine, looking at a few networks: 0 networks" in said
    assert "mine in the subspace adaptive:512, sketch of the subspace: 3 of 40 networks" in said
    assert "mine in the subspace adaptive:512: 48 of 480 networks, error 0.1000" in said


@pytest.mark.parametrize(("chosen", "pause", "warned"), [(True, 0.01, 1), (False, 0.01, 0)])
def test_a_subspace_that_was_not_asked_for_is_announced_with_its_time(
    capsys, monkeypatch, chosen, pause, warned
):
    monkeypatch.setattr("sads.cli.progress.LONG_SECONDS", 1.0)
    with networks_bar("mine") as report:
        for networks in range(4):
            report(Progress(networks, 10_000, None, "", "dct:32", chosen))
            time.sleep(pause)
    said = capsys.readouterr().err
    assert said.count("is estimated in the subspace dct:32, which will take about") == warned


def test_the_time_in_a_chosen_subspace_is_said_before_the_first_network(sads, monkeypatch):
    """At the pace of the networks whose precisions were compared, which is slowed down here."""
    from sads.geometry import run, subspace_choice

    monkeypatch.setattr(subspace_choice, "available_memory", lambda: 2**19)
    monkeypatch.setattr("sads.cli.progress.LONG_SECONDS", 1.0)
    settled, seen = run.settled, []

    def paced(source, goal):
        slow = settled(source, goal)
        assert 0 < slow.pace < 1
        return replace(slow, pace=10.0)

    def stopped(*_):
        seen.append("a batch")
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "settled", paced)
    monkeypatch.setattr(run._Run, "advance", stopped)
    command = ("geometry", "cnn", "--shape", "1x12x12", "--networks", "240")
    _, _, err = sads(*command, "--estimator", "naive")
    assert seen == ["a batch"]
    assert "which will take about 40 min for 240 networks" in err
    seen.clear()
    assert "which will take" not in sads(*command, "--subspace", "dct:4")[2]  # as was asked
    assert seen == ["a batch"]


def test_the_whole_time_is_stated(sads, monkeypatch, tmp_path):
    from sads.geometry import source

    prepare = source.prepare

    def slowly(*args, **options):
        time.sleep(0.5)
        return prepare(*args, **options)

    monkeypatch.setattr("sads.geometry.estimate.prepare", slowly)
    out = tmp_path / "geometry"
    options = ("--shape", "1x4x4", "--networks", "24", "--out", str(out), "--json")
    code, said, _ = sads("geometry", "cnn", *options)
    assert code == 0
    found = json.loads(said)
    assert 0.5 < found["seconds"] <= found["seconds_in_all"]
