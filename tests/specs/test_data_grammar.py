"""Every form of the data grammar, and every way to get it wrong."""

import gzip
import math
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sads import ArtefactError, estimate_geometry
from sads.data import basis
from sads.errors import InputError
from sads.specs import ProbeSpec
from sads.specs.coercion import as_dataset


def parse_data(text, **options):
    """The samples that a string names."""
    return as_dataset(text, **options).samples


REAL = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(scope="module")
def geometry(tmp_path_factory):
    """Exact, on 1x2x4, with bands {0, 1}, {2, 3, 4}, {5}, {6}, {7} along the axes."""
    out = tmp_path_factory.mktemp("runs") / "linear"
    text = "linear,eigenvalues=8x8x5x5x5x3x2x1"
    estimate_geometry(text, shape="1x2x4", probe="gaussian:1", out=out)
    return out


@pytest.fixture
def files(tmp_path):
    """One dataset of each kind of file, with 12 samples of 4x4."""
    images = np.arange(12 * 16, dtype=np.uint8).reshape(12, 4, 4)
    np.save(tmp_path / "a.npy", images)
    np.savez(tmp_path / "a.npz", images=images, labels=np.arange(12))
    content = struct.pack(">IIII", 0x803, 12, 4, 4) + images.tobytes()
    (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(content))
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(content)
    (tmp_path / "pictures").mkdir()
    for number, image in enumerate(images):
        Image.fromarray(image).save(tmp_path / "pictures" / f"{number:02}.png")
    return tmp_path, images[:, None] / 127.5 - 1, images[:, None].astype(float)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("mnist:{}", False),
        ("mnist:{},split=held-out", False),
        ("npy:{}/a.npy", True),
        ("npy:{}/a.npy,scale", False),
        ("npy:{}/a.npy,scale=true", False),
        ("npz:{}/a.npz:images", True),
        ("npz:{}/a.npz:images,scale", False),
        ("folder:{}/pictures,grey", False),
        ("folder:{}/pictures,size=4,grey,crop,skip-corrupt", False),
    ],
)
@pytest.mark.parametrize("shape", [None, (1, 4, 4)])
def test_files(files, text, kept, shape):
    directory, unit, raw = files
    data = as_dataset(text.format(directory), shape=shape)
    assert data.samples.dtype == np.float32
    assert (data.name, data.direction) == (text.format(directory), None)
    assert (data.shape, len(data)) == ((1, 4, 4), 12)
    np.testing.assert_allclose(data.samples, raw if kept else unit, atol=1e-6)


@pytest.mark.parametrize(
    "text", ["digits", "npy:{}/a.npy", "npz:{}/a.npz:images", "folder:{}/pictures"]
)
def test_splits_of_files_share_nothing(files, text):
    text = text.format(files[0])
    train, held_out, whole = (
        {sample.tobytes() for sample in parse_data(text + option)}
        for option in (",split=train", ",split=held-out", "")
    )
    assert not train & held_out
    assert train | held_out == whole


def test_the_callers_split_is_only_a_default(files):
    text = f"npy:{files[0]}/a.npy"
    assert len(parse_data(text)) == 12
    assert len(parse_data(text, split="train")) == 10
    assert len(parse_data(f"{text},split=held-out", split="train")) == 2


def test_count_and_seed_of_files(files):
    text = f"npy:{files[0]}/a.npy,split=train,count=5"
    assert np.array_equal(parse_data(text), parse_data(f"{text},seed=0"))
    assert not np.array_equal(parse_data(text), parse_data(f"{text},seed=1"))


def test_digits():
    assert parse_data("digits").shape == (1797, 1, 8, 8)
    assert parse_data("digits,size=16").shape == (1797, 1, 16, 16)
    assert parse_data("digits", shape=(1, 12, 12)).shape == (1797, 1, 12, 12)


def test_a_colon_in_a_file_name_is_no_key(tmp_path):
    np.savez(tmp_path / "a:b.npz", x=np.ones((2, 3)))
    assert parse_data(f"npz:{tmp_path}/a:b.npz").shape == (2, 3)
    assert parse_data(f"npz:{tmp_path}/a:b.npz:x").shape == (2, 3)


