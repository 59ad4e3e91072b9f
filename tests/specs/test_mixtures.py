"""`mixture:FILE.npz` as data: its samples, its optimum, and what is refused."""

import numpy as np
import pytest

from sads.errors import InputError
from sads.specs import DataSpec
from sads.specs.coercion import as_dataset

MEANS = np.stack([np.full((1, 2, 2), -2.0), np.full((1, 2, 2), 1.0)])


def _file(folder, **arrays):
    path = folder / "mixture.npz"
    np.savez(path, **arrays)
    return f"mixture:{path}"


def test_its_samples_have_the_moments_of_the_mixture(tmp_path):
    text = _file(tmp_path, means=MEANS, deviations=np.array([0.5, 0.1]), weights=[0.25, 0.75])
    data = as_dataset(f"{text},count=40000")
    assert data.shape == (1, 2, 2)
    flat = data.samples.reshape(-1, 4).astype(float)
    low = flat[:, 0] < 0.4  # 4.8 and 6 standard deviations away
    assert abs(low.mean() - 0.25) < 0.01
    np.testing.assert_allclose(flat.mean(axis=0), 0.25 * -2 + 0.75 * 1, atol=0.03)
    np.testing.assert_allclose(flat[low].std(axis=0), 0.5, atol=0.02)
    np.testing.assert_allclose(flat[~low].std(axis=0), 0.1, atol=0.005)


def test_covariances_are_those_of_the_components(tmp_path):
    generator = np.random.default_rng(0)
    factors = generator.standard_normal((2, 4, 4))
    covariances = factors @ factors.transpose(0, 2, 1)
    text = _file(tmp_path, means=MEANS * 20, covariances=covariances)
    flat = as_dataset(f"{text},count=40000").samples.reshape(-1, 4).astype(float)
    for which, expected in zip((flat[:, 0] < 0, flat[:, 0] > 0), covariances, strict=True):
        found = np.cov(flat[which].T)
        assert np.abs(found - expected).max() < 0.05 * np.abs(expected).max()


def test_one_wide_component_is_gaussian_data(tmp_path):
    """N(0, 4 I) by both roads: the optimum is the same function."""
    mixture = as_dataset(_file(tmp_path, means=np.zeros((1, 1, 2, 2)), deviations=[2.0])).law
    x = np.random.default_rng(1).standard_normal((5, 4))
    signal = np.linspace(0.1, 0.9, 5)
    expected = np.sqrt(1 - signal)[:, None] * x / (4 * signal + 1 - signal)[:, None]
    assert mixture is not None
    np.testing.assert_allclose(mixture.optimal_noise(x, signal), expected)


def test_its_identity_is_the_content_of_the_file(tmp_path):
    first = DataSpec.parse(_file(tmp_path, means=MEANS, deviations=[1.0, 1.0])).digest()
    again = DataSpec.parse(_file(tmp_path, means=MEANS, deviations=[1.0, 2.0])).digest()
    assert first != again


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"deviations": [1.0]}, "a mixture has the arrays means"),
        ({"means": MEANS}, "deviations or covariances"),
        ({"means": MEANS, "deviations": [1.0]}, "has the shape"),
        ({"means": MEANS, "deviations": [1.0, -1.0]}, "not negative"),
        ({"means": MEANS, "deviations": [1.0, 1.0], "weights": [0.2, 0.2]}, "sum to one"),
        ({"means": MEANS, "deviations": [1.0, 1.0], "more": [1.0]}, "holds"),
        ({"means": MEANS, "covariances": np.tile(-np.eye(4), (2, 1, 1))}, "negative eigenvalues"),
        ({"means": MEANS, "covariances": np.tile(np.tri(4), (2, 1, 1))}, "symmetric"),
    ],
)
def test_files_that_hold_no_mixture_are_refused(tmp_path, arrays, message):
    with pytest.raises(InputError, match=message):
        as_dataset(_file(tmp_path, **arrays))


def test_another_shape_is_refused(tmp_path):
    text = _file(tmp_path, means=MEANS, deviations=[1.0, 1.0])
    with pytest.raises(InputError, match="are of 1x2x2, expected 1x4x4"):
        as_dataset(text, shape=(1, 4, 4))
