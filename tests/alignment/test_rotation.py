"""Theorem 2, exact orthogonality, the least move, and rotations on disk."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sads
from sads.alignment import RotationTransformer, align, make_rotation
from sads.alignment.orthogonal import least_move, random_orthogonal, settle
from sads.alignment.rotation import FILE
from sads.errors import ArtefactError, InputError
from sads.presentation.alignment import rotation_sentences
from tests.alignment.geometries import geometry_with, random_psd

SEEDS = st.integers(0, 2**31)


def data_for(size: int, seed: int, count: int = 60) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, size)) @ random_psd(size, seed + 1) + 0.1


def alpha_of(geometry, x, matrix) -> float:
    moment = x.T @ x / len(x)
    return float(np.trace(geometry.matrix() @ matrix @ moment @ matrix.T))


@given(size=st.integers(2, 9), seed=SEEDS)
def test_no_permutation_of_the_eigenbases_beats_the_extremes(size, seed):
    """All D! ways to send data directions to directions of the network, D up to 9."""
    geometry, x = geometry_with(random_psd(size, seed), (size,)), data_for(size, seed)
    alignment = align(geometry, x)
    values = np.linalg.eigvalsh(geometry.factor)
    sigmas = np.linalg.eigvalsh(x.T @ x / len(x))
    orders = np.array(list(itertools.permutations(range(size))), dtype=np.int8)
    alphas = sigmas[orders] @ values
    slack = 1e-9 * alignment.alpha_max
    assert alphas.min() == pytest.approx(alignment.alpha_min, abs=slack)
    assert alphas.max() == pytest.approx(alignment.alpha_max, abs=slack)


@given(size=st.integers(2, 9), seed=SEEDS)
def test_no_random_rotation_beats_the_extremes(size, seed):
    geometry, x = geometry_with(random_psd(size, seed), (size,)), data_for(size, seed)
    alignment = align(geometry, x)
    slack = 1e-9 * alignment.alpha_max
    rng = np.random.default_rng(seed)
    for _ in range(50):
        alpha = alpha_of(geometry, x, random_orthogonal(size, size, rng))
        assert alignment.alpha_min - slack <= alpha <= alignment.alpha_max + slack


@given(size=st.integers(2, 9), seed=SEEDS, sign=st.sampled_from([-1.0, 1.0]))
def test_gradient_search_ends_at_the_extremes_and_not_beyond(size, seed, sign):
    """Riemannian gradient flow of sign * alpha over the orthogonal group, by Cayley steps."""
    geometry, x = geometry_with(random_psd(size, seed), (size,)), data_for(size, seed)
    alignment = align(geometry, x)
    whole, moment = geometry.matrix(), x.T @ x / len(x)
    turn = random_orthogonal(size, size, np.random.default_rng(seed))
    step = 0.5 / (np.linalg.norm(whole, 2) * np.linalg.norm(moment, 2))
    start = alpha_of(geometry, x, turn)
    for _ in range(300):
        gradient = whole @ turn @ moment @ turn.T
        skew = sign * step * (gradient - gradient.T)
        turn = np.linalg.solve(np.eye(size) - skew / 2, (np.eye(size) + skew / 2) @ turn)
    alpha = alpha_of(geometry, x, turn)
    slack = 1e-9 * alignment.alpha_max
    assert sign * (alpha - start) >= -slack
    assert alignment.alpha_min - slack <= alpha <= alignment.alpha_max + slack


@given(size=st.integers(2, 12), seed=SEEDS, data=st.data())
def test_rotations_are_orthogonal_and_invert(size, seed, data):
    kind = data.draw(st.sampled_from(["min", "max", "random", "identity"]))
    rank = None if kind == "identity" else data.draw(st.none() | st.integers(1, size))
    geometry, x = geometry_with(random_psd(size, seed), (size,)), data_for(size, seed)
    turn = make_rotation(kind, geometry=geometry, data=x, rank=rank, seed=seed)
    assert turn.error <= 1e-6
    z = torch.from_numpy(x).float()
    torch.testing.assert_close(turn.inverse(turn(z)), z)
    matrix = turn.matrix.double().numpy()
    assert turn.alpha == pytest.approx(alpha_of(geometry, x, matrix), rel=1e-4)
    assert turn.alpha == pytest.approx(align(geometry, turn(z).double().numpy()).alpha, rel=1e-4)


@pytest.mark.parametrize(
    ("kind", "shape", "rows"),
    [("dense", (1, 4, 4), 16), ("channels", (3, 3, 3), 9), ("tokens", (2, 4, 4), 4)],
)
def test_full_rotations_reach_the_extremes(kind, shape, rows):
    geometry = geometry_with(random_psd(rows, 0), shape, kind)
    x = data_for(int(np.prod(shape)), 0, count=200).reshape(-1, *shape)
    alignment = align(geometry, x)
    assert make_rotation("min", geometry=geometry, data=x).alpha == pytest.approx(
        alignment.alpha_min, rel=1e-8
    )
    assert make_rotation("max", geometry=geometry, data=x).alpha == pytest.approx(
        alignment.alpha_max, rel=1e-8
    )


@given(size=st.integers(3, 12), seed=SEEDS, data=st.data())
def test_least_move_places_k_directions_and_leaves_the_others(size, seed, data):
    rank = data.draw(st.integers(1, size - 1))
    rng = np.random.default_rng(seed)
    origin, target = random_orthogonal(size, rank, rng), random_orthogonal(size, rank, rng)
    matrix = least_move(origin, target)
    np.testing.assert_allclose(matrix @ origin, target, atol=1e-8)
    np.testing.assert_allclose(matrix.T @ matrix, np.eye(size), atol=1e-8)
    moved = np.linalg.svd(matrix - np.eye(size), compute_uv=False)
    assert (moved > 1e-8).sum() <= rank


def test_least_move_where_directions_are_in_place_already():
    rng = np.random.default_rng(0)
    origin = random_orthogonal(6, 3, rng)
    np.testing.assert_allclose(least_move(origin, origin), np.eye(6), atol=1e-12)
    near = np.linalg.qr(origin + 1e-9 * rng.normal(size=(6, 3)))[0]
    near *= np.sign((near * origin).sum(axis=0))
    matrix = least_move(origin, near)
    assert np.abs(matrix.T @ matrix - np.eye(6)).max() < 1e-12
    partly = origin.copy()
    partly[:, 0] = random_orthogonal(6, 1, rng)[:, 0]
    partly[:, 0] -= origin[:, 1:] @ (origin[:, 1:].T @ partly[:, 0])
    partly[:, 0] /= np.linalg.norm(partly[:, 0])
    matrix = least_move(origin, partly)
    np.testing.assert_allclose(matrix @ origin, partly, atol=1e-8)


@given(seed=SEEDS, repeated=st.integers(2, 5))
def test_choice_in_an_eigenspace_does_not_depend_on_the_basis_found(seed, repeated):
    rng = np.random.default_rng(seed)
    vectors = random_orthogonal(7, 7, rng)
    values = np.array([3.0] + [2.0] * repeated + [1.0] * (6 - repeated))
    other = vectors.copy()
    other[:, 1 : 1 + repeated] @= random_orthogonal(repeated, repeated, rng)
    other[:, 1 + repeated :] @= random_orthogonal(6 - repeated, 6 - repeated, rng)
    np.testing.assert_allclose(settle(values, vectors), settle(values, other), atol=1e-7)
    np.testing.assert_allclose(
        settle(values, vectors).T @ settle(values, vectors), np.eye(7), atol=1e-9
    )


def test_repeated_eigenvalues_are_said():
    geometry = geometry_with(np.diag([3.0, 1.0, 1.0, 0.5]), (4,))
    x = np.random.default_rng(0).normal(size=(50, 4)) * [1, 2, 3, 0]
    turn = make_rotation("min", geometry=geometry, data=x)
    assert turn.origin.repeated == (2, 0)
    again = make_rotation("min", geometry=geometry, data=x)
    assert torch.equal(turn.matrix, again.matrix)
    assert make_rotation(
        "min", geometry=geometry_with(random_psd(4, 0), (4,)), data=x
    ).origin.repeated == (0, 0)


def test_random_rotation_follows_its_seed():
    first, same, other = (make_rotation("random", shape=(1, 2, 2), seed=s) for s in (1, 1, 2))
    assert torch.equal(first.matrix, same.matrix)
    assert not torch.allclose(first.matrix, other.matrix)
    assert first.alpha is None


@given(size=st.integers(2, 9), seed=SEEDS)
def test_whitened_data_has_no_preferred_direction_and_returns(size, seed):
    geometry, x = geometry_with(random_psd(size, seed), (size,)), data_for(size, seed)
    whitening = make_rotation("whiten", geometry=geometry, data=x)
    values, vectors = np.linalg.eigh(x.T @ x / len(x))
    kept = np.maximum(values, 1e-3 * values.mean())
    z = whitening(torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(
        z.T @ z / len(z), vectors @ np.diag(values / kept) @ vectors.T, atol=2e-4
    )
    np.testing.assert_allclose(whitening.matrix, whitening.matrix.T, atol=1e-5 / kept.min() ** 0.5)
    np.testing.assert_allclose(whitening.inverse(torch.from_numpy(z)), x, atol=1e-3)
    assert rotation_sentences(whitening)[0].startswith("Map whiten of all data directions: alpha")
    if values.min() > 1.001e-3 * values.mean():
        assert whitening.alpha == pytest.approx(np.trace(geometry.matrix()), rel=1e-6)


def test_a_whitening_is_stored_with_its_inverse_and_predicts_no_noise(tmp_path):
    x = data_for(16, 3).reshape(-1, 1, 4, 4).astype(np.float32)
    trained = sads.train(
        "mlp", x, shape="1x4x4", iterations=1, batch_size=8, rotation="whiten", out=tmp_path
    )
    loaded = sads.load_rotation(tmp_path)
    assert torch.equal(loaded.matrix, trained.rotation.matrix)
    assert torch.equal(loaded.back, trained.rotation.back)
    assert loaded.error < 1e-4
    with pytest.raises(InputError, match="whitened"):
        trained.predict(torch.zeros(1, 1, 4, 4), torch.tensor([5]))


def test_bad_requests_are_refused_in_words():
    geometry, x = geometry_with(random_psd(4, 0), (4,)), data_for(4, 0)
    with pytest.raises(InputError, match=r"unknown rotation 'least': expected min, max"):
        make_rotation("least", geometry=geometry, data=x)
    with pytest.raises(InputError, match=r"needs a geometry and data"):
        make_rotation("min", shape=(4,), data=x)
    with pytest.raises(InputError, match=r"between 1 and 4"):
        make_rotation("min", geometry=geometry, data=x, rank=5)
    with pytest.raises(InputError, match=r"takes no rank"):
        make_rotation("identity", geometry=geometry, rank=2)
    with pytest.raises(InputError, match=r"needs the data"):
        make_rotation("random", shape=(4,), rank=2)
    with pytest.raises(InputError, match=r"shape of one sample"):
        make_rotation("random")
    with pytest.raises(InputError, match=r"takes samples of shape \(4,\), got \(3,\)"):
        make_rotation("min", geometry=geometry, data=x)(torch.zeros(2, 3))


def test_saved_rotation_returns_bit_for_bit(tmp_path):
    turn = make_rotation(
        "min", geometry=geometry_with(random_psd(6, 0), (6,)), data=data_for(6, 0), rank=2
    )
    turn.save(tmp_path / "turn")
    rotation = sads.load_rotation(tmp_path / "turn")
    assert torch.equal(rotation.matrix, turn.matrix)
    assert rotation.origin == turn.origin
    assert rotation.digest == turn.digest


def test_damaged_rotations_are_refused(tmp_path):
    with pytest.raises(ArtefactError, match=r"no rotation in"):
        sads.load_rotation(tmp_path)
    turn = make_rotation("random", shape=(4,))
    turn.save(tmp_path)
    whole = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(whole[:-7])
    with pytest.raises(ArtefactError, match=r"truncated"):
        sads.load_rotation(tmp_path)
    (tmp_path / FILE).write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ArtefactError, match=r"checksum"):
        sads.load_rotation(tmp_path)
    save_file({"matrix": turn.matrix}, tmp_path / FILE)
    with pytest.raises(ArtefactError, match=r"not a rotation"):
        sads.load_rotation(tmp_path)


def test_transformer_works_in_a_pipeline():
    geometry = geometry_with(random_psd(9, 0), (1, 3, 3))
    x = data_for(9, 3).astype(np.float32)
    pipeline = make_pipeline(StandardScaler(), RotationTransformer(geometry, kind="min"))
    z = pipeline.fit_transform(x)
    assert z.shape == x.shape
    np.testing.assert_allclose(pipeline.inverse_transform(z), x, atol=1e-5)
    direct = RotationTransformer(geometry, kind="max", rank=2).fit(x)
    expected = make_rotation("max", geometry=geometry, data=x.reshape(-1, 1, 3, 3), rank=2)
    assert torch.equal(direct.rotation_.matrix, expected.matrix)
    with pytest.raises(InputError, match=r"expected|has samples of shape"):
        RotationTransformer(geometry).fit(x[:, :5])
