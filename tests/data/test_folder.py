"""Folders of pictures: order, treatment, damaged files and bombs."""

import os

import numpy as np
import pytest
from PIL import Image

from sads.data import Selection, Treatment, read_folder
from sads.errors import InputError

ALL = Selection()


def picture(height: int, width: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path):
    """Three PNGs; one in a subfolder, sorted between the others by path."""
    (tmp_path / "b").mkdir()
    for seed, name in enumerate(["a.png", "b/0.png", "c.PNG"]):
        Image.fromarray(picture(6, 8, seed)).save(tmp_path / name, format="PNG")
    (tmp_path / "labels.csv").write_text("not a picture")
    (tmp_path / ".hidden.png").write_text("not a picture")
    return tmp_path


def test_sorted_recursive_channel_first(folder):
    read = read_folder(folder, Treatment(), ALL)
    expected = np.stack([picture(6, 8, seed).transpose(2, 0, 1) for seed in range(3)])
    assert read.dtype == np.float32
    np.testing.assert_allclose(read, expected / 127.5 - 1, atol=1e-6)


def test_grey_is_luminance(folder):
    read = read_folder(folder, Treatment(grey=True), ALL)
    assert read.shape == (3, 1, 6, 8)
    luminance = picture(6, 8, 0) @ [0.299, 0.587, 0.114]
    np.testing.assert_allclose(read[0, 0], luminance / 127.5 - 1, atol=1.1 / 127.5)


def test_crop_takes_the_centre_square(folder):
    read = read_folder(folder, Treatment(crop=True), ALL)
    expected = picture(6, 8, 0).transpose(2, 0, 1)[:, :, 1:7]
    np.testing.assert_allclose(read[0], expected / 127.5 - 1, atol=1e-6)


def test_size_makes_all_alike(folder):
    Image.fromarray(picture(20, 10, 9)).save(folder / "d.jpg")
    with pytest.raises(InputError, match=r"d\.jpg is 20x10, but those before it are 6x8"):
        read_folder(folder, Treatment(), ALL)
    assert read_folder(folder, Treatment(size=5), ALL).shape == (4, 3, 5, 5)


def test_resize_averages(tmp_path):
    stripes = np.tile(np.array([0, 255], dtype=np.uint8), (32, 16))
    Image.fromarray(stripes).save(tmp_path / "a.png")
    read = read_folder(tmp_path, Treatment(size=8, grey=True), ALL)
    assert np.abs(read[0, 0, :, 1:-1]).max() < 0.05  # subsampling would give all black or white


def test_crop_comes_before_resize(tmp_path):
    wide = np.zeros((8, 24), dtype=np.uint8)
    wide[:, 8:16] = 255
    Image.fromarray(wide).save(tmp_path / "a.png")
    assert read_folder(tmp_path, Treatment(size=4, crop=True), ALL).min() == 1
    assert read_folder(tmp_path, Treatment(size=4), ALL).min() < 0


def test_sixteen_bits_are_not_clipped(tmp_path):
    Image.fromarray(np.array([[0, 257 * 100 - 20, 65535]], dtype=np.uint16)).save(
        tmp_path / "a.png"
    )
    read = read_folder(tmp_path, Treatment(grey=True), ALL)
    np.testing.assert_allclose(read[0, 0, 0], [-1, 100 / 127.5 - 1, 1], atol=1e-6)


def test_floats_have_no_known_range(tmp_path):
    Image.fromarray(np.ones((2, 2), dtype=np.float32)).save(tmp_path / "a.tiff")
    with pytest.raises(InputError, match=r"a\.tiff has 32-bit pixels"):
        read_folder(tmp_path, Treatment(), ALL)


def test_pictures_are_turned_upright(tmp_path):
    image = Image.fromarray(picture(4, 6, 0))
    exif = image.getexif()
    exif[0x0112] = 6  # turn by 90 degrees to see it upright
    image.save(tmp_path / "a.png", exif=exif)
    assert read_folder(tmp_path, Treatment(), ALL).shape == (1, 3, 6, 4)


def test_palettes_and_transparency(tmp_path):
    Image.fromarray(picture(4, 4, 0)).quantize(8).save(tmp_path / "a.gif")
    Image.fromarray(np.full((4, 4, 4), 200, dtype=np.uint8)).save(tmp_path / "b.png")
    read = read_folder(tmp_path, Treatment(), ALL)
    assert read.shape == (2, 3, 4, 4)
    np.testing.assert_allclose(read[1], 200 / 127.5 - 1, atol=1e-6)


