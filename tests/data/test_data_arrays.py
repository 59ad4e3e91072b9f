"""NumPy files: values kept or scaled, and every damage named."""

import pickle
import zipfile

import numpy as np
import pytest

from sads.data import read_npy, read_npz
from sads.errors import InputError
from sads.specs.coercion import as_dataset


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, (6, 3, 4, 4), dtype=np.uint8)


def test_values_are_kept_unless_scaled(tmp_path, images):
    np.save(tmp_path / "a.npy", images)
    kept, scaled = read_npy(tmp_path / "a.npy"), read_npy(tmp_path / "a.npy", scale=True)
    assert kept.dtype == scaled.dtype == np.float32
    assert np.array_equal(kept, images)
    np.testing.assert_allclose(scaled, images / 127.5 - 1, atol=1e-6)


def test_bytes_scale_by_their_type_not_their_content(tmp_path):
    np.save(tmp_path / "dark.npy", np.full((2, 2), 51, dtype=np.uint8))
    assert np.allclose(read_npy(tmp_path / "dark.npy", scale=True), -0.6)


@pytest.mark.parametrize("values", [[3.0, 4.0, 5.0], [0, 100, 200], [False, True, True]])
def test_other_types_scale_by_their_range(tmp_path, values):
    np.save(tmp_path / "a.npy", np.array(values))
    scaled = read_npy(tmp_path / "a.npy", scale=True)
    assert (scaled.min(), scaled.max()) == (-1, 1)


def test_a_key_of_an_archive(tmp_path, images):
    np.savez_compressed(tmp_path / "a.npz", images=images, labels=np.arange(6))
    assert np.array_equal(read_npz(tmp_path / "a.npz", "images"), images)
    assert np.array_equal(read_npz(tmp_path / "a.npz", "labels"), np.arange(6))
    with pytest.raises(InputError, match="images, labels"):
        read_npz(tmp_path / "a.npz")
    with pytest.raises(InputError, match="images, labels"):
        read_npz(tmp_path / "a.npz", "pictures")


def test_the_only_array_needs_no_key(tmp_path, images):
    np.savez(tmp_path / "a.npz", images)
    assert read_npz(tmp_path / "a.npz").shape == images.shape


def test_the_two_kinds_are_not_confused(tmp_path, images):
    np.save(tmp_path / "a.npy", images)
    np.savez(tmp_path / "a.npz", images)
    with pytest.raises(InputError, match="npy:"):
        read_npz(tmp_path / "a.npy")
    with pytest.raises(InputError, match="npz:"):
        read_npy(tmp_path / "a.npz")


@pytest.mark.parametrize("keep", [0, 5, 60, 128, 150])
def test_truncated_npy(tmp_path, images, keep):
    np.save(tmp_path / "a.npy", images)
    (tmp_path / "a.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:keep])
    with pytest.raises(InputError, match=r"a\.npy"):
        read_npy(tmp_path / "a.npy")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_truncated_npz(tmp_path, images, share):
    np.savez_compressed(tmp_path / "a.npz", images=images)
    whole = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(InputError, match=r"a\.npz"):
        read_npz(tmp_path / "a.npz")


@pytest.mark.parametrize("compressed", [True, False])
def test_damaged_npz(tmp_path, images, compressed):
    (np.savez_compressed if compressed else np.savez)(tmp_path / "a.npz", images=images)
    whole = bytearray((tmp_path / "a.npz").read_bytes())
    for place in range(180, 260):
        whole[place] ^= 0xFF
    (tmp_path / "a.npz").write_bytes(bytes(whole))
    with pytest.raises(InputError, match=r"a\.npz is not a readable NumPy file"):
        read_npz(tmp_path / "a.npz")


def test_a_header_that_lies(tmp_path, images):
    np.save(tmp_path / "a.npy", images)
    whole = (tmp_path / "a.npy").read_bytes()
    for lie in (b"(99999, 3,4)", b"(1 << 40, 1)", b"(6, 3, 4, 4("):
        assert lie not in whole
        (tmp_path / "b.npy").write_bytes(whole.replace(b"(6, 3, 4, 4)", lie))
        with pytest.raises(InputError, match=r"b\.npy"):
            read_npy(tmp_path / "b.npy")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("scale", [False, True])
def test_values_that_are_not_finite(tmp_path, bad, scale):
    np.save(tmp_path / "a.npy", np.array([[0.0, bad]]))
    with pytest.raises(InputError, match="NaN or infinite"):
        read_npy(tmp_path / "a.npy", scale=scale)


def test_values_too_large_for_float32(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[0.0, 1e300]]))
    with pytest.raises(InputError, match="too large for float32"):
        read_npy(tmp_path / "a.npy")
    assert np.array_equal(read_npy(tmp_path / "a.npy", scale=True), [[-1, 1]])