def test_channels_of_arrays(tmp_path):
    np.save(tmp_path / "rows.npy", np.ones((4, 2, 3)))
    path = f"npy:{tmp_path}/rows.npy"
    assert parse_data(path).shape == (4, 1, 2, 3)
    assert parse_data(path, shape=(2, 3)).shape == (4, 2, 3)


@pytest.mark.parametrize("name", ["canonical", "dct", "dst", "hadamard", "haar"])
def test_rank_one_of_a_basis(name):
    data = as_dataset(f"rank-one:{name}:13", shape=(2, 4, 4))
    v = basis(name, (2, 4, 4))[:, 13]
    assert data.samples.shape == (10_000, 2, 4, 4)
    assert data.direction is not None
    np.testing.assert_allclose(data.direction, v, atol=1e-12)
    flat = data.samples.reshape(10_000, -1)
    np.testing.assert_allclose(flat, np.outer(flat @ v, v), atol=1e-4)
    assert np.mean(np.square(flat).sum(axis=1)) == pytest.approx(32, rel=0.05)


def test_synthetic_splits_share_the_direction_and_nothing_else(geometry):
    text = f"rank-one:geometry={geometry}:band=1,count=500"
    train, held_out = (as_dataset(f"{text},split={s}") for s in ("train", "held-out"))
    assert np.array_equal(train.direction, held_out.direction)
    sizes = [set(np.abs(d.samples).max(axis=(1, 2, 3)).tolist()) for d in (train, held_out)]
    assert not sizes[0] & sizes[1]
    assert np.array_equal(train.samples, parse_data(text))
    assert not np.array_equal(train.samples, parse_data(f"{text},seed=1"))


def test_rank_one_of_a_geometry(geometry):
    data = as_dataset(f"rank-one:geometry={geometry}:5,count=20,seed=3")
    assert data.samples.shape == (20, 1, 2, 4)
    assert np.array_equal(data.direction, np.eye(8)[5])
    assert np.array_equal(np.flatnonzero(data.samples.any(axis=0)), [5])


def test_rank_one_of_a_band(geometry):
    data = as_dataset(f"rank-one:geometry={geometry}:band=1", shape=(1, 2, 4))
    assert np.array_equal(np.flatnonzero(data.direction), [2, 3, 4])


@pytest.mark.parametrize("options", ["", ",count=70", ",count=70,seed=2,split=held-out"])
def test_spheres(geometry, options):
    data = as_dataset(f"sphere:geometry={geometry}:0,5,7{options}")
    assert data.direction is None
    assert data.samples.shape == (70 if options else 10_000, 1, 2, 4)
    assert np.array_equal(np.flatnonzero(data.samples.any(axis=0)), [0, 5, 7])
    radius = np.linalg.norm(data.samples.reshape(len(data), -1), axis=1)
    np.testing.assert_allclose(radius, math.sqrt(8), rtol=1e-6)


def test_sphere_of_a_basis():
    assert parse_data("sphere:dct:0,1,2,count=5", shape=(1, 4, 4)).shape == (5, 1, 4, 4)


def test_hugging_face(monkeypatch):
    asked = []

    class Fake:
        class Image:
            pass

        @staticmethod
        def load_dataset(name, split):
            asked.append((name, split))
            rows = [{"image": Image.new("L", (4, 4), v)} for v in range(3)]
            return type("Rows", (list,), {"features": {"image": Fake.Image()}})(rows)

    monkeypatch.setitem(sys.modules, "datasets", Fake)
    assert parse_data("hf:me/faces,size=2,grey,count=2").shape == (2, 1, 2, 2)
    assert parse_data("hf:me/faces:train[:50%]").shape == (3, 3, 4, 4)
    assert asked == [("me/faces", "train"), ("me/faces", "train[:50%]")]


def test_the_forward_probe_takes_the_grammar():
    probe = ProbeSpec.parse("forward:digits,split=train,count=50").probe((1, 16, 16))
    assert probe.images.shape == (50, 1, 16, 16)


@pytest.mark.skipif(not REAL.is_dir(), reason="the image files are not beside the repository")
def test_real_arrays():
    faces = parse_data(f"npz:{REAL}/orl_gray56_390.npz:images,scale,split=held-out")
    assert faces.shape == (65, 1, 56, 56)
    assert -1 <= faces.min() < faces.max() <= 1


