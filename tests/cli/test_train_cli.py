"""Training and sampling on the command line."""

import json
import subprocess
import sys

import numpy as np
import pytest

import sads as package

OPTIONS = {"--shape": "1x8x8", "--data": "digits", "--iterations": "5", "--batch-size": "20"}


def train(**changes: str) -> list[str]:
    """A training command with some options changed."""
    options = OPTIONS | {f"--{name.replace('_', '-')}": value for name, value in changes.items()}
    return ["train", "mlp,width=16", *(word for pair in options.items() for word in pair)]


def test_train_then_sample(sads, tmp_path):
    run, file = str(tmp_path / "run"), str(tmp_path / "samples.npy")
    code, out, _ = sads(*train(out=run), "--json")
    assert code == 0
    printed = json.loads(out)
    assert printed["steps"] == 5
    assert printed["learning_rate"] == 1e-4
    code, _, _ = sads("sample", run, "--count", "10", "--steps", "4", "--out", file)
    assert code == 0
    samples = np.load(file)
    assert samples.shape == (10, 1, 8, 8)
    code, out, _ = sads("data", f"npy:{file}", "--json")
    assert code == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"data": "digits,size=9"}, "9x9"),
        ({"data": "nothing"}, "unknown data"),
        ({"data": "rank-one:dct:64"}, "64"),
        ({"iterations": "0"}, "iterations: Input should be greater than"),
        ({"learning_rate": "-1"}, "learning_rate: Input should be greater than"),
        ({"shape": "1x4x4x4x4"}, "a shape looks like"),
    ],
    ids=str,
)
def test_bad_training_is_one_line(sads, tmp_path, change, said):
    code, out, err = sads(*train(out=str(tmp_path / "run"), **change))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err
    assert not (tmp_path / "run" / "training.safetensors").exists()


def test_nothing_to_sample(sads, tmp_path):
    file = tmp_path / "x.npy"
    code, _, err = sads("sample", str(tmp_path), "--count", "3", "--out", str(file))
    assert code == 2
    assert "no training" in err
    assert not file.exists()


def test_fields_with_sequences_can_be_sampled(sads, tmp_path):
    run = str(tmp_path / "run")
    network = "iddpm-16,channels=8,groups=8,mults=1x1"
    options = [*train(out=run)[2:]]
    assert sads("train", network, *options)[0] == 0
    code, _, err = sads("sample", run, "--count", "2", "--steps", "2", "--out", f"{run}.npy")
    assert (code, err) == (0, "")


def test_a_full_disk_while_sampling_is_one_line(sads, tmp_path):
    run = tmp_path / "run"
    assert sads(*train(out=str(run)))[0] == 0
    command = (
        f"ulimit -f 4; exec {sys.executable} -m sads sample {run} --count 100 --steps 1 "
        f"--out {tmp_path}/x.npy"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("sads: error: cannot write")
    assert "Traceback" not in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


class StopError(Exception):
    pass


def test_samples_of_an_unfinished_training_say_so(sads, tmp_path, monkeypatch):
    monkeypatch.setattr("sads.diffusion.training.CHECKPOINT_SECONDS", 0.0)
    run = tmp_path / "run"

    def stop(step):
        if step.number == 4:
            raise StopError

    protocol = {"iterations": 5, "batch_size": 20, "out": run, "callbacks": (stop,)}
    with pytest.raises(StopError):
        package.train("mlp,width=16", "digits", shape="1x8x8", **protocol)
    words = ["sample", str(run), "--count", "2", "--steps", "2", "--out", str(tmp_path / "x.npy")]
    code, out, err = sads(*words, "--json")
    assert code == 0
    printed = json.loads(out)
    assert (printed["unfinished"], printed["iterations"], printed["of"]) == (True, 3, 5)
    assert (
        err
        == f"sads: {run} is unfinished, 3 of 5 iterations: its network is sampled as it stands\n"
    )
    assert np.load(tmp_path / "x.npy").shape == (2, 1, 8, 8)
    assert sads(*train(out=str(run)))[0] == 0  # goes on
    code, out, err = sads(*words, "--json", "--force")
    assert (code, err) == (0, "")
    printed = json.loads(out)
    assert (printed["unfinished"], printed["iterations"], printed["of"]) == (False, 5, 5)


@pytest.mark.parametrize("rotation", [None, "random"])
def test_sampling_reads_the_training_once(sads, tmp_path, monkeypatch, rotation):
    from sads.diffusion import checkpoint

    run = str(tmp_path / "run")
    turned = [] if rotation is None else ["--rotation", rotation]
    assert sads(*train(out=run), *turned)[0] == 0
    read, reads = checkpoint.read_sealed, []

    def counted(path, *args, **options):
        reads.append(path)
        return read(path, *args, **options)

    monkeypatch.setattr(checkpoint, "read_sealed", counted)
    file = str(tmp_path / "samples.npy")
    assert sads("sample", run, "--count", "10", "--steps", "4", "--out", file)[0] == 0
    assert [path.name for path in reads] == ["training.safetensors"]