def test_a_constant_has_no_range(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    with pytest.raises(InputError, match="cannot be scaled"):
        read_npy(tmp_path / "a.npy", scale=True)


class Trap:
    """Shouts when unpickled."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was opened",))


def test_pickles_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "a.npz", images=np.array([Trap()], dtype=object))
    (tmp_path / "raw.npy").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(InputError):
        read_npy(tmp_path / "a.npy")
    with pytest.raises(InputError):
        read_npz(tmp_path / "a.npz")
    with pytest.raises(InputError):
        read_npy(tmp_path / "raw.npy")


def test_things_that_are_not_numbers(tmp_path):
    np.save(tmp_path / "words.npy", np.array(["a", "b"]))
    np.save(tmp_path / "complex.npy", np.array([1j]))
    np.save(tmp_path / "empty.npy", np.zeros((0, 3)))
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as archive:
        archive.writestr("readme.txt", "no array")
    for name, message in (("words", "numbers"), ("complex", "numbers"), ("empty", "empty")):
        with pytest.raises(InputError, match=message):
            read_npy(tmp_path / f"{name}.npy")
    with pytest.raises(InputError, match="numbers"):
        read_npz(tmp_path / "text.npz")


def test_no_such_file(tmp_path):
    for read in (read_npy, read_npz):
        with pytest.raises(InputError, match="no such file"):
            read(tmp_path / "absent")


LATENTS = 3 + np.array([5.0, 0.2])[:, None, None] * np.random.default_rng(3).standard_normal(
    (40, 2, 4, 4)
)


def test_latents_are_kept_multiplied_or_standardised(tmp_path):
    np.save(tmp_path / "a.npy", LATENTS)
    kept = as_dataset(f"npy:{tmp_path}/a.npy").samples
    assert np.array_equal(kept, LATENTS.astype(np.float32))
    times = as_dataset(f"npy:{tmp_path}/a.npy,scale=0.18215").samples
    np.testing.assert_allclose(times, 0.18215 * LATENTS, rtol=1e-6, atol=1e-6)
    even = as_dataset(f"npy:{tmp_path}/a.npy,scale=channels").samples
    np.testing.assert_allclose(even.mean((0, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(even.std((0, 2, 3)), 1, atol=1e-5)


def test_every_split_of_latents_is_standardised_alike(tmp_path):
    """By the whole file: rows of a part are rows of the whole."""
    np.savez(tmp_path / "a.npz", z=LATENTS)
    whole = as_dataset(f"npz:{tmp_path}/a.npz:z,scale=channels").samples
    for told in ("split=train", "split=held-out", "count=7"):
        part = as_dataset(f"npz:{tmp_path}/a.npz:z,scale=channels,{told}").samples
        assert {row.tobytes() for row in part} < {row.tobytes() for row in whole}


@pytest.mark.parametrize("told", ["0", "nan", "inf", "pixels", ""])
def test_a_scale_that_is_none_is_refused(tmp_path, told):
    np.save(tmp_path / "a.npy", LATENTS)
    with pytest.raises(InputError, match="scale"):
        as_dataset(f"npy:{tmp_path}/a.npy,scale={told}")


def test_a_constant_channel_cannot_be_standardised(tmp_path):
    np.save(tmp_path / "a.npy", np.stack([LATENTS[:, 0], np.ones((40, 4, 4))], axis=1))
    with pytest.raises(InputError, match=r"channel 1 of .* is constant"):
        as_dataset(f"npy:{tmp_path}/a.npy,scale=channels")
