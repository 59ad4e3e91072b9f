import numpy as np
import pytest
import torch

from sads.geometry import Gaussian, estimate_geometry
from sads.networks import DiT, preset_family

from .families import FAMILIES, probes
from .propositions import nearest_cnn_form, nearest_mlp_form, nearest_transformer_form


@pytest.mark.parametrize(("name", "patch", "tokens"), [("dit-2", 2, 64), ("dit-4", 4, 16)])
def test_dit_at_zero_is_exact_with_multiplicities_and_null_space(name, patch, tokens):
    geometry = estimate_geometry(preset_family(name))
    assert geometry.exact
    assert geometry.networks == 0
    assert geometry.whitened_error == 0
    spectrum = geometry.spectrum()
    assert all(band.certified and band.exact for band in spectrum.bands)
    *bands, null = spectrum.bands
    assert null.null
    assert not any(band.null for band in bands)
    # Every eigenvalue is repeated patch^2 times; no two tokens' eigenvalues coincide by chance.
    assert {band.width for band in bands} == {patch**2}
    positions = DiT((1, 16, 16), patch=patch).positions.double()
    features = torch.nn.functional.layer_norm(positions, (48,), eps=1e-6).numpy()
    rank = np.linalg.matrix_rank(features, tol=1e-6 * np.linalg.norm(features, 2))
    assert len(bands) == rank
    assert null.width == 256 - rank * patch**2
    assert sum(band.width for band in spectrum.bands) == tokens * patch**2


@pytest.mark.parametrize("name", ["dit-2", "dit-4"])
def test_dit_features_at_zero_are_the_closed_form_whatever_the_parameters(name):
    family = preset_family(name)
    exact = estimate_geometry(family)
    scale = family.schedule.score_weights.mean()
    for _ in range(3):
        network = family.factory().double().eval()
        with torch.no_grad():
            h = network.features(torch.zeros(1, *family.shape).double(), torch.tensor([123.0]))[0]
        variance = network.distributions()["head.weight"].variance
        factor = scale * variance * (h @ h.T).numpy()
        np.testing.assert_allclose(factor, exact.factor, rtol=1e-9, atol=1e-9 * factor.max())


@pytest.mark.parametrize("name", ["dit-2", "dit-4"])
def test_sampled_dit_agrees_within_its_precision(name):
    """The naive estimate in the exact basis: within 5.5 standard errors, null space zero."""
    family = preset_family(name)
    exact = estimate_geometry(family, weighting="noise")
    naive = estimate_geometry(family, weighting="noise", estimator="naive", networks=2400)
    vectors, values = exact.spectrum().eigenvectors, exact.spectrum().eigenvalues
    forms = np.stack([np.einsum("ij,ij->j", vectors, f @ vectors) for f in naive.folds])
    error = forms.std(0, ddof=1) / np.sqrt(len(forms))
    seen = values > 1e-6 * values[0]
    assert np.max(np.abs(forms.mean(0) - values)[seen] / error[seen]) < 5.5
    assert np.max(forms.mean(0)[values == 0]) < 1e-9 * values[0]


@pytest.mark.parametrize("probe", ["gaussian", "point", "forward"])
def test_linear_geometry_is_phi_phi_transposed(probe):
    family = FAMILIES["linear"]
    phi = family.factory().phi.double().numpy()
    geometry = estimate_geometry(family, probe=probes(family.shape)[probe])
    ratio = geometry.matrix() / np.trace(geometry.matrix())
    np.testing.assert_allclose(ratio, phi @ phi.T / np.trace(phi @ phi.T), atol=1e-12)
    # 8, 5, 3, 2 and a double 1.
    assert [band.width for band in geometry.spectrum().bands][:4] == [1, 1, 1, 1]
    np.testing.assert_allclose(
        geometry.spectrum().eigenvalues[:4] / ratio_of(geometry), [8, 5, 3, 2], rtol=1e-5
    )


def ratio_of(geometry) -> float:
    return geometry.trace / 20


def test_mlp_is_isotropic():
    geometry = estimate_geometry(FAMILIES["mlp"], probe=Gaussian(1.0), networks=240)
    assert geometry.structure.kind == "isotropic"
    matrix = geometry.matrix()
    np.testing.assert_array_equal(matrix, matrix[0, 0] * np.eye(16))
    assert [(b.first, b.last) for b in geometry.spectrum().bands] == [(0, 15)]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("mlp", nearest_mlp_form),
        ("unet-rgb", lambda g: nearest_cnn_form(g, 3)),
        ("dit", lambda g: nearest_transformer_form(g, (1, 8, 8), 2)),
    ],
)
def test_naive_estimates_approach_the_form_of_their_proposition(name, form):
    """The distance to the form falls like one over the root of the networks: by 4 at 16 times."""
    distances = []
    for networks in (480, 7680):
        matrix = estimate_geometry(
            FAMILIES[name],
            probe=Gaussian(1.0),
            estimator="naive",
            networks=networks,
            weighting="noise",
        ).matrix()
        distances.append(np.linalg.norm(matrix - form(matrix)) / np.linalg.norm(matrix))
    assert distances[0] / distances[1] == pytest.approx(4, rel=0.35)


@pytest.mark.parametrize(
    "form",
    [
        nearest_mlp_form,
        lambda g: nearest_cnn_form(g, 3),
        lambda g: nearest_cnn_form(g, 1),
        lambda g: nearest_transformer_form(g, (3, 2, 2), 2),
    ],
)
def test_forms_are_projections(form):
    g = np.random.default_rng(0).standard_normal((12, 12))
    g = g @ g.T
    once = form(g)
    np.testing.assert_allclose(form(once), once, atol=1e-12)
    assert np.sum((g - once) * once) == pytest.approx(0, abs=1e-9)  # orthogonal


def test_transformer_geometry_is_not_of_mlp_form():
    geometry = estimate_geometry(FAMILIES["dit"]).matrix()
    assert np.linalg.norm(geometry - nearest_mlp_form(geometry)) > 0.1 * np.linalg.norm(geometry)
