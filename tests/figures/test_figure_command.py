"""`sads figure` from end to end: files, verdicts, bad input, interruptions."""

import csv
import json
from importlib import import_module
from pathlib import Path

import pytest

from sads.diffusion import TrainingError
from sads.figures import FIGURES, Verdict
from sads.figures.catalogue import experiment, file_name
from sads.figures.data import Data
from sads.figures.output import write_figure
from sads.figures.style import style
from sads.sweep.store.metrics import Metrics
from sads.sweep.store.table import write_csv
from tests.cli.conftest import sads  # noqa: F401 - a fixture
from tests.sweep.small import InProcess

from .planted import contours

QUICK = ("4", "5")
INTERRUPTED = "C"  # made in the test of interruptions
KEYS = {"claim", "statistic", "value", "interval", "holds", "protocol"}


def made(sads, key, out):  # noqa: F811
    code, text, err = sads("figure", key, "--scale", "smoke", "--out", str(out), "--json")
    assert (code, err) == (0, "")
    (figure,) = json.loads(text)["figures"]
    stem = file_name(key)
    for kind in ("png", "svg", "csv", "json"):
        assert (out / f"{stem}.{kind}").stat().st_size > 0
    assert json.loads((out / f"{stem}.json").read_text()) == figure
    assert figure.keys() >= KEYS
    assert figure["protocol"]["scale"] == "smoke"
    return figure


@pytest.mark.parametrize("key", QUICK)
def test_quick_figures(sads, tmp_path, key):  # noqa: F811
    assert made(sads, key, tmp_path)["holds"] is True
    with open(tmp_path / f"{file_name(key)}.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) > 4


@pytest.mark.slow
@pytest.mark.parametrize("key", [key for key in FIGURES if key not in (*QUICK, INTERRUPTED)])
def test_all_figures(sads, tmp_path, key):  # noqa: F811
    made(sads, key, tmp_path)


def test_a_drawing_is_the_same_file_every_time(tmp_path):
    data = Data(contours(1.0, 5), {})
    verdict = Verdict("5", experiment("5").verdict(data.rows), {})
    for name in ("a", "b"):
        with style():
            write_figure(tmp_path / name, "figure-05", data, experiment("5").draw(data), verdict)
    for kind in ("svg", "png", "csv", "json"):
        first, second = ((tmp_path / name / f"figure-05.{kind}").read_bytes() for name in "ab")
        assert first == second


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("12",), "no figure '12': choose 1, 2, 3"),
        (("3", "--scale", "huge"), "a scale of figure 3 is smoke, laptop, paper, got 'huge'"),
        (("3", "--only", "x"), "figure 3 is one piece"),
        (("6", "--only", "vit"), "it has nearest, area, dit-2, dit-4"),
        (("7", "--scale", "laptop"), "pass --mnist DIR"),
        (("8", "--scale", "laptop", "--only", "cifar"), "pass --cifar npz:FILE:images,scale"),
        (("10", "--scale", "laptop", "--only", "faces"), "pass --faces folder:DIR"),
        (("all", "--scale", "laptop"), "missing data"),
        (("6", "--from", "nothing.csv"), "no such file: nothing.csv"),
        (("6", "--engine", "slurm"), "an engine is local, dask or dask:ADDRESS"),
    ],
)
def test_bad_input(sads, tmp_path, arguments, message):  # noqa: F811
    out = tmp_path / "out"
    code, text, err = sads("figure", *arguments, "--out", str(out))
    assert (code, text) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert not list(out.glob("figure-*"))


class Stopped(InProcess):
    """Ends like a process that is killed after some trials."""

    left = 3

    def submit(self, function, text):
        if Stopped.left == 0:
            raise KeyboardInterrupt
        Stopped.left -= 1
        return super().submit(function, text)


def test_an_interrupted_figure_goes_on(sads, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr("sads.figures.trials.make_engine", lambda *a, **k: Stopped())
    code, _, err = sads("figure", "C", "--scale", "smoke", "--out", str(tmp_path))
    assert code == 130
    assert "continues from what was stored" in err
    assert not (tmp_path / "figure-C.json").exists()
    Stopped.left = 3  # six trials in all: the first three are not run again
    # The small protocol trains too little to decide anything.
    assert made(sads, "C", tmp_path)["holds"] is None
    assert Stopped.left == 0
    table = tmp_path / "figure-C.csv"
    Stopped.left = 0  # and from its table nothing is run at all
    again = tmp_path / "again"
    code, text, _ = sads(
        "figure", "C", "--scale", "smoke", "--out", str(again), "--from", str(table)
    )
    assert code == 0
    assert "figure-C.png" in text


def test_stored_rows_of_older_draws_need_no_training(sads, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr("sads.figures.trials.make_engine", lambda *a, **k: Stopped())
    Stopped.left = 0  # a trial that is run would end the test
    table = Path(__file__).parents[2] / "docs" / "results" / "figure-02.csv"
    command = ("figure", "2", "--scale", "laptop", "--only", "haar", "--out", str(tmp_path))
    code, text, _ = sads(*command, "--from", str(table))
    assert code == 0
    assert "The trials rest on version 1 of the random draws" in text
    assert json.loads((tmp_path / "figure-02.json").read_text())["protocol"]["draws"] == [1]
    with open(tmp_path / "figure-02.csv", newline="") as new, open(table, newline="") as old:
        known = {row["id"]: row for row in csv.DictReader(old)}
        rows = list(csv.DictReader(new))
    assert len(rows) == sum(row["part"] == "haar" for row in known.values())
    for row in rows:
        assert row["draws"] == "1"
        assert row["msw2"] == known[row["id"]]["msw2"]


def test_figures_with_trials_are_known():
    modules = {key: import_module(f"sads.figures.{name}") for key, name in FIGURES.items()}
    with_trials = {key for key, own in modules.items() if {"run_parts", "trained"} & {*vars(own)}}
    assert with_trials == {key for key in FIGURES if experiment(key).trials}


def test_tables_are_for_figures_with_trials(sads, tmp_path):  # noqa: F811
    table = tmp_path / "known.csv"
    write_csv(table, [dict.fromkeys(("id", "status", *Metrics.model_fields), "")])
    code, _, err = sads("figure", "4", "--out", str(tmp_path / "out"), "--from", str(table))
    assert code == 2
    assert "figure 4 has no trials to take over" in err


def test_a_larger_scale_is_not_replaced(sads, tmp_path):  # noqa: F811
    path = tmp_path / "figure-04.json"
    path.write_text(json.dumps({"protocol": {"scale": "laptop"}}))
    code, _, err = sads("figure", "4", "--scale", "smoke", "--out", str(tmp_path))
    assert code == 2
    assert "figure-04.json is of laptop scale, larger than smoke: choose another directory" in err
    assert list(tmp_path.iterdir()) == [path]


def _diverged(*_arguments):
    raise TrainingError("the loss is not finite")


def test_failed_trials_are_run_again_when_asked(sads, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr("sads.figures.trials.make_engine", lambda *a, **k: InProcess())
    command = ("figure", "2", "--scale", "smoke", "--out", str(tmp_path), "--only")
    with monkeypatch.context() as patch:
        patch.setattr("sads.sweep.execute.run_trial._train", _diverged)
        code, _, err = sads(*command, "haar,dct")
    assert code == 2
    # Both parts were tried before anything was said.
    assert err.count("16 of 16 trials failed") == 2
    assert "--retry-failed" in err
    assert sads(*command, "haar")[0] == 2
    code, text, _ = sads(*command, "haar", "--retry-failed")
    assert code == 0
    assert "figure-02.png" in text
