"""Watching a run: what is told, and that nothing is touched."""

import json
import sqlite3
from dataclasses import replace

import pytest
import torch

import sads as package
from sads.cli import main
from sads.geometry import load_geometry
from sads.storage.files import writing
from sads.sweep.store.rows import seal_rows
from sads.watch import look
from tests.sweep.small import InProcess, write_spec

NETWORK = "iddpm-16,channels=8,groups=8,mults=1x1"


@pytest.fixture
def sads(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["sads", *arguments])
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_a_geometry_is_finished_stopped_or_running(tmp_path):
    package.estimate_geometry(NETWORK, shape="1x8x8", networks=120, out=tmp_path)
    rows = dict(look(tmp_path).rows)
    assert rows["state"] == "finished"
    assert rows["networks"] == "120"
    assert "directions known to within ± " in rows["known"]
    known = load_geometry(tmp_path)
    replace(known, state=replace(known.state, finished=False)).save(tmp_path)
    assert not look(tmp_path).finished
    assert dict(look(tmp_path).rows)["state"].startswith("stopped")
    with writing(tmp_path):
        assert look(tmp_path).running
        assert dict(look(tmp_path).rows)["state"] == "running"
    assert look(tmp_path).running is False


def test_a_sweep_says_what_is_done_and_left(tmp_path):
    spec = write_spec(tmp_path, indices=(0, 5), seeds=(0, 1))
    package.run_sweep(spec, tmp_path / "out", engine=InProcess())
    state = look(tmp_path / "out")
    assert state.finished
    assert dict(state.rows)["done"] == "4 of 4"
    with sqlite3.connect(tmp_path / "out" / "sweep.sqlite") as connection:
        worst = "(SELECT min(id) FROM trials)"
        connection.execute(f"UPDATE trials SET status = 'pending' WHERE id = {worst}")
        last = "(SELECT max(id) FROM trials)"
        connection.execute(
            f"UPDATE trials SET status = 'failed', error = 'it broke' WHERE id = {last}"
        )
        seal_rows(connection)
    connection.close()
    state = look(tmp_path / "out")
    assert not state.finished
    rows = dict(state.rows)
    assert rows["done"] == "2 of 4"
    assert (state.numbers["done"], state.numbers["of"], state.numbers["failed"]) == (2, 4, 1)
    assert rows["failed"].endswith("it broke")


def test_the_command_prints_a_table_or_json(sads, tmp_path):
    package.estimate_geometry("dit-2", shape="1x8x8", out=tmp_path / "dit")
    code, said, _ = sads("watch", str(tmp_path / "dit"))
    assert code == 0
    assert "closed form" in said
    code, said, _ = sads("watch", str(tmp_path / "dit"), "--json")
    assert json.loads(said)["finished"] is True


def test_bad_input_is_one_line(sads, tmp_path):
    code, _, error = sads("watch", str(tmp_path))
    assert code == 2
    assert "no geometry, training, monitor or sweep in" in error
    assert error.count("\n") == 1
    package.estimate_geometry("dit-2", shape="1x8x8", out=tmp_path / "dit")
    assert sads("watch", str(tmp_path / "dit"), "--every", "0")[0] == 2


TRAINING = {"shape": "1x8x8", "iterations": 6, "batch_size": 4}


class StopError(Exception):
    pass


def stopped_training(out, moment=4):
    """A training of six steps that was stopped at one of them."""

    def stop(step):
        if step.number == moment:
            raise StopError

    with pytest.raises(StopError):
        package.train("mlp,width=8", "digits", out=out, callbacks=(stop,), **TRAINING)


def test_a_training_is_stopped_running_or_finished(tmp_path, monkeypatch):
    monkeypatch.setattr("sads.diffusion.training.CHECKPOINT_SECONDS", 0.0)
    stopped_training(tmp_path)
    state = look(tmp_path)
    rows = dict(state.rows)
    assert rows["state"].startswith("stopped")
    assert rows["steps"] == "3 of 6"  # the fourth was not stored any more
    assert "time left" in rows
    assert (state.finished, state.running) == (False, False)
    assert (state.numbers["step"], state.numbers["of"]) == (3, 6)
    assert state.numbers["loss"] > 0
    assert state.numbers["seconds_left"] == pytest.approx(3 / state.numbers["steps_a_second"])
    with writing(tmp_path):
        assert dict(look(tmp_path).rows)["state"] == "running"
    package.train("mlp,width=8", "digits", out=tmp_path, **TRAINING)
    state = look(tmp_path)
    assert (state.finished, state.numbers["step"], state.numbers["seconds_left"]) == (
        True,
        6,
        None,
    )


def test_a_training_that_stored_nothing_yet_runs(tmp_path):
    with writing(tmp_path / "new"):
        assert look(tmp_path / "new").running
        assert look(tmp_path).running


def test_a_folder_shows_all_runs_in_it(sads, tmp_path, monkeypatch):
    monkeypatch.setattr("sads.diffusion.training.CHECKPOINT_SECONDS", 0.0)
    stopped_training(tmp_path / "deeper" / "training")
    package.estimate_geometry("dit-2", shape="1x8x8", out=tmp_path / "dit")
    spec = write_spec(tmp_path, indices=(0,), seeds=(0,))
    package.run_sweep(spec, tmp_path / "sweep", engine=InProcess())
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "training.safetensors").write_bytes(b"nonsense")
    (tmp_path / "empty").mkdir()
    code, said, _ = sads("watch", str(tmp_path), "--json")
    assert code == 0
    printed = json.loads(said)
    titles = [run["title"] for run in printed["runs"]]
    assert [title.split(" ")[0] for title in titles[1:]] == ["training", "geometry", "sweep"]
    assert titles[0].endswith("broken")
    assert printed["rows"][0][1].startswith("unreadable")
    assert not printed["finished"]
    assert [run["finished"] for run in printed["runs"][1:]] == [False, True, True]
    code, said, _ = sads("watch", str(tmp_path))
    assert code == 0
    assert "3 of 6" in said


def test_a_monitor_says_what_lags(sads, tmp_path):
    with package.Monitor((2, 4, 4), every=5, out=tmp_path / "monitor") as monitor:
        for _ in range(20):
            target = torch.randn(32, 2, 4, 4)
            prediction = 0.9 * target
            prediction[:, 0] -= prediction[:, 0].mean(dim=(1, 2), keepdim=True)
            monitor.update(prediction, target, torch.randint(1000, (32,)))
        monitor.flush()
        state = look(tmp_path / "monitor")
        assert (state.finished, state.running) == (False, True)
        assert (state.numbers["updates"], state.numbers["lagging"]) == (20, 1)
    code, said, _ = sads("watch", str(tmp_path / "monitor"), "--json")
    assert code == 0
    known = json.loads(said)
    assert known["finished"] is True
    assert any("Mean of channel 0 lags" in value for _, value in known["rows"])
    assert sads("watch", str(tmp_path))[0] == 0  # in a folder
