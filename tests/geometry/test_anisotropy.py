"""Effective directions and places against closed forms."""

import numpy as np
import pytest

from sads.geometry import estimate_geometry
from sads.geometry.anisotropy import effective_directions, place_of
from sads.networks.presets import preset_family


def test_a_closed_form_is_its_participation_ratio():
    geometry = estimate_geometry(preset_family("dit-2", shape=(1, 8, 8)))
    values = np.linalg.eigvalsh(geometry.matrix())
    value, error = effective_directions(geometry)
    assert value == pytest.approx(values.sum() ** 2 / (values**2).sum(), rel=1e-9)
    assert error == 0


def test_an_estimate_has_no_bias_and_an_honest_error():
    """Many short runs against one long run; the plain ratio of an estimate is far too small."""
    family = preset_family("cnn", width=4, depth=1, shape=(1, 4, 4))
    long, _ = effective_directions(estimate_geometry(family, networks=6_000, seed=99))
    runs = [estimate_geometry(family, networks=24, seed=seed) for seed in range(24)]
    values, errors = np.array([effective_directions(run) for run in runs]).T
    scatter = values.std(ddof=1)
    assert abs(values.mean() - long) < 4 * scatter / np.sqrt(len(values)) + 0.02 * long
    assert 0.4 < np.sqrt((errors**2).mean()) / scatter < 2.5


def test_directions_are_found_in_their_bands():
    geometry = estimate_geometry(preset_family("dit-2", shape=(1, 8, 8)))
    spectrum = geometry.spectrum()
    for band in spectrum.bands:
        columns = spectrum.eigenvectors[:, band.first : band.last + 1]
        place = place_of(geometry, columns)
        assert (place.band.first, place.band.last) == (band.first, band.last)
        assert place.share == pytest.approx(1.0)
        assert band.first <= place.half <= band.last
        mean = spectrum.eigenvalues.mean()
        own = spectrum.eigenvalues[band.first : band.last + 1].mean() / mean
        assert place.relative == pytest.approx(own, abs=1e-9)


def test_a_mixture_is_shared_out():
    geometry = estimate_geometry(
        preset_family("cnn", width=4, depth=1, shape=(2, 4, 4)), networks=96
    )
    rng = np.random.default_rng(0)
    columns = np.linalg.qr(rng.standard_normal((32, 3)))[0]
    place = place_of(geometry, columns)
    shares = np.square(geometry.spectrum().eigenvectors.T @ columns).sum(axis=1) / 3
    own = shares[place.band.first : place.band.last + 1].sum()
    assert place.share == pytest.approx(own)
    assert shares[: place.half].sum() < 0.5 <= shares[: place.half + 1].sum() + 1e-12
