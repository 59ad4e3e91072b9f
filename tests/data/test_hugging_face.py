"""Hugging Face datasets, against a stand-in for the library."""

import sys
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

from sads.data import Selection, Treatment, read_hugging_face
from sads.errors import InputError


class Rows:
    """What `load_dataset` returns, and a count of the decoded rows."""

    def __init__(self, columns: dict[str, object], pictures: list):
        self.features, self.pictures, self.decoded = columns, pictures, []

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, index: int) -> dict[str, object]:
        assert type(index) is int  # the library refuses some NumPy integers
        self.decoded.append(index)
        return dict.fromkeys(self.features, self.pictures[index])


@pytest.fixture
def library(monkeypatch):
    """A module `datasets` with one set, `faces`, of splits `train` and `test`."""
    module = ModuleType("datasets")
    module.Image = type("Image", (), {})
    shades = [Image.new("L", (4, 4), value) for value in range(12)]
    module.sets = {
        ("faces", "train"): Rows({"image": module.Image(), "label": "int"}, shades),
        ("faces", "test"): Rows({"img": module.Image()}, shades[:2]),
        ("words", "train"): Rows({"text": "string"}, ["a"]),
        ("pairs", "train"): Rows({"a": module.Image(), "b": module.Image()}, shades),
    }

    def load_dataset(name, split):
        if (name, split) not in module.sets:
            raise ConnectionError(f"{name} was not found\non the hub")
        return module.sets[name, split]

    module.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", module)
    return module


def read(name="faces", part="train", selection=None, **treatment):
    return read_hugging_face(name, part, Treatment(**treatment), selection or Selection())


def shades(samples: np.ndarray) -> list[int]:
    return [round((v + 1) * 127.5) for v in samples[:, 0, 0, 0]]


def test_pictures_in_order(library):
    samples = read(grey=True)
    assert samples.shape == (12, 1, 4, 4)
    assert samples.dtype == np.float32
    assert shades(samples) == list(range(12))
    assert read(size=2).shape == (12, 3, 2, 2)


def test_the_library_s_own_splits(library):
    assert shades(read(part="test")) == [0, 1]


def test_only_the_chosen_rows_are_decoded(library):
    selection = Selection("held-out", 1, 5)
    samples = read(selection=selection)
    rows = library.sets["faces", "train"]
    assert rows.decoded == shades(samples) == selection.rows(12, "").tolist()


def test_splits_share_no_row(library):
    train, held_out = (shades(read(selection=Selection(s))) for s in ("train", "held-out"))
    assert sorted(train + held_out) == list(range(12))


def test_a_missing_picture_is_named(library):
    library.sets["faces", "train"].pictures[3] = None
    with pytest.raises(InputError, match="row 3 of hf:faces:train is not a readable picture"):
        read()
    assert len(read(skip_corrupt=True)) == 11


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent", "hf:absent:train cannot be loaded: absent was not found$"),
        ("words", "exactly one column of pictures, got none"),
        ("pairs", "exactly one column of pictures, got a, b"),
    ],
)
def test_sets_that_cannot_be_used(library, name, message):
    with pytest.raises(InputError, match=message):
        read(name)


def test_more_than_there_is(library):
    with pytest.raises(InputError, match="has 12 samples, asked for 13"):
        read(selection=Selection(count=13))


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r"pip install 'sads\[datasets\]'"):
        read()