def damaged(content: bytes) -> dict[str, bytes]:
    return {
        "text": b"not a picture",
        "empty": b"",
        "half": content[: len(content) // 2],
        "header": content[:20],
        "middle": content[:60] + bytes(20) + content[80:],
    }


@pytest.mark.parametrize("kind", ["text", "empty", "half", "header", "middle"])
def test_a_damaged_picture_is_named_and_skipped_only_when_asked(folder, kind):
    whole = (folder / "b/0.png").read_bytes()
    (folder / "b/0.png").write_bytes(damaged(whole)[kind])
    with pytest.raises(InputError, match=r"b/0\.png is not a readable picture.*skip-corrupt"):
        read_folder(folder, Treatment(), ALL)
    read = read_folder(folder, Treatment(skip_corrupt=True), ALL)
    expected = np.stack([picture(6, 8, seed).transpose(2, 0, 1) for seed in (0, 2)])
    np.testing.assert_allclose(read, expected / 127.5 - 1, atol=1e-6)


@pytest.mark.parametrize("kind", ["png", "jpg", "gif", "tiff", "webp", "bmp", "ppm", "tga"])
def test_no_damage_escapes(tmp_path, kind):
    """Random bytes in a valid file: it is read, or named in an error, and nothing else."""
    path, rng = tmp_path / f"a.{kind}", np.random.default_rng(0)
    Image.fromarray(picture(16, 16, 0)).save(path)
    whole, refused = path.read_bytes(), 0
    for _ in range(40):
        content = bytearray(whole)
        for place in rng.integers(0, min(len(whole), 300), 4):
            content[place] = rng.integers(256)
        path.write_bytes(bytes(content))
        try:
            read_folder(tmp_path, Treatment(size=4), ALL)
        except InputError as error:
            refused += path.name in str(error)
    assert refused


def test_a_count_is_made_up_from_good_pictures(folder):
    (folder / "a.png").write_bytes(b"")
    skip = Treatment(skip_corrupt=True)
    for seed in range(4):
        assert len(read_folder(folder, skip, Selection(count=2, seed=seed))) == 2
    with pytest.raises(InputError, match="has 2 samples, asked for 3"):
        read_folder(folder, skip, Selection(count=3))


def test_only_the_chosen_pictures_are_opened(folder):
    order = Selection(count=1, seed=0).order(3)
    paths = ["a.png", "b/0.png", "c.PNG"]
    for unchosen in order[1:]:
        (folder / paths[unchosen]).write_bytes(b"")
    assert len(read_folder(folder, Treatment(), Selection(count=1, seed=0))) == 1


def test_more_than_there_is(folder):
    with pytest.raises(InputError, match="has 3 samples, asked for 4"):
        read_folder(folder, Treatment(), Selection(count=4))


def test_splits_share_no_picture(tmp_path):
    for value in range(14):
        Image.new("L", (2, 2), value).save(tmp_path / f"{value:02}.png")
    grey = Treatment(grey=True)
    train, held_out = (
        {round((v + 1) * 127.5) for v in read_folder(tmp_path, grey, Selection(s))[:, 0, 0, 0]}
        for s in ("train", "held-out")
    )
    assert (len(train), len(held_out)) == (12, 2)
    assert train | held_out == set(range(14))


@pytest.mark.parametrize("limit", [47, 20])  # Pillow warns up to twice its limit, then raises
@pytest.mark.parametrize("skip", [False, True])
def test_a_bomb_is_refused(folder, monkeypatch, limit, skip):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    with pytest.raises(InputError, match=rf"a\.png would unpack to more than {limit} pixels"):
        read_folder(folder, Treatment(skip_corrupt=skip), ALL)


def test_at_the_limit_nothing_is_refused(folder, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 48)
    assert len(read_folder(folder, Treatment(), ALL)) == 3


def test_postscript_is_not_handed_to_another_program(folder):
    (folder / "a.eps").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EOF\n")
    assert len(read_folder(folder, Treatment(), ALL)) == 3  # not even looked at
    os.rename(folder / "a.eps", folder / "a.png")
    with pytest.raises(InputError, match="not a readable picture"):
        read_folder(folder, Treatment(), ALL)


def test_nothing_to_read(tmp_path):
    (tmp_path / "notes.txt").write_text("no picture")
    with pytest.raises(InputError, match="has no pictures"):
        read_folder(tmp_path, Treatment(), ALL)
    (tmp_path / "a.png").write_bytes(b"")
    with pytest.raises(InputError, match="no readable picture"):
        read_folder(tmp_path, Treatment(skip_corrupt=True), ALL)
    with pytest.raises(InputError, match="no such directory"):
        read_folder(tmp_path / "absent", Treatment(), ALL)


@pytest.mark.parametrize("size", [0, -1, 5000])
def test_sizes_that_make_no_sense(size):
    with pytest.raises(InputError, match="pixels a side"):
        Treatment(size=size)
