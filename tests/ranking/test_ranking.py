"""Rankings of networks whose geometries are known."""

from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

import sads
from sads.data import Dataset
from sads.errors import InputError
from sads.geometry import Gaussian
from sads.networks import MLP, Linear, ScoreFamily, UNet
from sads.ranking import rank_families
from sads.ranking.ranking import Score, difference_error, measure, probability_below

D = 5
AT = Gaussian(1.0)
positive = st.lists(st.floats(0.1, 10), min_size=D, max_size=D)


def linear(name: str, eigenvalues, rotation: int = 0) -> ScoreFamily:
    factory = partial(Linear, (D,), eigenvalues=tuple(eigenvalues), rotation=rotation)
    return ScoreFamily(factory, (D,), name=name)


def normal(seed: int, count: int = 50, scales=(3, 2, 1, 0.5, 0.1)) -> Dataset:
    x = np.random.default_rng(seed).standard_normal((count, D)) * np.asarray(scales)
    return Dataset(x.astype(np.float32), "normal")


def exact(family: ScoreFamily) -> sads.Geometry:
    return sads.estimate_geometry(family, probe=AT)


def by_hand(g: np.ndarray, data: Dataset) -> float:
    x = data.samples.reshape(len(data), -1).astype(float)
    c = x.T @ x / len(x)
    return len(g) * np.trace(g @ c) / (np.trace(g) * np.trace(c))


def test_scores_of_linear_networks_are_the_closed_form():
    data = normal(0)
    families = [
        linear("largest first", [8, 5, 3, 2, 1]),
        linear("smallest first", [1, 2, 3, 5, 8]),
        linear("rotated", [8, 5, 3, 2, 1], rotation=4),
        linear("isotropic", [1] * D),
    ]
    found = rank_families(families, data, probe=AT)
    expected = {}
    for family in families:
        phi = family.factory().phi.numpy()
        expected[family.name] = by_hand(phi @ phi.T, data)
    assert [e.network for e in found.entries] == sorted(expected, key=expected.__getitem__)
    for entry in found.entries:
        assert entry.score == pytest.approx(expected[entry.network], rel=1e-6)
        assert entry.networks == 0
    assert found.entries[0].network == "smallest first"
    assert expected["isotropic"] == pytest.approx(1)


@given(positive, st.integers(0, 5), st.floats(0.01, 100), st.floats(0.01, 100))
def test_the_score_does_not_see_scales(eigenvalues, rotation, of_g, of_x):
    data = normal(1)
    larger = Dataset(data.samples * np.float32(of_x), "larger")
    scaled = [of_g * value for value in eigenvalues]
    one, other = (
        measure(exact(linear("g", values, rotation)), x)
        for values, x in ((eigenvalues, data), (scaled, larger))
    )
    assert one.value == pytest.approx(other.value, rel=1e-5)
    assert one.error == pytest.approx(other.error, rel=1e-4, abs=1e-6)


@given(st.floats(0.01, 100), st.integers(0, 5), st.integers(0, 100))
def test_the_score_of_an_isotropic_geometry_is_one(value, rotation, seed):
    found = measure(exact(linear("g", [value] * D, rotation)), normal(seed))
    assert found.value == pytest.approx(1)
    assert found.error == pytest.approx(0, abs=1e-6)


def test_the_error_of_a_difference_is_that_over_datasets():
    """Standard deviation of s_b - s_a over 300 datasets: known to 4 %, allowed 15 %."""
    a, b = exact(linear("a", [4, 3, 3, 2, 1])), exact(linear("b", [4.2, 3, 3, 2, 1]))
    differences, stated, apart = [], [], []
    for seed in range(300):
        data = normal(seed, count=200)
        first, second = measure(a, data), measure(b, data)
        differences.append(second.value - first.value)
        stated.append(difference_error(first, second))
        apart.append(np.hypot(first.error, second.error))
    assert np.mean(stated) == pytest.approx(np.std(differences, ddof=1), rel=0.15)
    # The errors of the two scores, taken as independent, are many times larger.
    assert np.mean(apart) > 5 * np.mean(stated)


