"""The computations inside figures, against independent truths."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from sads import estimate_geometry, network
from sads.errors import ArtefactError, InputError
from sads.figures import figure_03_impulse as impulse
from sads.figures import figure_04_theorem as theorem
from sads.figures import figure_09_forward_probe as forward
from sads.figures import figure_a_training as training
from sads.figures import figure_b_classifier as classifier
from sads.figures import figure_c_signals as signals
from sads.figures.catalogue import experiment
from sads.figures.data import Request
from sads.figures.figure_02_bases import table
from sads.figures.figure_05_contours import exact, outputs
from sads.figures.images import prepared, shrunk
from sads.figures.run import make_figure
from sads.storage.cached_results import remembered


def test_symmetrised_kernels_are_symmetric():
    member = network("iddpm-16,resampling=area").member(0)
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
    basis = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    outputs = rng.standard_normal((20, 4)) @ basis[:, 2:6].T
    cosines = training.principal_cosines(outputs, basis)
    np.testing.assert_allclose(cosines, [1, 1, 0, 0], atol=1e-7)


def test_outputs_at_zero_follow_the_weights_of_the_timesteps():
    """Their mean square is that of definition 2 up to the mean weight, here for eps = t / T."""
    family = network("linear", shape=(1, 4, 4))
    schedule = family.schedule

    class Clock(torch.nn.Module):
        def forward(self, x, t):
            return (t / schedule.steps).float().view(-1, 1, 1, 1).expand_as(x)

    outputs = training.outputs_at_zero(family, Clock())[:, 0]
    weights = schedule.score_weights / schedule.score_weights.sum()
    share = np.cumsum(weights)
    inside = share[np.round(outputs * schedule.steps).astype(int)]
    np.testing.assert_allclose(inside, (np.arange(8) + 0.5) / 8, atol=weights.max())


def test_figure_a_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    """Killed after a later stage, earlier checkpoints are still those of their own steps."""
    settings = training.Settings("cnn,width=8", "1x4x4", 0, 1, (2, 4, 6), 8)
    whole = training.measure(settings, 0, np.eye(16), tmp_path / "whole")
    with monkeypatch.context() as patch:
        along = training.along
        calls = iter([along, along, along])  # the start and two checkpoints

        def dies(*arguments):
            return next(calls, _killed)(*arguments)

        patch.setattr(training, "along", dies)
        with pytest.raises(KeyboardInterrupt):  # the third is trained, and not yet measured
            training.measure(settings, 0, np.eye(16), tmp_path / "stopped")
    assert training.measure(settings, 0, np.eye(16), tmp_path / "stopped") == whole
    errors = [stage["errors"] for stage in whole]
    assert len({tuple(e) for e in errors}) == 4


def _killed(*_arguments):
    raise KeyboardInterrupt


def test_what_was_computed_in_another_way_is_computed_again(tmp_path):
    path = tmp_path / "kept.json"
    assert remembered(path, {"steps": (1, 2)}, lambda: {"a": 1}) == {"a": 1}
    assert remembered(path, {"steps": (1, 2)}, lambda: {"a": 2}) == {"a": 1}
    assert remembered(path, {"steps": (1, 3)}, lambda: {"a": 3}) == {"a": 3}


def test_the_optimal_predictor_has_no_error():
    family = network("linear", shape=(1, 4, 4))
    levels = torch.from_numpy(np.sqrt(1 - family.schedule.abar)).float()

    class Optimal(torch.nn.Module):
        def forward(self, x, t):
            return levels[t].view(-1, 1, 1, 1) * x

    class Silent(torch.nn.Module):
        def forward(self, x, t):
            return torch.zeros_like(x)

    class Noisy(torch.nn.Module):
        def forward(self, x, t):
            return Optimal()(x, t) / 2 + 3  # half of the target, and something of its own

    errors, shares = training.along(family, Optimal(), np.eye(16), 0)
    assert errors.max() < 1e-10
    np.testing.assert_allclose(shares, 1, rtol=1e-6)
    errors, shares = training.along(family, Silent(), np.eye(16), 0)
    np.testing.assert_allclose(errors, 1)
    np.testing.assert_allclose(shares, 0)
    errors, shares = training.along(family, Noisy(), np.eye(16), 0)
    assert errors.min() > 5
    # The mean of 512 products of 3 and a target of variance about 0.9: within four errors.
    np.testing.assert_allclose(shares, 0.5, atol=4 * 3 / np.sqrt(512) / 0.9)


def test_a_classifier_needs_its_direction():
    """Trained along v it tells classes apart along v; the noise has no part there."""
    settings = classifier.Settings("cnn,width=16", "1x4x4", 0, 0, (0,), "smoke", 60, 64)
    v = np.ones(16) / 4
    assert classifier.classify(settings, v, 0)["accuracy"] > 0.9


def test_signals_are_smooth_and_scaled():
    signals_made = signals.signals(500, 64)
    assert signals_made.shape == (500, 1, 64)
    assert signals_made.std() == pytest.approx(1.0, abs=1e-3)
    energy = np.abs(np.fft.rfft(signals_made[:, 0], axis=1)) ** 2
    assert energy[:, signals.WAVES :].sum() < 1e-6 * energy.sum()


def test_shrunk_images_keep_their_mean():
    samples = np.random.default_rng(0).standard_normal((3, 3, 32, 32)).astype(np.float32)
    small = shrunk(samples, (3, 16, 16))
    np.testing.assert_allclose(small.mean(axis=(2, 3)), samples.mean(axis=(2, 3)), atol=1e-5)
    for wrong in (samples, np.ones((3, 3_072), dtype=np.float32)):
        with pytest.raises(InputError, match="expected square images of at least 1x16x16"):
            shrunk(wrong, (1, 16, 16))
    # 64 has no block that fills 28: a quarter of the picture would be background.
    with pytest.raises(InputError, match="resize them to a multiple of 28"):
        shrunk(np.ones((2, 1, 64, 64), dtype=np.float32), (1, 28, 28))


def test_other_data_are_another_file(tmp_path):
    request = Request("smoke", tmp_path)
    paths = []
    for name, value in (("a", 0.5), ("b", -0.5), ("a", 0.5)):
        np.save(tmp_path / f"{name}.npy", np.full((4, 1, 8, 8), value, dtype=np.float32))
        paths.append(prepared(request, "mnist", f"npy:{tmp_path / name}.npy", (1, 8, 8)))
    assert paths[0] == paths[2] != paths[1]
    assert [float(np.load(path).mean()) for path in paths] == [0.5, -0.5, 0.5]
    with pytest.raises(InputError, match="no such file"):
        prepared(request, "mnist", "npy:missing.npy", (1, 8, 8))


def test_a_damaged_file_of_data_is_made_again(tmp_path):
    np.save(tmp_path / "a.npy", np.full((4, 1, 8, 8), 0.5, dtype=np.float32))
    said: list[str] = []
    request = Request("smoke", tmp_path, say=said.append)
    path = prepared(request, "mnist", f"npy:{tmp_path / 'a.npy'}", (1, 8, 8))
    whole = path.read_bytes()
    prepared(request, "mnist", f"npy:{tmp_path / 'a.npy'}", (1, 8, 8))
    assert len(said) == 1
    for damaged in (path, path.with_suffix(".json")):
        content = damaged.read_bytes()
        damaged.write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
        prepared(request, "mnist", f"npy:{tmp_path / 'a.npy'}", (1, 8, 8))
        assert path.read_bytes() == whole
    assert len(said) == 3


def test_a_figure_is_not_computed_for_a_place_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "figure-04.svg").mkdir()
    refusing = replace(experiment("4"), data=lambda request: pytest.fail("it was computed"))
    monkeypatch.setattr("sads.figures.run.experiment", lambda key: refusing)
    with pytest.raises(ArtefactError, match="it is a directory"):
        make_figure("4", Request("smoke", tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(ArtefactError, match="cannot write to"):
        make_figure("4", Request("smoke", tmp_path / "file"))


def test_the_bound_of_figure_5_is_of_the_exact_geometry():
    """The second moment of 4,000 networks, whose entries have relative errors below 1/30."""
    output = outputs(4_000)
    np.testing.assert_allclose(output.T @ output / len(output), exact(), rtol=0.1, atol=0.02)


def test_pictures_of_bases_are_in_place():
    rows = [
        {"basis": "dct", "row": i, "column": j, "seed": seed, "msw2": float(10 * i + j + seed)}
        for i in range(2)
        for j in range(2)
        for seed in (0, 1)
    ]
    expected = np.array([[0.0, 1.0], [10.0, 11.0]])
    np.testing.assert_allclose(table(rows, "dct"), np.stack([expected, expected + 1], axis=2))


def test_spheres_of_a_band_lie_in_it(tmp_path):
    from sads.specs.coercion import as_dataset

    geometry = estimate_geometry("dit-2", shape="1x8x8", out=tmp_path / "g")
    data = as_dataset(f"sphere:geometry={tmp_path / 'g'}:band=0,count=50,seed=3")
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
    example = load_specification(path)
    for setup in (part.setup for part in SCALES["laptop"].values()):
        assert example.protocol == PROTOCOLS[setup.protocol]
        assert set(setup.seeds) <= set(example.seeds)
        assert setup.shape is None
    parts = {part.setup.network: part.places for part in SCALES["laptop"].values()}
    for grid in example.grid:
        (name,) = map(str, grid.networks)
        for kind, places in parts[name].items():
            attribute = getattr(grid, kind)
            assert attribute == (places if places == "all" else tuple(places))
