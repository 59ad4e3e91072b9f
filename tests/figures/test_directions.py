import numpy as np
import pytest
from matplotlib.figure import Figure

from sads.directions import Structure, exact_spectrum
from sads.figures.directions import dft_energy, draw_directions, loudest, shown_indices


@pytest.mark.parametrize("size", [1, 2, 5, 9, 16, 256, 3072])
def test_shown_indices_are_distinct_and_reach_both_ends(size):
    shown = shown_indices(size)
    assert shown[0] == 0
    assert shown[-1] == size - 1
    assert shown == sorted(set(shown))


def test_dft_energy_keeps_energy_and_centres_the_mean():
    image = np.random.default_rng(0).standard_normal((8, 8))
    energy = dft_energy(image)
    assert energy.sum() == pytest.approx((image**2).sum())
    assert dft_energy(np.ones((8, 8)))[4, 4] == pytest.approx(64)


def test_the_loudest_channel_is_shown():
    picture = np.zeros((3, 2, 2))
    picture[1] = 5
    np.testing.assert_array_equal(loudest(picture), picture[1])


@pytest.mark.parametrize(
    ("structure", "values"),
    [
        (Structure("dense", (6,)), [8, 5, 3, 2, 1, 1]),
        (Structure("channels", (2, 8)), [8, 7, 6, 5, 4, 3, 0, 0]),
        (Structure("channels", (3, 2, 2)), [4, 3, 2, 1]),
        (Structure("isotropic", (1, 3, 3)), [2]),
    ],
    ids=lambda x: str(getattr(x, "kind", "")),
)
def test_every_kind_of_sample_can_be_drawn(tmp_path, structure, values):
    figure = draw_directions(exact_spectrum(np.diag(np.array(values, float)), structure), "title")
    assert isinstance(figure, Figure)
    figure.savefig(tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 5000