def test_the_probability_of_an_order():
    one = np.array([1.0, -1.0, 0.0])
    a, b = Score(1.0, 0.3, one), Score(2.0, 0.4, 0 * one)
    assert probability_below(a, b) == pytest.approx(norm.cdf(1 / 0.5))
    same = Score(1.0, 1.0, one)
    assert probability_below(same, Score(1.0, 1.0, one)) == 0.5
    shared = Score(2.0, np.sqrt(1 / 3), one), Score(3.0, np.sqrt(1 / 3), one)
    assert probability_below(*shared) == pytest.approx(1)  # sum psi^2 / (3 * 2) = 1/3: no error


def test_equal_networks_are_tied():
    shape = (1, 4, 4)
    families = [
        ScoreFamily(partial(MLP, shape, width=8), shape, name="narrow"),
        ScoreFamily(partial(MLP, shape, width=16), shape, name="wide"),
        ScoreFamily(partial(UNet, shape, channels=8, groups=4, mults=(1, 1)), shape, name="unet"),
    ]
    images = np.random.default_rng(0).uniform(0.5, 1, (50, *shape)).astype(np.float32)
    data = Dataset(images, "bright")
    found = sads.rank(families, data, tolerance=0.3)
    assert [e.network for e in found.entries] == ["narrow", "wide", "unet"]
    first, second, last = found.entries
    assert first.score == pytest.approx(1)
    assert first.score_error == pytest.approx(0, abs=1e-6)
    assert (first.below_next, last.below_next) == (0.5, None)
    assert second.below_next == pytest.approx(1)
    assert found.ties == (("narrow", "wide"),)
    assert found.entries == sads.rank(families[::-1], data, tolerance=0.3).entries


def test_a_sampled_geometry_within_its_error_bars():
    """Against nine times the networks: four standard errors, 6e-5 by chance."""
    shape = (1, 4, 4)
    unet = ScoreFamily(partial(UNet, shape, channels=8, groups=4, mults=(1, 1)), shape, name="unet")
    mlp = ScoreFamily(partial(MLP, shape, width=8), shape, name="mlp")
    images = np.random.default_rng(0).uniform(-1, 1, (40, *shape)) + 0.5
    data = Dataset(images.astype(np.float32), "noise")
    ranking = sads.rank([unet, mlp], data, tolerance=0.2, seed=7)
    found = next(entry for entry in ranking.entries if entry.network == "unet")
    geometry = sads.estimate_geometry(unet, networks=9 * found.networks)
    truth = by_hand(geometry.matrix(), data)
    assert abs(found.score - truth) < 4 * found.score_error * np.sqrt(1 + 1 / 9)
    assert 0 < found.score_error < 0.1 * truth


def test_progress_names_the_network():
    seen = []
    shape = (1, 4, 4)
    families = [
        ScoreFamily(partial(UNet, shape, channels=8, groups=g, mults=(1, 1)), shape, name=n)
        for n, g in (("a", 4), ("b", 8))
    ]
    data = Dataset(np.random.default_rng(0).uniform(-1, 1, (9, *shape)).astype("f4"), "noise")
    sads.rank(families, data, tolerance=0.3, on_progress=lambda *told: seen.append(told))
    assert {name for name, _ in seen} == {"a", "b"}
    assert all(progress.networks > 0 for _, progress in seen)


def refused() -> ScoreFamily:
    def factory() -> torch.nn.Module:
        raise AssertionError("a network was made before the input was checked")

    return ScoreFamily(factory, (D,), name="refused")


@pytest.mark.parametrize(
    ("families", "data", "said"),
    [
        ([refused()], normal(0), "at least two"),
        ([refused(), refused()], normal(0), "two networks are called refused"),
        ([refused(), ScoreFamily(MLP, (1, 2, 2), name="other")], normal(0), "5, other of 1x2x2"),
        ([refused(), linear("b", [1] * D)], Dataset(np.ones((4, D), "f4"), "ones"), "the same"),
        ([refused(), linear("b", [1] * D)], Dataset(np.ones((4, 3), "f4"), "three"), "shape 3"),
    ],
)
def test_bad_input_is_refused_before_any_work(families, data, said):
    with pytest.raises(InputError, match=said):
        sads.rank(families, data, probe=AT)
