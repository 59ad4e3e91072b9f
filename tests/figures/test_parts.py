"""The computations inside figures, against independent truths."""

import math

import numpy as np
import pytest
import torch

from sads import estimate_geometry, network
from sads.diffusion import initial_network
from sads.errors import InputError
from sads.figures import figure_03_impulse as impulse
from sads.figures import figure_04_theorem as theorem
from sads.figures import figure_09_forward_probe as forward
from sads.figures import figure_a_training as training
from sads.figures import figure_b_classifier as classifier
from sads.figures import figure_c_signals as signals
from sads.figures.figure_02_bases import picture
from sads.figures.rotated import shrunk


def test_symmetrised_kernels_are_symmetric():
    member = initial_network(network("iddpm-16,resampling=area"), 0)
    impulse.symmetrise(member)
    kernel = member.stem.weight
    for other in (kernel.flip(-1), kernel.flip(-2), kernel.transpose(-2, -1)):
        torch.testing.assert_close(kernel, other)


def test_asymmetry_of_known_pictures():
    ramp = torch.arange(4.0).expand(4, 4) - 1.5  # odd under a reflection: no symmetric part
    assert impulse.asymmetry(ramp) == pytest.approx(1.0)
    assert impulse.asymmetry(torch.ones(4, 4)) == pytest.approx(0.0)
    assert impulse.asymmetry(ramp + 1.5) == pytest.approx(math.sqrt(1.25 / 3.5))


def test_theory_of_theorem_1():
    assert [theorem.rate(i) for i in range(5)] == pytest.approx([0.98] * 4 + [0.96])
    assert [theorem.trace(i) for i in range(5)] == pytest.approx([96, 60, 36, 24, 12])
    matrix, vectors = theorem.phi()
    np.testing.assert_allclose(matrix @ matrix.T @ vectors, vectors * theorem.EIGENVALUES)


def test_descent_reaches_the_score_of_lemma_1():
    matrix, vectors = theorem.phi()
    v = vectors[:, 2]
    assert theorem.descent(matrix, v, 2_000)[-1] < 1e-10
    # The score of N(0, v v^T + sigma^2 I) is minus the inverse of its covariance.
    covariance = np.outer(v, v) + theorem.SIGMA**2 * np.eye(5)
    np.testing.assert_allclose(theorem.optimum(v), -np.linalg.inv(covariance), atol=1e-12)


def test_frequencies_of_waves():
    wave = np.cos(2 * np.pi * 3 * np.arange(16) / 16)
    assert forward.frequency(np.tile(wave, (16, 1))) == pytest.approx(3 / 16)
    assert forward.frequency(np.ones((8, 8))) == pytest.approx(0.0)


def test_principal_cosines_of_known_planes():
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((12, 12)))[0].T
    weights = rng.standard_normal((20, 4)) * 5
    cosines = training.principal_cosines(weights @ basis[:4], weights @ basis[2:6])
    np.testing.assert_allclose(cosines, [1, 1, 0, 0], atol=1e-7)


def test_the_optimal_predictor_has_no_error():
    family = network("linear", shape=(1, 4, 4))
    levels = torch.from_numpy(np.sqrt(1 - family.schedule.abar)).float()

    class Optimal(torch.nn.Module):
        def forward(self, x, t):
            return levels[t].view(-1, 1, 1, 1) * x

    class Silent(torch.nn.Module):
        def forward(self, x, t):
            return torch.zeros_like(x)

    assert training.along(family, Optimal(), np.eye(16)).max() < 1e-10
    assert training.along(family, Silent(), np.eye(16)).mean() == pytest.approx(1.0, abs=0.1)


def test_a_classifier_needs_its_direction():
    """Trained along v it tells classes apart along v; the noise has no part there."""
    settings = classifier.Settings("cnn,width=16", "1x4x4", 0, 0, (0,), "smoke", 60, 64)
    v = np.ones(16) / 4
    assert classifier.classify(settings, v, 0)["accuracy"] > 0.9


def test_signals_are_smooth_and_scaled():
    found = signals.signals(500, 64)
    assert found.shape == (500, 1, 64)
    assert found.std() == pytest.approx(1.0, abs=1e-3)
    energy = np.abs(np.fft.rfft(found[:, 0], axis=1)) ** 2
    assert energy[:, signals.WAVES :].sum() < 1e-6 * energy.sum()


def test_shrunk_images_keep_their_mean():
    samples = np.random.default_rng(0).standard_normal((3, 3, 32, 32)).astype(np.float32)
    small = shrunk(samples, (3, 16, 16))
    np.testing.assert_allclose(small.mean(axis=(2, 3)), samples.mean(axis=(2, 3)), atol=1e-5)
    with pytest.raises(InputError, match="expected square images of at least 1x16x16"):
        shrunk(samples, (1, 16, 16))


def test_pictures_of_bases_are_in_place():
    rows = [
        {"basis": "dct", "row": i, "column": j, "msw2": float(10 * i + j + seed)}
        for i in range(2)
        for j in range(2)
        for seed in (0, 1)
    ]
    np.testing.assert_allclose(picture(rows, "dct"), [[0.5, 1.5], [10.5, 11.5]])


def test_spheres_of_a_band_lie_in_it(tmp_path):
    from sads.specs import parse_dataset

    geometry = estimate_geometry("dit-2", shape="1x8x8", out=tmp_path / "g")
    data = parse_dataset(f"sphere:geometry={tmp_path / 'g'}:band=0,count=50,seed=3")
    band = geometry.spectrum().eigenvectors[:, :4]
    flat = data.samples.reshape(50, -1)
    np.testing.assert_allclose(np.linalg.norm(flat, axis=1), 8.0, rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(flat @ band, axis=1), 8.0, rtol=1e-5)


def test_figure_6_runs_the_trials_of_the_example():
    """What has been run with the example is known to the figure, and the other way round."""
    from pathlib import Path

    from sads.figures.figure_06_eigenvectors import SCALES
    from sads.sweep import PROTOCOLS, load_specification

    path = Path(__file__).parents[2] / "examples" / "figure-06-laptop.toml"
    example, settings = load_specification(path), SCALES["laptop"]
    assert example.protocol == PROTOCOLS[settings.protocol]
    assert set(settings.seeds) <= set(example.seeds)
    assert settings.shape is None
    parts = {part.network: part.places for part in settings.parts.values()}
    for grid in example.grid:
        (name,) = grid.networks
        for kind, places in parts[name].items():
            found = getattr(grid, kind)
            assert found == (places if places == "all" else tuple(places))
