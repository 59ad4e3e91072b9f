"""One trial: its result, its files, and what happens when it is killed or cannot run."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

import sads
from sads.data import Dataset
from sads.diffusion import read_training, training
from sads.foundation.versions import DRAWS, code_version
from sads.specs.coercion import as_dataset
from sads.storage.files import writing
from sads.sweep import PROTOCOLS, Trial
from sads.sweep.execute import run_job as run_job_module
from sads.sweep.execute import run_trial as run
from sads.sweep.execute.run_job import run_job
from sads.sweep.execute.run_trial import KEPT_SAMPLES
from sads.sweep.execute.trial_data import dataset
from sads.sweep.store.layout import Layout
from sads.sweep.store.outcome import Job, Outcome

PROTOCOL = PROTOCOLS["smoke"].model_copy(
    update={"iterations": 6, "samples": 200, "steps": 3, "train": 40}
)
TRIAL = Trial(
    network="mlp,width=8,depth=1",
    data="rank-one:dct:5",
    shape="1x4x4",
    protocol=PROTOCOL,
    seed=3,
    draws=DRAWS,
)


def job(out, trial: Trial = TRIAL, **changes) -> Job:
    """A job in a directory that looks like a sweep's."""
    out.mkdir(exist_ok=True)
    (out / "sweep.sqlite").touch()
    fields = {"id": trial.identity(), "trial": trial, "root": os.getcwd(), "out": out}
    return Job(**(fields | {"code": code_version()} | changes))


def changed(**fields) -> Trial:
    """The trial with other fields."""
    return Trial.model_validate(TRIAL.model_dump() | fields)


def outcome(asked: Job) -> Outcome:
    return Outcome.model_validate_json(run_job(asked.model_dump_json()))


def files(out) -> list[str]:
    return sorted(str(p.relative_to(out)) for p in out.rglob("*") if p.is_file())


def test_the_result_is_what_the_commands_give(tmp_path):
    done = outcome(job(tmp_path / "sweep"))
    result = done.result
    data = as_dataset("rank-one:dct:5,seed=3,count=40", shape=(1, 4, 4), split="train")
    trained = sads.train(
        TRIAL.network,
        data,
        shape="1x4x4",
        out=tmp_path / "train",
        iterations=6,
        batch_size=16,
        learning_rate=1e-3,
        seed=3,
    )
    samples = sads.sample(tmp_path / "train", 200, steps=3, seed=3)
    fresh = as_dataset("rank-one:dct:5,seed=3,count=200", shape=(1, 4, 4), split="held-out")
    expected = sads.distance(Dataset(samples, "x"), fresh, seed=3)
    measured = result.metrics.model_dump()
    assert measured.pop("loss") == pytest.approx(trained.losses[-1:].mean().item())
    risk = sads.risk(tmp_path / "train", data=fresh, seed=3)
    assert measured == expected.to_dict() | {
        "risk": risk.total,
        "risk_error": risk.total_error,
        "risk_along": risk.along,
        "risk_along_error": risk.along_error,
        "risk_off": risk.off,
        "risk_off_error": risk.off_error,
        "nats": risk.nats,
        "nats_error": risk.nats_error,
        "leakage": pytest.approx(_outside(samples, fresh.direction)),
    }
    assert measured["w2_direction"] is not None
    artefact = load_file(Layout(tmp_path / "sweep").artefact(result.artefact))
    np.testing.assert_array_equal(artefact["samples"], samples[:KEPT_SAMPLES])
    np.testing.assert_array_equal(artefact["losses"], trained.losses.numpy())
    head = trained.network.state_dict()["head.weight"].numpy()
    np.testing.assert_array_equal(artefact["network.head.weight"], head)


def _outside(samples, direction):
    """Root mean square of the part of samples that is orthogonal to a unit vector."""
    flat = samples.reshape(len(samples), -1).astype(float)
    lengths = np.square(flat).sum(axis=1) - np.square(flat @ np.ravel(direction))
    return np.sqrt(lengths.mean())


def test_artefacts_can_leave_the_parameters_out(tmp_path):
    result = outcome(job(tmp_path, keep="samples")).result
    assert sorted(load_file(Layout(tmp_path).artefact(result.artefact))) == ["losses", "samples"]


