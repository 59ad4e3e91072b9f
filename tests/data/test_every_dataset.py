"""Every kind of data passes the same tests, from its text to its samples."""

import gzip
import struct
import sys

import numpy as np
import pytest
from PIL import Image

import sads
from sads.errors import InputError
from sads.specs import DataSpec
from sads.specs.readers import READERS
from sads.specs.synthetic import MAKERS

SHAPE = (1, 4, 4)
TEXTS = (
    "digits,size=4",
    "mnist:{}",
    "npy:{}/a.npy",
    "npz:{}/a.npz:images",
    "folder:{}/pictures,grey",
    "hf:me/faces:train,grey",
    "rank-one:dct:3",
    "rank-one:geometry={}/geometry:2",
    "rank-one:geometry={}/geometry:band=0",
    "sphere:haar:0,1,2",
    "sphere:geometry={}/geometry:0,5,7",
    "gaussian",
    "gaussian:moment=npy:{}/a.npy,scale",
    "gaussian:moment=digits,size=4",
    "mixture:{}/mixture.npz",
)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A directory with 24 pictures of 4x4 in every format, and a geometry."""
    place = tmp_path_factory.mktemp("data")
    images = np.random.default_rng(0).integers(0, 256, (24, 4, 4), dtype=np.uint8)
    np.save(place / "a.npy", images)
    np.savez(place / "a.npz", images=images, labels=np.arange(24))
    content = struct.pack(">IIII", 0x803, 24, 4, 4) + images.tobytes()
    (place / "train-images-idx3-ubyte").write_bytes(content)
    (place / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(content))
    (place / "pictures").mkdir()
    for number, image in enumerate(images):
        Image.fromarray(image).save(place / "pictures" / f"{number:02}.png")
    means = np.random.default_rng(1).standard_normal((2, *SHAPE))
    np.savez(place / "mixture.npz", means=means, deviations=np.array([0.5, 1.0]))
    sads.estimate_geometry("linear", shape="1x4x4", probe="gaussian:1").save(place / "geometry")
    return place


@pytest.fixture(params=TEXTS)
def spec(request, home, monkeypatch):
    class Fake:
        class Image:
            pass

        @staticmethod
        def load_dataset(name, split):
            rows = [{"image": Image.fromarray(image)} for image in np.load(home / "a.npy")]
            return type("Rows", (list,), {"features": {"image": Fake.Image()}})(rows)

    monkeypatch.setitem(sys.modules, "datasets", Fake)
    return DataSpec.parse(request.param.format(home))


def test_every_kind_of_data_passes_this_suite():
    tried = {DataSpec.parse(text.format("folder")).kind for text in TEXTS}
    assert tried == {*READERS, *MAKERS}


def test_samples_are_finite_float32_of_the_shape(spec):
    data = spec.dataset(SHAPE)
    assert data.samples.dtype == np.float32
    assert np.isfinite(data.samples).all()
    assert (data.shape, data.name) == (SHAPE, str(spec))
    assert len(data) == (10_000 if spec.synthetic else len(data))


def test_equal_seeds_give_equal_samples_and_others_do_not(spec):
    first, again = (spec.dataset(SHAPE, "train", count=10, seed=3).samples for _ in range(2))
    assert np.array_equal(first, again)
    assert len(first) == 10
    assert not np.array_equal(first, spec.dataset(SHAPE, "train", count=10, seed=4).samples)


def test_the_text_wins_over_the_caller(spec):
    text = DataSpec.parse(f"{spec},count=3,seed=5,split=train")
    assert np.array_equal(
        text.dataset(SHAPE, "held-out", count=9, seed=1).samples,
        spec.dataset(SHAPE, "train", count=3, seed=5).samples,
    )


def test_splits_share_no_sample(spec):
    if spec.kind == "mnist":
        pytest.skip("both files of the fixture hold the same images")
    train, held_out = (
        {sample.tobytes() for sample in spec.dataset(SHAPE, split).samples[:500]}
        for split in ("train", "held-out")
    )
    assert not train & held_out


def test_data_that_tells_its_shape_needs_none(spec):
    if spec.tells_shape:
        assert spec.dataset().shape == SHAPE
    else:
        with pytest.raises(InputError, match="does not say its shape"):
            spec.dataset()


def test_another_shape_is_refused(spec):
    if spec.tells_shape:
        with pytest.raises(InputError, match="4x4"):
            spec.dataset((2, 3, 5))


def test_a_known_law_is_that_of_the_samples(spec):
    data = spec.dataset(SHAPE, count=4_000 if spec.synthetic else None)
    assert (data.law is not None) == spec.synthetic
    if data.law is not None:
        # Both are samples of one law: their second moments agree up to chance.
        fresh = data.law.draw(4_000, np.random.default_rng(1))
        moments = [x.T @ x / len(x) for x in (data.samples.reshape(-1, 16), fresh)]
        scale = max(np.trace(moment) for moment in moments)
        assert np.abs(moments[0] - moments[1]).max() < 0.15 * scale


def test_unknown_options_are_refused(spec):
    with pytest.raises(InputError, match="no option 'colour'"):
        DataSpec.parse(f"{spec},colour=red").dataset(SHAPE)


def test_no_more_samples_than_there_are(spec):
    if not spec.synthetic:
        with pytest.raises(InputError, match="asked for 100,000"):
            spec.dataset(SHAPE, count=100_000)