BAD = [
    ("", "unknown data"),
    ("nonsense", "unknown data"),
    ("digits:8", "unknown data"),
    ("mnist", "unknown data"),
    ("npy:", "unknown data"),
    ("folder", "unknown data"),
    ("digits,", "without a name"),
    ("digits,count=1,count=2", "twice"),
    ("digits,colour=red", "no option 'colour': it takes size, count, seed, split"),
    ("digits,scale", "no option 'scale'"),
    ("digits,3", "unknown data"),
    ("digits,count=many", "whole number"),
    ("digits,count=0", "at least 1"),
    ("digits,count=1798", "asked for 1,798"),
    ("digits,count=300,split=held-out", "299 held-out samples"),
    ("digits,seed=-1", "from 0 to"),
    ("digits,split=test", "train or held-out"),
    ("digits,size=1", "2 to 256"),
    ("npy:absent.npy", "no such file"),
    ("npz:absent.npz:key", "no such file"),
    ("folder:absent", "no such directory"),
    ("folder:absent,size=big", "whole number"),
    ("folder:absent,grey=perhaps", "true or false"),
    ("mnist:absent", "no such directory"),
    ("rank-one", "unknown data"),
    ("rank-one:dct", "written like rank-one:dct:0"),
    ("rank-one:dct:0,1", "written like rank-one:dct:0"),
    ("rank-one:dct:first", "whole number"),
    ("rank-one:dct:16", "choose 0 to 15"),
    ("rank-one:dct:-1", "choose 0 to 15"),
    ("rank-one:dct:band=0", "whole number"),
    ("rank-one:fourier:0", "unknown directions 'fourier'"),
    ("rank-one:dct:0,size=4", "no option 'size'"),
    ("rank-one:dct:0,count=999999999999999", "more memory"),
    ("sphere:dct:0,1", "written like sphere:dct:0,1,2"),
    ("sphere:dct:0,1,2,3", "written like sphere:dct:0,1,2"),
    ("sphere:dct:0,1,1", "orthonormal"),
    ("sphere:dct:0,1,99", "choose 0 to 15"),
    ("sphere:dct:band=0,1,2", "whole number"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_bad_input(text, message):
    with pytest.raises(InputError, match=message):
        parse_data(text, shape=(1, 4, 4))


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("8", "choose 0 to 7"),
        ("-1", "choose 0 to 7"),
        ("band=5", "bands 0 to 4"),
        ("band=x", "whole number"),
        ("x", "whole number"),
    ],
)
def test_places_outside_a_geometry(geometry, place, message):
    with pytest.raises(InputError, match=message):
        parse_data(f"rank-one:geometry={geometry}:{place}")


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("band=0,5,7", "written like sphere"),
        ("band=9", "bands 0 to 4"),
        ("band=0", "choose a wider band"),
    ],
)
def test_bad_bands_of_a_sphere(geometry, place, message):
    with pytest.raises(InputError, match=message):
        parse_data(f"sphere:geometry={geometry}:{place}")


def test_a_geometry_of_another_shape_or_none(geometry, tmp_path):
    with pytest.raises(InputError, match="is of 1x2x4, expected 1x4x4"):
        parse_data(f"rank-one:geometry={geometry}:0", shape=(1, 4, 4))
    with pytest.raises(ArtefactError):
        parse_data(f"rank-one:geometry={tmp_path}:0")


@pytest.mark.parametrize("text", ["rank-one:dct:0", "sphere:haar:0,1,2"])
def test_bases_need_a_shape(text):
    with pytest.raises(InputError, match="does not say its shape: pass one"):
        parse_data(text)


@pytest.mark.parametrize("shape", [(3, 4, 4), (1, 8, 8), (16,)])
@pytest.mark.parametrize("text", ["npy:{}/a.npy", "folder:{}/pictures,grey", "mnist:{}"])
def test_samples_of_the_wrong_shape(files, text, shape):
    expected = "x".join(map(str, shape))
    with pytest.raises(InputError, match=rf"4x4, expected {expected} "):
        parse_data(text.format(files[0]), shape=shape)


@pytest.mark.parametrize("array", [np.ones(()), np.ones(5), np.ones((2, 1, 1, 1, 1, 1))])
def test_arrays_that_are_no_samples(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(InputError, match="first axis"):
        parse_data(f"npy:{tmp_path}/a.npy")
