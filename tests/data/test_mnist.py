"""IDX files built byte by byte, and the real ones where they are."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from sads.data import Selection, read_mnist
from sads.data.mnist import fitted
from sads.errors import InputError

REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "mnist"


def idx(images: np.ndarray, magic: int = 0x803) -> bytes:
    return struct.pack(">IIII", magic, *images.shape) + images.tobytes()


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, (12, 5, 4), dtype=np.uint8)


def put(directory: Path, content: bytes, name: str = "train-images-idx3-ubyte") -> None:
    (directory / name).write_bytes(content)


@pytest.mark.parametrize("zipped", [False, True])
def test_pixels_and_order(tmp_path, images, zipped):
    name = "train-images-idx3-ubyte" + (".gz" if zipped else "")
    put(tmp_path, gzip.compress(idx(images)) if zipped else idx(images), name)
    read = read_mnist(tmp_path, Selection())
    assert read.dtype == np.float32
    np.testing.assert_allclose(read, images[:, None] / 127.5 - 1, atol=1e-6)


def test_held_out_is_the_other_file(tmp_path, images):
    put(tmp_path, idx(images))
    put(tmp_path, idx(images[:3] // 2), "t10k-images-idx3-ubyte")
    held_out = read_mnist(tmp_path, Selection("held-out"))
    np.testing.assert_allclose(held_out, images[:3, None] // 2 / 127.5 - 1, atol=1e-6)
    assert len(read_mnist(tmp_path, Selection("train"))) == 12


def test_count_and_seed(tmp_path, images):
    put(tmp_path, idx(images))
    drawn = read_mnist(tmp_path, Selection("train", 5, 3))
    rows = Selection(None, 5, 3).rows(12, "")
    np.testing.assert_allclose(drawn, images[rows, None] / 127.5 - 1, atol=1e-6)
    with pytest.raises(InputError, match="has 12 samples, asked for 13"):
        read_mnist(tmp_path, Selection(count=13))


@pytest.mark.parametrize("keep", [0, 7, 16, 100, 255])
@pytest.mark.parametrize("zipped", [False, True])
def test_truncated(tmp_path, images, keep, zipped):
    content = idx(images)[:keep]
    name = "train-images-idx3-ubyte" + (".gz" if zipped else "")
    put(tmp_path, gzip.compress(content) if zipped else content, name)
    with pytest.raises(InputError, match="truncated"):
        read_mnist(tmp_path, Selection())


@pytest.mark.parametrize("keep", [5, 40, -9])
def test_truncated_gzip(tmp_path, images, keep):
    put(tmp_path, gzip.compress(idx(images))[:keep], "train-images-idx3-ubyte.gz")
    with pytest.raises(InputError, match=r"ubyte\.gz cannot be read"):
        read_mnist(tmp_path, Selection())


def test_gzip_by_name_only(tmp_path, images):
    put(tmp_path, idx(images), "train-images-idx3-ubyte.gz")
    with pytest.raises(InputError, match="cannot be read"):
        read_mnist(tmp_path, Selection())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            struct.pack(">II", 0x801, 60000) + bytes(60000),
            "expected magic 0x00000803, got 0x00000801",
        ),
        (struct.pack(">IIII", 0x803, 0, 28, 28), "0 images"),
        (struct.pack(">IIII", 0x803, 1, 0, 28), "1 images of 0x28"),
        (struct.pack(">IIII", 0x803, 1, 28, 2**31), "1 to 1024 pixels a side"),
        (struct.pack(">IIII", 0x803, 2, 2, 2) + bytes(9), "too long"),
    ],
)
def test_headers_that_cannot_be(tmp_path, content, message):
    put(tmp_path, content)
    with pytest.raises(InputError, match=message):
        read_mnist(tmp_path, Selection())


def test_no_files(tmp_path):
    with pytest.raises(InputError, match=r"neither train-images-idx3-ubyte nor .*\.gz"):
        read_mnist(tmp_path, Selection())
    with pytest.raises(InputError, match="no such directory"):
        read_mnist(tmp_path / "absent", Selection())


@pytest.mark.skipif(not REAL.is_dir(), reason="the MNIST files are not beside the repository")
def test_the_real_digits():
    train, held_out = read_mnist(REAL, Selection("train")), read_mnist(REAL, Selection("held-out"))
    assert train.shape == (60_000, 1, 28, 28)
    assert held_out.shape == (10_000, 1, 28, 28)
    unit = (train.astype(np.float64) + 1) / 2
    assert unit.mean() == pytest.approx(0.1307, abs=5e-5)
    assert unit.std() == pytest.approx(0.3081, abs=5e-5)


@pytest.mark.parametrize(
    ("size", "block", "before"), [(28, 1, 0), (32, 1, 2), (16, 2, 1), (8, 4, 0)]
)
def test_fitted_averages_blocks_and_pads_with_background(size, block, before):
    images = np.random.default_rng(0).uniform(-1, 1, (3, 28, 28)).astype(np.float32)
    resized = fitted(images, size)
    assert resized.shape == (3, size, size)
    side = 28 // block
    inner = resized[:, before : before + side, before : before + side]
    brute = [
        [images[:, a : a + block, b : b + block].mean(axis=(1, 2)) for b in range(0, 28, block)]
        for a in range(0, 28, block)
    ]
    np.testing.assert_allclose(inner, np.array(brute).transpose(2, 0, 1), atol=1e-6)
    assert (resized != -1).sum() <= inner.size


def test_fitted_needs_a_size():
    with pytest.raises(InputError, match=r"size is at least 1"):
        fitted(np.zeros((1, 28, 28), dtype=np.float32), 0)
