"""Sweeps on the command line."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from sads import estimate_geometry
from tests.sweep.small import InProcess, write_spec


@pytest.fixture
def in_process(monkeypatch):
    """Trials run in this process: starting workers takes seconds."""
    monkeypatch.setattr("sads.sweep.execute.run_sweep.make_engine", lambda *a, **k: InProcess())


@pytest.fixture
def done(sads, tmp_path, in_process) -> str:
    """The directory of a finished sweep of four trials."""
    spec, out = write_spec(tmp_path), str(tmp_path / "out")
    assert sads("sweep", str(spec), "--out", out)[0] == 0
    return out


def test_sweep_and_results(sads, tmp_path, in_process):
    spec, out = str(write_spec(tmp_path)), str(tmp_path / "out")
    code, text, err = sads("sweep", spec, "--out", out)
    assert (code, err) == (0, "")
    assert text == f"4 trials: 4 done.\nSee them: sads results {out}\n"
    code, text, _ = sads("results", out, "--json")
    assert code == 0
    trials = json.loads(text)["trials"]
    assert [t["id"] for t in trials] == sorted(t["id"] for t in trials)
    assert {"id", "status", "sw2", "msw2", "network", "data", "rotation", "seed"} <= trials[
        0
    ].keys()
    assert {t["status"] for t in trials} == {"done"}
    assert all(t["protocol"]["iterations"] == 5 for t in trials)
    code, text, _ = sads("results", out)
    lines = text.splitlines()
    metrics = ["sw2", "msw2", "msw2_optimised", "w2_direction", "leakage", "loss"]
    metrics += ["risk", "risk_along", "risk_off", "nats"]
    assert lines[0].split() == ["network", "data", "rotation", "seeds", *metrics]
    assert "±" in lines[1]
    assert lines[-1] == "4 trials: 4 done."
    code, text, _ = sads("sweep", spec, "--out", out, "--json")
    assert json.loads(text) == {
        "done": 4,
        "pending": 0,
        "failed": 0,
        "quarantined": 0,
        "problems": [],
    }


def test_results_as_csv_seed_another_sweep(sads, tmp_path, done, monkeypatch):
    table = tmp_path / "known.csv"
    assert sads("results", done, "--csv", str(table))[0] == 0
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    assert rows[0]["protocol_iterations"] == "5"
    spec = str(write_spec(tmp_path))
    monkeypatch.setattr(
        "sads.sweep.execute.run_sweep.make_engine", None
    )  # nothing is to be computed
    code, text, _ = sads("sweep", spec, "--out", str(tmp_path / "b"), "--from", str(table))
    assert code == 0
    assert text.startswith("4 trials: 4 done.")


def test_correlations(sads, tmp_path, in_process):
    geometry = tmp_path / "geometry"
    estimate_geometry("linear", shape="1x4x4", probe="gaussian:1").save(geometry)
    spec = write_spec(tmp_path, indices=[0, 4, 8, 12, 15])
    text = spec.read_text().replace('bases = ["dct"]', f'geometry = "{geometry}"')
    spec.write_text(text)
    out = str(tmp_path / "out")
    assert sads("sweep", str(spec), "--out", out)[0] == 0
    code, text, _ = sads("results", out, "--correlate", "sw2")
    assert code == 0
    assert "over 5 bands and 2 seeds: Spearman" in text.splitlines()[-1]
    code, text, _ = sads("results", out, "--correlate", "msw2", "--json")
    (printed,) = json.loads(text)["correlations"]
    assert -1 <= printed["kendall"]["value"] <= 1
    assert printed["seeds"] == [0, 1]


def test_a_dry_run_tells_the_trials_and_the_time_and_writes_nothing(sads, tmp_path, in_process):
    spec, out = str(write_spec(tmp_path)), tmp_path / "out"
    code, text, _ = sads("sweep", spec, "--dry-run")
    assert code == 0
    lines = text.splitlines()
    assert len(lines) == 6
    assert "mlp,width=8,depth=1 on rank-one:dct:0, seed 0" in lines[0]
    assert "4 trials of mlp,width=8,depth=1 (1x4x4)" in lines[4]
    assert "4 trials to run, about" in lines[5]
    code, text, _ = sads("sweep", spec, "--dry-run", "--json", "--out", str(out))
    printed = json.loads(text)
    assert len(printed["trials"]) == 4
    assert printed["seconds"] > 0
    assert not out.exists()


def test_the_papers_protocol_can_be_dry_run(sads, tmp_path, in_process, monkeypatch):
    monkeypatch.setattr("sads.sweep.execute.calibration.BUDGET_SECONDS", 0.1)
    monkeypatch.setattr("sads.sweep.execute.calibration.BATCH", 4)
    monkeypatch.setattr("sads.sweep.execute.calibration.ROWS", 50)
    spec = tmp_path / "paper.toml"
    spec.write_text(
        'protocol = "paper"\nseeds = [0, 1, 2, 3, 4]\n[[grid]]\nnetworks = ["iddpm-16"]\n'
        'bases = ["dct"]\nindices = [0, 255]\n'
    )
    code, text, _ = sads("sweep", str(spec), "--dry-run", "--json")
    assert code == 0
    printed = json.loads(text)
    assert len(printed["trials"]) == 10
    assert printed["seconds"] > 10 * 3600  # hours each: nobody waits for these in a test


def test_an_estimate_is_near_what_a_sweep_takes(sads, tmp_path, in_process):
    spec = str(write_spec(tmp_path, iterations=200))
    printed = json.loads(sads("sweep", spec, "--dry-run", "--json")[1])["seconds"]
    out = str(tmp_path / "out")
    assert sads("sweep", spec, "--out", out)[0] == 0
    rows = json.loads(sads("results", out, "--json")[1])["trials"]
    names = ("train_seconds", "sample_seconds", "distance_seconds")
    taken = sum(row[name] for row in rows for name in names)
    assert taken / 5 < printed < 5 * taken  # a busy machine may change its pace


def test_failed_trials_are_named_and_the_exit_code_says_so(sads, tmp_path, in_process):
    spec = write_spec(tmp_path)
    spec.write_text(spec.read_text().replace("samples = 16", "samples = 16, learning_rate = 1e30"))
    code, text, _ = sads("sweep", str(spec), "--out", str(tmp_path / "out"))
    assert code == 1
    assert text.startswith("4 trials: 4 failed.")
    assert text.count("failed ") == 4
    assert "mlp,width=8,depth=1 on rank-one:dct:5, seed 1" in text
    code, text, _ = sads("sweep", str(spec), "--out", str(tmp_path / "out"), "--json")
    assert code == 1
    assert len(json.loads(text)["problems"]) == 4


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ("colour = 1\n", (), "unknown key 'colour'"),
        ('[[grid]]\nnetworks = []\ndata = ["digits"]\n', (), "at least one"),
        ("indices = [0, 16]", (), "16"),
        ("", ("--engine", "slurm"), "an engine is local"),
        ("", ("--workers", "0"), "at least 1 worker"),
        ("", ("--from", "nowhere.csv"), "no such file: nowhere.csv"),
        ("", ("--retries", "-1"), "retries"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(sads, tmp_path, change, options, said):
    spec, out = write_spec(tmp_path), tmp_path / "out"
    text = spec.read_text()
    if change.startswith("indices"):
        text = text.replace("indices = [0, 5]", change)
    else:
        text = text + change if change.startswith("[[") else change + text
    spec.write_text(text)
    code, stdout, err = sads("sweep", str(spec), "--out", str(out), *options)
    assert (code, stdout) == (2, "")
    assert err.count("\n") == 1
    assert said in err
    assert not (out / "sweep.sqlite").exists()


def test_a_directory_is_needed(sads, tmp_path):
    code, _, err = sads("sweep", str(write_spec(tmp_path)))
    assert code == 2
    assert "pass --out DIR" in err
    code, _, err = sads("results", str(tmp_path))
    assert code == 2
    assert "no sweep in" in err


def test_another_sweep_there_is_refused_in_one_line(sads, tmp_path, done):
    spec = str(write_spec(tmp_path, seeds=[0, 7]))
    code, _, err = sads("sweep", spec, "--out", done)
    assert code == 2
    assert err.count("\n") == 1
    assert "seeds was [0, 1], now [0, 7]" in err
    assert "choose another --out" in err


def test_a_terminal_shows_a_live_table(sads, tmp_path, in_process, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    code, _, err = sads("sweep", str(write_spec(tmp_path)), "--out", str(tmp_path / "out"))
    assert code == 0
    for word in ("done", "running", "failed", "time left", "of 4"):
        assert word in err


def test_ctrl_c_ends_cleanly(tmp_path):
    spec, out = write_spec(tmp_path, iterations=100_000), tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "sads",
        "sweep",
        str(spec),
        "--out",
        str(out),
        "--workers",
        "1",
    ]
    driver = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, process_group=0)
    while not list(out.glob("work/*/training")):
        assert driver.poll() is None
        time.sleep(0.1)
    os.killpg(driver.pid, signal.SIGINT)  # as a terminal does, to everybody
    _, err = driver.communicate(timeout=60)
    assert driver.returncode == 130
    lines = [line for line in err.splitlines() if not line.startswith("sads: spec: ")]  # progress
    assert lines == [
        "sads: interrupted; with --out the same command continues from what was stored"
    ]
    assert not list(out.glob("*-wal"))