def test_a_finite_set_is_cut_by_the_seed_and_evaluated_on_its_held_out_part(tmp_path):
    trial = changed(data="digits,size=4")
    assert outcome(job(tmp_path, trial)).result.metrics.sw2 > 0
    train = dataset(trial, (1, 4, 4), "train", 40).samples
    held_out = dataset(trial, (1, 4, 4), "held-out", 10_000).samples
    assert len(train) == 40
    assert len(held_out) == 1797 // 6
    other = dataset(trial.model_copy(update={"seed": 4}), (1, 4, 4), "train", 40).samples
    assert not np.array_equal(train, other)


def test_a_rotated_trial_is_measured_in_image_space(tmp_path, geometry):
    data = {"network": "linear", "data": "digits,size=4", "seed": 0}
    turned = changed(**data, rotation="min", geometry=str(geometry))
    plain = changed(**data)
    done = outcome(job(tmp_path, turned)).result
    assert done is not None
    assert done.metrics.sw2 != outcome(job(tmp_path, plain)).result.metrics.sw2


def test_a_network_of_ones_own_is_found_from_anywhere(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "from torch import nn\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer = nn.Conv2d(1, 1, 3, padding=1)\n"
        "    def forward(self, x, t):\n"
        "        return self.layer(x)\n"
        "def make():\n    return Net()\n"
    )
    monkeypatch.chdir(tmp_path)
    trial = changed(network="mine.py:make")
    asked = job(tmp_path / "sweep", trial)
    monkeypatch.chdir("/")  # a worker may run in another directory than the driver
    result = outcome(asked)
    assert result.failure is None
    assert str(result.result.trial.network) == "mine.py:make"


def test_killed_at_any_rename_it_ends_with_the_same_result(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(run, "CHECKPOINT_SECONDS", 0.0)
    quick = PROTOCOL.model_copy(update={"iterations": 2, "samples": 100})
    trial = TRIAL.model_copy(update={"protocol": quick})
    whole = outcome(job(tmp_path / "whole", trial)).result
    moment, through = 0, False
    while not through:
        out = tmp_path / f"{moment}"
        asked = job(out, trial)
        through = not killed_at(moment, asked, monkeypatch)
        result = outcome(asked).result
        assert (result.metrics, result.artefact) == (whole.metrics, whole.artefact)
        left = [f for f in files(out) if not f.startswith("work")]
        assert left == [
            f"artefacts/{whole.artefact}.safetensors",
            f"results/{whole.id}.json",
            "sweep.sqlite",
        ]
        moment += 1
    assert moment > 8  # training and its losses, twice each, samples, artefact, result


def killed_at(moment: int, asked: Job, monkeypatch) -> bool:
    """Run a job, but stop it dead at its n-th rename; whether it was stopped."""
    real, seen = os.replace, []

    def replace(source, place):
        seen.append(place)
        if len(seen) > moment:
            raise SystemExit  # what a killed process leaves behind is what is there now
        real(source, place)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        try:
            outcome(asked)
        except SystemExit:
            return True
    return False


def test_samples_known_already_are_not_drawn_again(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "CHECKPOINT_SECONDS", 0.0)
    asked = job(tmp_path)
    real = sads.diffusion.samples_of
    drawn = []

    def sample(*arguments, **options):
        drawn.append(options["first"])
        for number, chunk in enumerate(real(*arguments, **options)):
            if number == 2 and len(drawn) == 1:
                raise SystemExit
            yield chunk

    monkeypatch.setattr(sads.diffusion, "samples_of", sample)
    with pytest.raises(SystemExit):
        outcome(asked)
    assert outcome(asked).result is not None
    assert drawn == [0, 128]


def test_a_real_kill_in_the_middle_of_training(tmp_path):
    trial = TRIAL.model_copy(update={"protocol": PROTOCOL.model_copy(update={"iterations": 2000})})
    asked = job(tmp_path, trial)
    code = (
        "import sys, sads.diffusion.training as t; t.CHECKPOINT_SECONDS = 0.0\n"
        "from sads.sweep.execute.run_job import run_job; run_job(sys.stdin.read())"
    )
    worker = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, text=True)
    worker.stdin.write(asked.model_dump_json())
    worker.stdin.close()
    checkpoint = Layout(tmp_path).work(asked.id) / "training" / "training.safetensors"
    while not checkpoint.exists():
        assert worker.poll() is None
        time.sleep(0.05)
    time.sleep(0.2)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    assert not Layout(tmp_path).result(asked.id).exists()
    steps = read_training(checkpoint.parent)[0].step
    assert 0 < steps < 2000
    resumed = outcome(asked).result
    (tmp_path / "again").mkdir()
    whole = outcome(job(tmp_path / "again", trial)).result
    assert resumed.metrics == whole.metrics


