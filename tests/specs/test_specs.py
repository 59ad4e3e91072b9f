"""What every specification keeps, whatever it is of: its text, its paths, its identity."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from sads.errors import InputError
from sads.specs import DataSpec, DirectionsSpec, NetworkSpec, ProbeSpec
from sads.specs.spec import Spec

WORDS = st.text("abcXYZ019_./", min_size=1, max_size=8)
VALUES = st.text("abc019.x-", min_size=1, max_size=6)
NAMES = st.sampled_from(["size", "count", "seed", "split", "grey", "skip-corrupt", "width"])
OPTIONS = st.lists(st.tuples(NAMES, st.none() | VALUES), unique_by=lambda o: o[0], max_size=3).map(
    lambda options: "".join(f",{n}" if v is None else f",{n}={v}" for n, v in options)
)
INDEX = st.integers(-3, 300).map(str)
SOURCES = st.sampled_from(["dct", "haar", "geometry=runs/a", "geometry=/x/y"])
FINITE = st.one_of(
    st.just("digits"),
    st.builds("{}:{}".format, st.sampled_from(["mnist", "npy", "npz", "folder", "hf"]), WORDS),
    st.builds("npz:{}:{}".format, WORDS, WORDS),
)
SYNTHETIC = st.one_of(
    st.just("gaussian"),
    st.builds("mixture:{}".format, WORDS),
    st.builds("rank-one:{}:{}".format, SOURCES, INDEX),
    st.builds("rank-one:geometry={}:band={}".format, WORDS, INDEX),
    st.builds("sphere:{}:{},{},{}".format, SOURCES, INDEX, INDEX, INDEX),
)
DATA = st.builds(
    str.__add__,
    st.one_of(FINITE, SYNTHETIC, st.builds("gaussian:moment={}".format, FINITE | SYNTHETIC)),
    OPTIONS,
)
NETWORKS = st.builds(
    str.__add__,
    st.one_of(
        st.sampled_from(["mlp", "iddpm-16", "dit-2"]),
        st.builds("{}.py:{}".format, WORDS, st.just("make")),
        st.builds("{}:make".format, st.sampled_from(["package.module", "sads.networks"])),
        st.builds("diffusers:{}.json".format, WORDS),
    ),
    OPTIONS,
)
PROBES = st.one_of(
    st.just("zero"),
    st.builds("gaussian:{}".format, st.floats(1e-3, 1e3)),
    st.builds("point:{}".format, WORDS),
    st.builds("forward:{}".format, DATA),
)
DIRECTIONS = st.one_of(
    st.sampled_from(["dct", "means", "canonical"]),
    st.builds("dct:bands={}".format, INDEX),
    st.builds("npy:{}".format, WORDS),
    st.builds("geometry={}".format, WORDS),
)


class Kind(NamedTuple):
    """A kind of specification: its texts, and one that names a file of an array."""

    spec: type[Spec]
    texts: st.SearchStrategy[str]
    of_file: Callable[[str], str]


KINDS = {
    "data": Kind(DataSpec, DATA, "npy:{}".format),
    "moment": Kind(DataSpec, DATA, "gaussian:moment=npy:{},scale".format),
    "network": Kind(NetworkSpec, NETWORKS, "{}:make,prediction=v".format),
    "probe": Kind(ProbeSpec, PROBES, "point:{}".format),
    "forward": Kind(ProbeSpec, PROBES, "forward:npy:{},count=3".format),
    "directions": Kind(DirectionsSpec, DIRECTIONS, "npy:{}".format),
}
EVERY = pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))


@EVERY
@given(data=st.data())
def test_a_text_is_kept_as_it_is_written(kind, data):
    text = data.draw(kind.texts)
    spec = kind.spec.parse(text)
    assert str(spec) == text
    assert kind.spec.parse(str(spec)) == spec
    assert hash(kind.spec.parse(text)) == hash(spec)


@EVERY
@given(data=st.data())
def test_json_holds_the_text(kind, data):
    text = data.draw(kind.texts)
    adapter = TypeAdapter(kind.spec)
    spec = adapter.validate_python(text)
    assert adapter.dump_python(spec, mode="json") == text
    assert adapter.validate_json(adapter.dump_json(spec), strict=True) == spec


@EVERY
@given(data=st.data())
def test_absolute_paths_are_the_same_from_everywhere(kind, data):
    spec = kind.spec.parse(data.draw(kind.texts))
    seen = spec.seen_from(Path("/root of all"))
    assert seen.seen_from(Path("/elsewhere")) == seen
    assert len(seen.paths()) >= len(spec.paths())
    assert all(path.is_absolute() for path in seen.paths())


@EVERY
def test_a_file_is_known_by_its_content(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name, other = ("a.py", "b.py") if kind.spec is NetworkSpec else ("a.npy", "b.npy")
    for place in (name, other):
        np.save(tmp_path / "array.npy", np.ones((3, 3)))
        (tmp_path / "array.npy").rename(tmp_path / place)
    one, second = kind.spec.parse(kind.of_file(name)), kind.spec.parse(kind.of_file(other))
    assert one.paths() == (Path(name),)
    assert one.digest() == second.digest() == one.seen_from(tmp_path).digest()
    assert one.digest() != str(one)
    assert name not in one.digest()
    (tmp_path / other).write_bytes(b"changed")
    assert one.digest() != second.digest()
    (tmp_path / other).unlink()
    with pytest.raises(InputError, match="no such file"):
        second.digest()


@EVERY
def test_specifications_are_frozen(kind):
    spec = kind.spec.parse(kind.of_file("a"))
    with pytest.raises(ValidationError):
        spec.kind = "other"


def test_a_model_reads_and_writes_specifications_as_texts():
    class Model(BaseModel):
        data: DataSpec

    model = Model.model_validate({"data": "digits,size=16"})
    assert model.data.fields == {"size": "16"}
    assert model.model_dump() == {"data": "digits,size=16"}
    with pytest.raises(ValidationError, match="gives a field twice"):
        Model.model_validate({"data": "digits,size=1,size=2"})


@pytest.mark.parametrize(
    ("text", "synthetic", "tells_shape", "split"),
    [
        ("digits", False, True, "held-out"),
        ("npy:a.npy", False, True, None),
        ("npz:a.npz:x", False, True, None),
        ("rank-one:dct:3", True, False, "held-out"),
        ("rank-one:geometry=a:3", True, True, "held-out"),
        ("sphere:haar:0,1,2", True, False, "held-out"),
        ("gaussian", True, False, "held-out"),
        ("gaussian:moment=digits", True, True, "held-out"),
        ("mixture:a.npz", True, True, "held-out"),
    ],
)
def test_what_data_can_be_asked(text, synthetic, tells_shape, split):
    spec = DataSpec.parse(text)
    assert (spec.synthetic, spec.tells_shape, spec.evaluation_split) == (
        synthetic,
        tells_shape,
        split,
    )


@pytest.mark.parametrize(
    ("text", "geometry", "band", "indices"),
    [
        ("rank-one:dct:3", None, None, (3,)),
        ("rank-one:geometry=runs/a:5,count=3", "runs/a", None, (5,)),
        ("rank-one:geometry=runs/a:band=2", "runs/a", 2, ()),
        ("sphere:geometry=runs/a:0,5,7,seed=1", "runs/a", None, (0, 5, 7)),
        ("digits,size=16", None, None, ()),
    ],
)
def test_directions_of_data(text, geometry, band, indices):
    spec = DataSpec.parse(text)
    assert (spec.geometry, spec.band, spec.indices) == (geometry, band, indices)


def test_options_of_a_moment_are_those_of_its_data():
    spec = DataSpec.parse("gaussian:moment=folder:a,size=8,count=5,grey")
    assert str(spec.moment) == "folder:a,size=8,grey"
    assert spec.paths() == (Path("a"),)


def test_specifications_need_neither_torch_nor_numpy():
    code = (
        "import sys; from sads.specs import DataSpec, NetworkSpec;"
        "DataSpec.parse('gaussian:moment=digits').paths(); NetworkSpec.parse('mlp').digest();"
        "assert not {'torch', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
