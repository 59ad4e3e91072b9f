"""Forecasts on disk, of real samples, and how they are told."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import sads
from sads.data import Dataset
from sads.data.laws import Normal
from sads.directions.sets import Cosines, Entries
from sads.errors import ArtefactError, InputError
from sads.learning import Forecast, Optimum, Recipe, Scene, forecast_training, load_forecast
from sads.learning import validity as validities
from sads.learning.targets import CosineNormal, goal_for
from sads.path import Schedule
from sads.presentation.forecast import forecast_sentences, forecast_summary, forecast_table
from sads.specs.timesteps import as_loss_weights, as_timestep_law

NETWORK, SHAPE = "cnn,width=8,depth=2", (1, 4, 4)


def _scene(**options) -> Scene:
    law = Normal.white(16)
    family = sads.network(NETWORK, shape=SHAPE)
    return Scene(family, Optimum(law), law, Cosines(SHAPE, 4), Recipe(), **options)


def test_a_forecast_goes_on_where_it_was_stored(tmp_path) -> None:
    whole = forecast_training(_scene(), networks=24)
    forecast_training(_scene(), networks=16, out=tmp_path)
    resumed = forecast_training(_scene(), networks=24, out=tmp_path)
    assert (resumed.rows == whole.rows).all()
    stored = load_forecast(tmp_path)
    assert (stored.rows == whole.rows).all()
    assert stored.about == json.loads(json.dumps(whole.about))
    assert stored.labels == whole.labels
    assert stored.way == "forward"
    assert [p.name for p in tmp_path.iterdir()] == ["forecast.safetensors"]


def test_fewer_networks_than_stored_are_those_that_were_looked_at_first(tmp_path) -> None:
    many = forecast_training(_scene(), networks=16, out=tmp_path)
    few = forecast_training(_scene(), networks=8, out=tmp_path)
    assert (few.rows == many.rows[:8]).all()


def test_another_forecast_in_the_directory_is_refused(tmp_path) -> None:
    forecast_training(_scene(), networks=8, out=tmp_path)
    with pytest.raises(ArtefactError, match="differs in seed"):
        forecast_training(_scene(seed=1), networks=8, out=tmp_path)
    other = replace(_scene(), directions=Entries(SHAPE))
    with pytest.raises(ArtefactError, match="differs in content"):
        forecast_training(other, networks=8, out=tmp_path)


def test_a_damaged_file_and_an_empty_directory_are_told(tmp_path) -> None:
    with pytest.raises(ArtefactError, match="no forecast in"):
        load_forecast(tmp_path)
    forecast_training(_scene(), networks=8, out=tmp_path)
    file = tmp_path / "forecast.safetensors"
    file.write_bytes(file.read_bytes()[:-8] + b"\0" * 8)
    with pytest.raises(ArtefactError, match="corrupt"):
        load_forecast(tmp_path)


def test_the_linear_target_is_the_best_linear_prediction() -> None:
    """Least squares of the noise on noisy samples, by brute force."""
    generator = np.random.default_rng(0)
    samples = generator.exponential(size=(400, 3)) @ generator.standard_normal((3, 3))
    goal = goal_for(Dataset(samples.astype(np.float32), "skewed"))
    assert goal.kind == "linear"
    abar, count = 0.4, 400_000
    clean = samples[generator.integers(400, size=count)]
    eps = generator.standard_normal((count, 3))
    x = math.sqrt(abar) * clean + math.sqrt(1 - abar) * eps
    fitted = np.linalg.lstsq(x, eps, rcond=None)[0]
    at = np.eye(3)
    np.testing.assert_allclose(
        goal.target.optimal_noise(at, np.full(3, abar)), at @ fitted, atol=0.01
    )


def test_a_spectrum_is_the_optimum_of_data_that_is_diagonal_in_the_dct() -> None:
    shape = (2, 4, 4)
    variances = np.random.default_rng(0).uniform(0.1, 3, size=32)
    law = CosineNormal(shape, variances)
    columns = Cosines(shape).coefficients(np.eye(32))
    whole = Normal.of_moment(columns @ np.diag(variances) @ columns.T)
    x, abar = np.random.default_rng(1).standard_normal((5, 32)), np.linspace(0.1, 0.9, 5)
    np.testing.assert_allclose(law.optimal_noise(x, abar), whole.optimal_noise(x, abar))
    drawn = law.draw(20_000, np.random.default_rng(2))
    np.testing.assert_allclose(np.square(drawn @ columns).mean(axis=0), variances, rtol=0.06)


def test_large_samples_have_a_spectrum_for_a_target() -> None:
    samples = np.random.default_rng(0).standard_normal((10, 1, 65, 65)).astype(np.float32)
    assert goal_for(Dataset(samples, "large")).kind == "spectrum"


def test_laws_and_weights_of_timesteps() -> None:
    schedule = Schedule()
    law = as_timestep_law("logit-normal:0.5,0.8", schedule)
    assert law is not None
    u = (np.arange(1000) + 0.5) / 1000
    logits = np.log(u / (1 - u))
    assert law.sum() == pytest.approx(1)
    assert (law * logits).sum() == pytest.approx(0.5, abs=0.01)
    assert math.sqrt((law * (logits - 0.5) ** 2).sum()) == pytest.approx(0.8, abs=0.01)
    # With x0 = (x - sqrt(1 - abar) eps) / sqrt(abar) and v = sqrt(abar) eps - sqrt(1 - abar) x0.
    abar = schedule.abar
    np.testing.assert_allclose(as_loss_weights("x0", schedule), (1 - abar) / abar)
    slope = np.sqrt(abar) + (1 - abar) / np.sqrt(abar)
    np.testing.assert_allclose(as_loss_weights("v", schedule), slope**2)
    assert as_loss_weights("uniform", schedule) is None


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (as_timestep_law, "beta"),
        (as_timestep_law, "logit-normal:1"),
        (as_timestep_law, "logit-normal:0,0"),
        (as_timestep_law, "npy:nowhere.npy"),
        (as_loss_weights, "snr"),
        (as_loss_weights, "min-snr:-1"),
        (as_loss_weights, "min-snr:five"),
    ],
)
def test_unknown_laws_and_weights_are_refused(make, text) -> None:
    with pytest.raises(sads.SadsError):
        make(text, Schedule())


def test_eigenvectors_have_eigenvalues_and_bands(tmp_path) -> None:
    geometry = sads.estimate_geometry("dit-4,depth=1", shape="1x8x8", networks=256)
    geometry.save(tmp_path)
    forecast = sads.forecast(
        "dit-4,depth=1", "gaussian", shape="1x8x8", directions=f"geometry={tmp_path}", networks=8
    )
    records = forecast.records()
    spectrum = geometry.spectrum()
    assert [r["eigenvalue"] for r in records] == spectrum.eigenvalues.tolist()
    assert [r["band"] for r in records] == [
        number for number, band in enumerate(spectrum.bands) for _ in range(band.width)
    ]
    bands = forecast.by_band()
    assert len(bands.labels) == len(spectrum.bands)
    assert bands.widths.sum() == 64
    whole = forecast.rows[:, 0].sum() / forecast.rows[:, 1].sum()
    assert bands.rows[:, 0].sum() / bands.rows[:, 1].sum() == pytest.approx(whole)
    assert (bands.noise * bands.widths).sum() == pytest.approx(forecast.noise.sum())


def _made(drift: np.ndarray, spread: float, *, seed: int = 0) -> Forecast:
    """A forecast of 16 networks with given drifts and one noise for all."""
    groups = len(drift)
    generator = np.random.default_rng(seed)
    rows = np.ones((16, 3, groups))
    rows[:, 0] = drift + spread * generator.standard_normal((16, groups))
    rows[:, 2] += 0.1 * generator.standard_normal((16, groups))
    about = {"network": "mine", "data": "white", "method": "one step", "kind": "Mine"}
    about |= {"recipe": Recipe().summary(), "target": "linear"}
    labels = tuple(f"d{i}" for i in range(groups))
    return Forecast(
        about, labels, np.ones(groups, int), rows, "double backward", None, np.arange(groups)
    )


def test_directions_that_do_not_differ_have_no_order_to_forecast() -> None:
    """The p-value of equal drifts is uniform: below 0.05 in about one of twenty forecasts."""
    values = [_made(np.ones(8), 1.0, seed=seed).p_value for seed in range(400)]
    assert 0.02 < np.mean(np.array(values) < 0.05) < 0.1
    told = "\n".join(forecast_sentences(_made(np.ones(8), 1.0)))
    assert "There is no order to forecast" in told
    assert "double backward" in told
    assert "best linear prediction" in told


def test_what_is_learned_early_and_late_is_named() -> None:
    told = forecast_sentences(_made(np.array([1.0, 9, 2, 8, 5, 7, 3, 4]), 0.1))
    assert told[0].startswith("Learned early: d1 (")
    early, late = told[0].split("Learned late: ")
    assert [early.index(name) for name in ("d1", "d3", "d5")] == sorted(
        early.index(name) for name in ("d1", "d3", "d5")
    )
    assert late.startswith("d0 (")
    assert "No direction is noisier" in told[1]


def test_a_direction_that_is_hardly_known_is_not_named() -> None:
    """Its drift is the largest, with an error of several times that."""
    forecast = _made(np.array([20.0, 9, 2, 8, 5, 7, 3, 4]), 0.1)
    forecast.rows[:, 0, 0] += 100 * np.random.default_rng(1).standard_normal(16)
    forecast.rows[:, 0, 0] += 20 - forecast.rows[:, 0, 0].mean()
    assert int(np.argmax(forecast.drift)) == 0
    told = forecast_sentences(forecast)[0]
    assert told.startswith("Learned early: d1 (")
    assert "d0" not in told


def test_the_table_is_cut_in_the_middle() -> None:
    lines = forecast_table(_made(np.arange(100.0), 0.01))
    assert len(lines) == 1 + 24 + 1 + 2
    assert lines[1].startswith("d99 ")
    assert "76 more between" in lines[13]
    assert lines[25].startswith("d0 ")


@pytest.fixture
def measured(monkeypatch):
    """What a validation might have found."""

    def row(method: str, kind: str, median: float | None) -> validities.Validity:
        seen = 0 if median is None else 4
        return validities.Validity(
            "cosines", "early", method, kind, 5, seen, median, None, None, 3, 0.85
        )

    rows = (
        row("one step", "Mine", 0.5),
        row("tangent flow", "Mine", 0.9),
        row("one step", "all", 0.9),
        row("one step", "Flat", None),
        row("pilot", "all", 0.95),
        row("one step", "Hard", 0.5),
        row("tangent flow", "Hard", 0.5),
        row("pilot", "Hard", 0.5),
    )
    monkeypatch.setattr(validities, "validities", lambda: rows)


def test_the_cheapest_method_that_has_passed_is_taken(measured) -> None:
    assert validities.cheapest_passed("cosines", "Mine") == "tangent flow"
    assert validities.cheapest_passed("cosines", "Unknown") == "one step"
    assert validities.cheapest_passed("cosines", "Flat") == "one step"


def test_how_often_it_was_right_is_told_for_the_kind_of_network(measured) -> None:
    forecast = _made(np.arange(8.0), 0.1)
    told = "\n".join(forecast_sentences(forecast))
    assert "in 3 of 4 cases of small networks of class Mine trained by Adam, along cosines" in told
    assert "another method has passed: tangent flow" in told
    assert forecast_summary(forecast)["validity"]["early"]["passed"] is False
    forecast.about["kind"] = "Flat"  # without a record of its own
    assert "of small networks trained by Adam, along cosines (median 0.90)" in "\n".join(
        forecast_sentences(forecast)
    )
    forecast.about["basis"] = "eigenvectors"
    assert "has not been measured" in "\n".join(forecast_sentences(forecast))


def test_it_is_said_why_a_dearer_method_is_used_and_that_none_has_passed(measured) -> None:
    forecast = _made(np.arange(8.0), 0.1)
    forecast.about["method"] = "tangent flow"
    told = "\n".join(forecast_sentences(forecast))
    assert "Cheaper methods were right less often: one step in 3 of 4 cases." in told
    forecast.about.update(kind="Hard", method="one step")
    assert "No method has passed for such networks" in "\n".join(forecast_sentences(forecast))


def test_the_shipped_record_is_read() -> None:
    for row in validities.validities():
        assert row.right <= row.with_order <= row.looked_at


def test_a_data_frame_needs_pandas() -> None:
    forecast = _made(np.arange(8.0), 0.1)
    try:
        import pandas  # noqa: F401
    except ImportError:
        with pytest.raises(InputError, match="pip install pandas"):
            forecast.to_frame()
    else:
        assert list(forecast.to_frame()["drift"]) == forecast.drift.tolist()
