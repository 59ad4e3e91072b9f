"""Seals: everything is covered, and what is sealed or older must still make sense."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import save_file

from sads.alignment import Rotation, load_rotation
from sads.diffusion import read_training
from sads.errors import ArtefactError
from sads.geometry import load_geometry
from sads.storage.files import checksum
from sads.storage.sealed import (
    parse_json,
    read_sealed,
    seal_json,
    unseal_json,
    values_digest,
    write_sealed,
)

GOLDEN = Path(__file__).parent / "golden"
FORM = "sads.thing/2"


@pytest.fixture
def sealed(tmp_path) -> Path:
    path = tmp_path / "thing.safetensors"
    tensors = {"a": np.arange(3.0), "b": np.array(2, dtype=np.int64)}
    write_sealed(path, FORM, {"plan": '{"x":1}', "note": "ä"}, tensors)
    return path


def parts(path: Path) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    with safe_open(path, framework="numpy") as file:
        return dict(file.metadata()), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def test_there_and_back(sealed):
    stored = read_sealed(sealed, FORM)
    assert stored.metadata == {"plan": '{"x":1}', "note": "ä"}
    assert stored.tensors["a"].tolist() == [0, 1, 2]
    assert stored.values == checksum(stored.tensors)
    again = read_sealed(sealed, FORM, framework="pt")
    assert (again.metadata, again.values) == (stored.metadata, stored.values)


def test_every_part_is_covered(sealed):
    metadata, tensors = parts(sealed)
    changes = [
        (metadata | {"plan": '{"x":2}'}, tensors),
        (metadata | {"plan": metadata["note"], "note": metadata["plan"]}, tensors),
        (metadata | {"more": ""}, tensors),
        ({k: v for k, v in metadata.items() if k != "note"}, tensors),
        ({k: v for k, v in metadata.items() if k != "checksum"}, tensors),
        (metadata, tensors | {"a": tensors["a"].view(np.int64)}),
        (metadata, tensors | {"a": tensors["a"].reshape(1, 3)}),
        (metadata, {"a": tensors["a"], "c": tensors["b"]}),
        (metadata, {"a": tensors["a"]}),
        (metadata | {"format": "sads.thing/1"}, tensors),
    ]
    for about, values in changes:
        save_file(values, sealed, metadata=about)
        with pytest.raises(ArtefactError, match="corrupt: its checksum does not match"):
            read_sealed(sealed, FORM, unsealed="sads.thing/1")


@pytest.mark.parametrize("length", [2**31, 2**40, 2**63, 2**64 - 1])
def test_a_header_of_gigabytes_is_not_read(sealed, length):
    with open(sealed, "r+b") as file:
        file.write(length.to_bytes(8, "little"))
        file.truncate(2**32)  # of which almost nothing is on disk
    with pytest.raises(ArtefactError, match="not a safetensors file"):
        read_sealed(sealed, FORM)


def test_other_formats_are_named(sealed):
    with pytest.raises(ArtefactError, match="not a cup made by sads"):
        read_sealed(sealed, "sads.cup/1")
    with pytest.raises(ArtefactError, match=r"format sads.thing/2, .* sads.thing/1: upgrade"):
        read_sealed(sealed, "sads.thing/1")


def test_types_that_numpy_lacks(tmp_path):
    tensors = {"half": torch.tensor([1.5, -2.0], dtype=torch.bfloat16)}
    write_sealed(tmp_path / "x", FORM, {}, tensors, framework="pt")
    stored = read_sealed(tmp_path / "x", FORM, framework="pt")
    assert torch.equal(stored.tensors["half"], tensors["half"])
    assert values_digest(tensors) != values_digest({"half": -tensors["half"]})


@pytest.mark.parametrize(
    "text", ['{"a":1,"a":1}', '{"a":NaN}', '{"a":1e999}', "[" * 100_000, "1" * 5000, "{", "\xff"]
)
def test_json_that_nobody_wrote(text, tmp_path):
    with pytest.raises((ValueError, RecursionError)):
        parse_json(text.encode("latin-1"))
    with pytest.raises(ArtefactError, match="is damaged") as refused:
        unseal_json(text.encode("latin-1"), tmp_path)
    assert len(str(refused.value).splitlines()) == 1


def test_sealed_json(tmp_path):
    content = {"a": 0.1, "b": [1, None, "ä"]}
    assert unseal_json(seal_json(content), tmp_path) == content
    older = json.dumps(content).encode()
    assert unseal_json(older, tmp_path, unsealed=True) == content
    with pytest.raises(ArtefactError, match="checksum"):
        unseal_json(older, tmp_path)
    with pytest.raises(ArtefactError, match="checksum"):
        unseal_json(seal_json(content).replace(b"0.1", b"0.2"), tmp_path)


PLANS = [
    ({"scale": -1.0}, "a positive scale, got -1"),
    ({"scale": float("nan")}, "NaN is not a number"),
    ({"schedule": "quadratic"}, "unknown schedule 'quadratic'"),
    ({"steps": 3}, "at least 21 steps"),
    ({"steps": 10**12}, "at most 1,000,000 noise levels"),
    ({"timesteps": (10, 51)}, "0 <= A < B <= 50"),
    ({"timesteps": (-1, 5)}, "0 <= A < B <= 50"),
    ({"weighting": "none"}, "a weighting"),
    ({"estimator": "guess"}, "an estimator"),
    ({"seed": -1}, "a seed"),
    ({"shape": (2, 2, 10**9)}, "values a sample"),
    ({"shape": (2, 2, 3)}, "a read-out of 12 values"),
    ({"shape": ()}, "a shape"),
    ({"shape": (2, -2, -2)}, "a shape"),
]
READOUTS = [
    ({"kind": "magic"}, "expected tags"),
    ({"weight_variance": -0.5}, "weight_variance from 0 on"),
    ({"bias_variance": -0.5}, "bias_variance from 0 on"),
    ({"floor": -1.0}, "floor from 0 on"),
    ({"kernel": (3, 0)}, "a kernel from 1 on"),
    ({"arrangement": "heap"}, "a structure"),
    ({"arrangement": "dense"}, r"sums of shape \(12, 36\)"),
]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("changes", "said"), [*PLANS, *(({"readout": change}, said) for change, said in READOUTS)]
)
def test_a_plan_that_no_geometry_has(tmp_path, version, changes, said):
    """With the right checksum: of the first format, and of this one."""
    metadata, tensors = parts(GOLDEN / "geometry-1" / "geometry.safetensors")
    plan = json.loads(metadata["plan"])
    if "readout" in changes:
        changes = {"readout": plan["readout"] | changes["readout"]}
    metadata["plan"] = json.dumps(plan | changes)
    path = tmp_path / "geometry.safetensors"
    if version == 1:
        save_file(tensors, path, metadata=metadata)
    else:
        texts = {key: metadata[key] for key in ("plan", "progress")}
        write_sealed(path, "sads.geometry/2", texts, tensors)
    with pytest.raises(ArtefactError, match=said):
        load_geometry(tmp_path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sums": lambda s: np.where(s == s.max(), np.nan, s)}, "finite sums"),
        ({"sums": lambda s: np.where(s == s.max(), np.inf, s)}, "finite sums"),
        ({"sums": lambda s: s.astype(np.float32)}, "in float64"),
        ({"sums": lambda s: s[:, :-1].copy()}, "sums of shape"),
        ({"counts": lambda c: -c}, "counts from 0 on"),
        ({"counts": lambda c: c[:-1]}, "12 counts"),
        ({"counts": lambda c: c.astype(np.int32)}, "12 counts in int64"),
    ],
)
def test_sums_that_no_geometry_has(tmp_path, changes, said):
    metadata, tensors = parts(GOLDEN / "geometry-1" / "geometry.safetensors")
    tensors |= {name: change(tensors[name]) for name, change in changes.items()}
    texts = {key: metadata[key] for key in ("plan", "progress")}
    write_sealed(tmp_path / "geometry.safetensors", "sads.geometry/2", texts, tensors)
    with pytest.raises(ArtefactError, match=said):
        load_geometry(tmp_path)


@pytest.mark.parametrize(
    ("progress", "said"),
    [
        ({"batches": -1}, "batches"),
        ({"batches": 49}, "expected at most 48 batches"),
        ({"seconds": -1}, "seconds"),
        ({"finished": "perhaps"}, "finished"),
        ({"more": 1}, "more"),
    ],
)
def test_progress_that_no_geometry_has(tmp_path, progress, said):
    metadata, tensors = parts(GOLDEN / "geometry-1" / "geometry.safetensors")
    metadata["progress"] = json.dumps(json.loads(metadata["progress"]) | progress)
    save_file(tensors, tmp_path / "geometry.safetensors", metadata=metadata)
    with pytest.raises(ArtefactError, match=f"is damaged: {said}"):
        load_geometry(tmp_path)


@pytest.mark.parametrize(
    ("header", "tensors", "said"),
    [
        ({"schedule": "quadratic"}, {}, "unknown schedule"),
        ({"step": 4}, {}, "4 losses"),
        ({"step": -1}, {}, "step"),
        ({"cursor": 13}, {}, "the epoch of 12 samples"),
        ({"seconds": -1.0}, {}, "seconds"),
        ({"shape": [2, 0, 2]}, {}, "a shape"),
        ({"settings": {"learning_rate": -1}}, {}, "learning_rate"),
        ({}, {"losses": np.array([1.0, np.nan, 1.0])}, "finite losses"),
        ({}, {"order": np.zeros(12, dtype=np.int64)}, "each sample once"),
        ({}, {"order": np.arange(12.0)}, "the order of an epoch"),
        ({}, {"exp_avg.head.bias": np.zeros(3, dtype=np.float32)}, "the parameter's shape"),
    ],
)
def test_a_training_that_nobody_ran(tmp_path, header, tensors, said):
    metadata, stored = parts(GOLDEN / "training-1" / "training.safetensors")
    text = json.dumps(json.loads(metadata["header"]) | header)
    path = tmp_path / "training.safetensors"
    write_sealed(path, "sads.training/2", {"header": text}, stored | tensors)
    with pytest.raises(ArtefactError, match=said):
        read_training(tmp_path)


@pytest.mark.parametrize(
    ("matrix", "origin", "said"),
    [
        (lambda w: w[:4, :4], {}, "a matrix of 8 x 8"),
        (lambda w: w.half(), {}, "a matrix of 8 x 8"),
        (lambda w: 1.01 * w, {}, "an orthogonal matrix"),
        (lambda w: w * torch.nan, {}, "an orthogonal matrix"),
        (lambda w: w, {"rank": 9}, "a rank of 1 to 8"),
        (lambda w: w, {"seed": -1}, "a seed"),
        (lambda w: w, {"repeated": (-1, 0)}, "repeated"),
    ],
)
def test_a_rotation_that_is_none(tmp_path, matrix, origin, said):
    whole = load_rotation(GOLDEN / "rotation-1")
    changed = Rotation(matrix(whole.matrix), whole.origin.model_copy(update=origin))
    changed.save(tmp_path)
    with pytest.raises(ArtefactError, match=said):
        load_rotation(tmp_path)