def test_a_damaged_checkpoint_is_thrown_away(tmp_path):
    asked = job(tmp_path)
    work = Layout(tmp_path).work(asked.id)
    (work / "training").mkdir(parents=True)
    (work / "training" / "training.safetensors").write_bytes(b"damaged")
    (work / run.SAMPLES).write_bytes(b"damaged")
    assert outcome(asked).result is not None


def test_checkpoints_of_other_code_are_not_continued(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", 0.0)
    asked = job(tmp_path)
    assert killed_at(4, asked, monkeypatch)
    work = Layout(tmp_path).work(asked.id)
    assert (work / "training" / "training.safetensors").exists()
    (work / "made-by.txt").write_text("0.0.9+abc, cpu, 1 threads")
    seen = []
    real = sads.diffusion.train

    def train(*arguments, out, **options):
        seen.append((out / "training.safetensors").exists())
        return real(*arguments, out=out, **options)

    monkeypatch.setattr(sads.diffusion, "train", train)
    assert outcome(asked).result is not None
    assert seen == [False]


def test_a_second_worker_waits_and_finds_the_result(tmp_path, monkeypatch):
    monkeypatch.setattr(run_job_module, "WAIT_SECONDS", 0.05)
    asked = job(tmp_path)
    first = outcome(asked).result
    waiting = []
    with writing(Layout(tmp_path).work(asked.id)):
        second = threading.Thread(target=lambda: waiting.append(outcome(asked).result))
        second.start()
        time.sleep(0.3)
        assert not waiting
    second.join(timeout=10)
    assert waiting == [first]


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        ({"code": "0.0.1+other"}, "setup", "install the same version"),
        ({"id": "0" * 16}, "setup", "has changed since the sweep began"),
        ({"device": "cuda:7"}, "setup", "cannot be used here"),
    ],
    ids=str,
)
def test_what_a_worker_refuses(tmp_path, change, kind, said):
    if change.get("device") and torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    failure = outcome(job(tmp_path, **change)).failure
    assert failure.kind == kind
    assert said in failure.error
    assert not (tmp_path / "results").exists()


def test_a_worker_that_does_not_see_the_directory(tmp_path):
    asked = job(tmp_path)
    (tmp_path / "sweep.sqlite").unlink()
    failure = outcome(asked).failure
    assert failure.kind == "setup"
    assert "all of them share" in failure.error


def test_a_training_that_diverges_fails_for_good(tmp_path):
    wild = PROTOCOL.model_copy(update={"learning_rate": 1e30})
    failure = outcome(job(tmp_path, TRIAL.model_copy(update={"protocol": wild}))).failure
    assert failure.kind == "final"
    assert "finite" in failure.error


def test_an_unknown_error_is_worth_another_attempt(tmp_path, monkeypatch):
    def broken(*arguments, **options):
        raise RuntimeError("out of memory\nand more")

    monkeypatch.setattr(sads.diffusion, "train", broken)
    failure = outcome(job(tmp_path)).failure
    assert (failure.kind, failure.error) == ("passing", "RuntimeError: out of memory")


@pytest.mark.parametrize("size", [0, 1_000, 4_000, 20_000])
def test_a_full_disk_is_told_apart_and_nothing_is_left_half_written(tmp_path, size):
    asked = job(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))  # no file may grow further
    try:
        failure = outcome(asked).failure
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    if failure is None:
        assert size == 20_000  # large enough for everything
        return
    assert failure.kind == "disk"
    assert "File too large" in failure.error
    assert not any(".tmp" in name for name in files(tmp_path))
    assert outcome(asked).result is not None
