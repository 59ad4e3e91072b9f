"""The monitor's sums against brute force, its memory, its files, several processes."""

import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.fft import dctn

import sads
from sads.directions.sets import (
    ChannelMeans,
    Columns,
    Cosines,
    DirectionSet,
    Entries,
    MeansAndBands,
)
from sads.errors import ArtefactError, InputError
from sads.geometry import estimate_geometry
from sads.learning import monitor as module
from sads.learning.monitor import Monitor
from sads.learning.projections import Energies
from sads.learning.record_artefact import FILE, FORMAT, load_record
from sads.learning.unavoidable_loss import unavoidable_loss
from sads.networks.presets import preset_family
from sads.path import RectifiedFlow, Schedule, prediction_named
from sads.presentation.training_record import record_cells, record_sentences
from sads.storage.files import BusyError
from sads.storage.sealed import read_sealed, write_sealed

SHAPE = (3, 8, 6)
RNG = np.random.default_rng(7)


def batches(count: int, shape=SHAPE, rows: int = 16):
    generator = torch.Generator().manual_seed(3)
    for _ in range(count):
        prediction, target = (torch.randn(rows, *shape, generator=generator) for _ in range(2))
        yield prediction, target, torch.randint(1000, (rows,), generator=generator)


def sets(shape) -> list[DirectionSet]:
    size = int(np.prod(shape))
    columns = np.linalg.qr(RNG.standard_normal((size, 5)))[0]
    return [
        Cosines(shape),
        Cosines(shape, 3),
        ChannelMeans(shape),
        MeansAndBands(shape, 3),
        Entries(shape),
        Columns(shape, columns),
        Columns(shape, columns, np.array([1, 0, 1, 0, 0]), ("a", "b")),
    ]


@pytest.mark.parametrize("shape", [(3, 8, 6), (1, 16), (7,), (2, 4, 4, 4)])
def test_energies_on_tensors_are_those_of_the_sets(shape):
    x = RNG.standard_normal((5, int(np.prod(shape))))
    for directions in sets(shape):
        energies = Energies(directions, torch.device("cpu"))(torch.from_numpy(x))
        assert energies.shape == (5, len(directions.labels))
        np.testing.assert_allclose(energies, directions.products(x, x), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("number", range(7))
def test_the_sums_are_those_of_brute_force(number):
    directions = sets(SHAPE)[number]
    monitor = Monitor(SHAPE, directions, bins=4, every=3)
    residuals, times = [], []
    for prediction, target, t in batches(11):
        monitor.update(prediction, target, t)
        residuals.append((prediction.double() - target.double()).flatten(1).numpy())
        times.append(t.numpy())
    residual, t = np.concatenate(residuals), np.concatenate(times)
    energies = directions.products(residual, residual) / directions.widths
    expected = np.stack(
        [energies[(t >= a) & (t < a + 250)].mean(axis=0) for a in range(0, 1000, 250)]
    )
    np.testing.assert_allclose(monitor.loss(), expected.T, rtol=1e-6)
    assert monitor.record.updates == 11


def test_the_bands_of_a_geometry_are_its_groups():
    geometry = estimate_geometry(preset_family("dit-2", shape=(1, 4, 4)))
    monitor = Monitor((1, 4, 4), geometry)
    bands = geometry.spectrum().bands
    assert monitor.directions.widths.tolist() == [band.width for band in bands]
    residual = torch.from_numpy(geometry.spectrum().eigenvectors[:, 0].copy()).view(1, 1, 4, 4)
    monitor.update(residual, torch.zeros_like(residual), torch.tensor([5]))
    energy = monitor.record.windows[0].energy.sum(axis=0)
    np.testing.assert_allclose(energy, np.eye(len(bands))[0], atol=1e-10)


def test_memory_does_not_grow_and_nothing_is_forgotten():
    monitor = Monitor((4,), every=1)
    ones = torch.ones(2, 4)
    for _ in range(3_000):
        monitor.update(ones, 0 * ones, torch.tensor([1, 999]))
    record = monitor.record
    assert len(record.windows) <= module.WINDOWS
    assert sum(window.count.sum() for window in record.windows) == 6_000
    assert [w.first for w in record.windows[1:]] == [w.end for w in record.windows[:-1]]
    assert record.updates == 3_000


def test_what_lags_is_named_with_its_beginning():
    shape = (2, 4, 4)
    monitor = Monitor(shape, every=10)
    generator = torch.Generator().manual_seed(0)
    for step in range(200):
        target = torch.randn(64, *shape, generator=generator)
        prediction = target * (0.0 if step < 50 else 0.7)
        # The second channel's mean is never learned.
        prediction[:, 1] -= prediction[:, 1].mean(dim=(1, 2), keepdim=True)
        monitor.update(prediction, target, torch.randint(1000, (64,), generator=generator))
    (lag,) = monitor.lagging()
    assert lag.label == "mean of channel 1"
    assert lag.since == 50
    assert abs(lag.learned) < 1e-7
    assert lag.usual == pytest.approx(1 - 0.3**2, rel=0.05)


def test_learned_shares_and_their_errors_are_those_of_brute_force():
    directions = Columns(SHAPE, np.eye(144)[:, :5], np.array([0, 0, 1, 2, 1]), ("a", "b", "c"))
    monitor = Monitor(SHAPE, directions, bins=2, every=100)
    residuals, targets, times = [], [], []
    for noise, target, t in batches(30):
        monitor.update(0.5 * target + 0.1 * noise, target, t)
        residuals.append((0.5 * target + 0.1 * noise - target).double().flatten(1).numpy())
        targets.append(target.double().flatten(1).numpy())
        times.append(t.numpy())
    residual, target = np.concatenate(residuals), np.concatenate(targets)
    t = np.concatenate(times) >= 500
    whole = directions.products(target, target) / directions.widths
    gain = whole - directions.products(residual, residual) / directions.widths
    halves = [~t, t]
    top = sum(gain[h].mean(axis=0) for h in halves)
    bottom = sum(whole[h].mean(axis=0) for h in halves)
    spread = np.sqrt(sum(gain[h].var(axis=0) / h.sum() for h in halves))
    np.testing.assert_allclose(monitor.record.learned()[-1], top / bottom, rtol=1e-5)
    np.testing.assert_allclose(monitor.record.learned_error()[-1], spread / bottom, rtol=1e-4)


@pytest.mark.parametrize("path", [Schedule(steps=100), RectifiedFlow(steps=100, shift=3.0)])
@pytest.mark.parametrize("prediction", ["eps", "v", "x0", "flow", "score"])
def test_the_unavoidable_loss_is_that_of_a_regression(prediction, path):
    c, rng = 3.0, np.random.default_rng(0)
    x0, eps = np.sqrt(c) * rng.standard_normal(200_000), rng.standard_normal(200_000)
    every = np.arange(100)
    floor = unavoidable_loss(np.array([c]), path, prediction_named(prediction), every, 100)[0]
    for t in (3, 50, 90):
        a, b = path.signal[t], path.noise[t]
        outputs = {"eps": eps, "x0": x0, "v": a * eps - b * x0, "flow": eps - x0, "score": -eps / b}
        x, target = a * x0 + b * eps, outputs[prediction]
        left = target - (target @ x) / (x @ x) * x
        assert floor[t] == pytest.approx(float(left @ left) / len(x), rel=0.02)


@pytest.mark.parametrize("reverse", [False, True])
def test_bins_of_time_hold_the_levels_that_belong_to_them(reverse):
    """On a shifted flow the levels are not spread evenly over the time."""
    path, data = (
        RectifiedFlow(steps=200, shift=4.0),
        np.random.default_rng(0).standard_normal((50, 4)),
    )
    kind = {"time": "unit", "schedule": path, "prediction": "flow", "reverse": reverse, "bins": 5}
    monitor = Monitor((4,), data=data, **kind)
    centred = data - data.mean(axis=0)
    c = (monitor.directions.products(centred, centred).mean(axis=0) / monitor.directions.widths)[0]
    t = 1 - path.unit_times if reverse else path.unit_times
    a, b = path.signal, path.noise
    left = c * (a + b) ** 2 / (a**2 * c + b**2)
    expected = [left[(t >= k / 5) & (t < (k + 1) / 5)].mean() for k in range(5)]
    np.testing.assert_allclose(monitor.record.unavoidable[0], expected, rtol=1e-9)


def test_an_optimum_does_not_lag_once_the_data_are_known():
    """Along directions of much data little noise can be told, which looks late without them."""
    shape, schedule = (1, 4, 4), Schedule()
    generator = torch.Generator().manual_seed(0)
    variances = torch.ones(16, dtype=torch.float64)
    variances[0] = 400.0  # of the mean; the others are white
    basis = torch.from_numpy(
        np.asarray(dctn(np.eye(16).reshape(16, 4, 4), axes=(1, 2), norm="ortho"))
    )
    basis = basis.reshape(16, 16).T  # rows are cosines
    data = (torch.randn(4_000, 16, generator=generator).double() * variances.sqrt()) @ basis
    blind, seeing = (Monitor(shape, every=20, data=d) for d in (None, data.view(-1, *shape)))
    abar = torch.from_numpy(schedule.abar)
    for _ in range(60):
        t = torch.randint(1000, (64,), generator=generator)
        a, s = abar[t, None], 1 - abar[t, None]
        x0 = (torch.randn(64, 16, generator=generator).double() * variances.sqrt()) @ basis
        eps = torch.randn(64, 16, generator=generator).double()
        x = a.sqrt() * x0 + s.sqrt() * eps
        best = (s.sqrt() / (a * variances + s) * (x @ basis.T)) @ basis
        for monitor in (blind, seeing):
            monitor.update(best.view(-1, *shape), eps.view(-1, *shape), t)
    assert [lag.label for lag in blind.lagging()] == ["mean of channel 0"]
    assert seeing.lagging() == ()
    np.testing.assert_allclose(seeing.record.learned()[-1], 1.0, atol=0.15)


def test_reading_in_between_does_not_cut_the_windows():
    read, unread = Monitor(SHAPE, every=4), Monitor(SHAPE, every=4)
    for batch in batches(10):
        read.update(*batch)
        unread.update(*batch)
        read.loss()
    spans = [[(w.first, w.end) for w in m.record.windows] for m in (read, unread)]
    assert spans[0] == spans[1] == [(0, 4), (4, 8), (8, 10)]
    np.testing.assert_allclose(read.loss(), unread.loss(), rtol=1e-12)


def test_a_forecast_stands_beside_and_is_kept(tmp_path):
    forecast = sads.forecast(
        "cnn,width=4,depth=1",
        "gaussian",
        shape="1x4x4",
        directions=Monitor((1, 4, 4)).directions,
        networks=8,
    )
    with Monitor((1, 4, 4), out=tmp_path) as monitor:
        monitor.expect(forecast)
        monitor.update(torch.ones(2, 1, 4, 4), torch.zeros(2, 1, 4, 4), torch.tensor([1, 2]))
    kept = load_record(tmp_path).forecast
    np.testing.assert_allclose(kept.drift, forecast.drift)
    assert (kept.method, kept.has_order) == (forecast.method, forecast.has_order)
    assert sorted(kept.places) == [*range(1, len(forecast.labels) + 1)]
    with pytest.raises(InputError, match=r"directions=monitor\.directions"):
        Monitor((1, 4, 4), np.eye(16)).expect(forecast)


def test_records_of_before_are_read(tmp_path):
    with Monitor((4,), out=tmp_path) as monitor:
        monitor.update(torch.ones(2, 4), torch.zeros(2, 4), torch.tensor([1, 2]))
    stored = read_sealed(tmp_path / FILE, FORMAT)
    old = {k: v for k, v in stored.tensors.items() if k not in ("target", "squares")}
    write_sealed(tmp_path / FILE, FORMAT, stored.metadata, old)
    record = load_record(tmp_path)
    assert np.nanmax(record.loss()) == pytest.approx(4.0)
    assert np.isnan(record.learned()).all()
    assert record.lagging() == ()


class Writer:
    """Takes what a SummaryWriter of TensorBoard takes."""

    def __init__(self):
        self.scalars, self.images = [], []

    def add_scalar(self, name, value, step):
        self.scalars.append((name, value, step))

    def add_image(self, name, picture, step, dataformats):
        self.images.append((picture, step, dataformats))


class Run:
    """Takes what a run of Weights & Biases takes."""

    def __init__(self):
        self.logged, self.axes, self.step = [], {}, 0

    def define_metric(self, name, step_metric):
        self.axes[name] = step_metric

    def log(self, values, commit=True):
        self.logged.append(values)
        self.step += commit


def test_writers_get_scalars_and_pictures(monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(Image=lambda a: ("image", a)))
    writer, run = Writer(), Run()
    monitor = Monitor((3, 8, 8), every=2, bins=5)
    monitor.log_to(writer)
    monitor.log_to(run)
    for batch in batches(4, shape=(3, 8, 8)):
        monitor.update(*batch)
    names = {name for name, _, _ in writer.scalars}
    assert {"loss/mean of channel 0", "learned/mean of channel 2"} <= names
    assert [step for _, step, _ in writer.images] == [2, 4]
    picture, _, order = writer.images[0]
    assert (picture.dtype, picture.ndim, picture.shape[2], order) == (np.uint8, 3, 3, "HWC")
    assert [values.get("monitor/updates") for values in run.logged] == [2, None, 4]
    assert run.axes["loss/mean of channel 0"] == "monitor/updates"
    kinds = [value for value in run.logged[2].values() if isinstance(value, tuple)]
    assert kinds[0][0] == "image"
    with pytest.raises(InputError, match="SummaryWriter"):
        monitor.log_to(object())


def test_samples_that_are_not_finite_are_left_out_and_counted():
    monitor = Monitor((4,))
    bad = torch.ones(3, 4)
    bad[1, 2] = torch.nan
    monitor.update(bad, torch.zeros(3, 4), torch.tensor([1, 2, 3]))
    assert monitor.record.skipped == 1
    assert np.nanmax(monitor.loss()) == pytest.approx(4.0)


def test_times_in_the_unit_interval_and_in_thousands():
    for kind, t in (("unit", 0.95), ("thousand", 950.0)):
        monitor = Monitor((4,), time=kind)
        monitor.update(torch.ones(2, 4), torch.zeros(2, 4), torch.tensor(t))
        assert np.isfinite(monitor.loss()).any(axis=0).tolist() == [False] * 9 + [True]
    monitor = Monitor((4,), schedule=Schedule(steps=100))
    assert monitor.edges[-1] == 100


def test_half_precision_and_gradients_are_taken_as_they_come():
    monitor = Monitor((4,))
    prediction = torch.ones(2, 4, dtype=torch.bfloat16, requires_grad=True)
    monitor.update(prediction, torch.zeros(2, 4), torch.tensor([1, 2]))
    assert np.nanmax(monitor.loss()) == pytest.approx(4.0)


def test_callbacks_get_the_last_window():
    seen = []
    monitor = Monitor((4,), every=2)
    monitor.on_window(lambda step, values: seen.append((step, dict(values))))
    for scale in (1.0, 1.0, 2.0, 2.0):
        monitor.update(scale * torch.ones(2, 4), torch.zeros(2, 4), torch.tensor([1, 2]))
    assert [step for step, _ in seen] == [2, 4]
    assert seen[1][1]["loss/mean of channel 0"] == pytest.approx(16.0)


def test_rows_hold_every_window_group_and_bin():
    monitor = Monitor((4,), every=1, bins=2)
    for _ in range(3):
        monitor.update(torch.ones(2, 4), torch.zeros(2, 4), torch.tensor([1, 2]))
    rows = monitor.record.rows()
    assert len(rows) == 3 * len(monitor.directions.labels)
    assert rows[0] == {
        "first": 0,
        "end": 1,
        "direction": "mean of channel 0",
        "t_from": 0.0,
        "t_to": 500.0,
        "loss": pytest.approx(4.0),
        "samples": 2,
    }


def test_a_directory_goes_on_where_it_was(tmp_path):
    whole = Monitor(SHAPE, every=3)
    parts = list(batches(10))
    for batch in parts:
        whole.update(*batch)
    with Monitor(SHAPE, every=3, out=tmp_path) as monitor:
        for batch in parts[:4]:
            monitor.update(*batch)
        with pytest.raises(BusyError):
            Monitor(SHAPE, out=tmp_path)
    with Monitor(SHAPE, every=3, out=tmp_path) as monitor:
        for batch in parts[4:]:
            monitor.update(*batch)
    np.testing.assert_allclose(load_record(tmp_path).loss(), whole.loss(), rtol=1e-12)
    with pytest.raises(InputError, match="other directions"):
        Monitor(SHAPE, bins=3, out=tmp_path)
    Monitor(SHAPE, every=3, out=tmp_path).close()  # the refusal has let go of the directory


KILLED = """
import torch, sys
from sads.learning.monitor import Monitor
monitor = Monitor((4,), every=5, out=sys.argv[1], flush_seconds=0.0)
step = 0
while True:
    monitor.update(torch.ones(2, 4), torch.zeros(2, 4), torch.tensor([1, 2]))
    step += 1
    print(step, flush=True)
"""


def test_a_killed_process_loses_what_came_after_the_last_flush(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        last = int(line)
        if last == 40:
            break
    time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    record = load_record(tmp_path)
    assert record.updates >= 40  # each of them was flushed
    assert np.nanmax(record.loss()) == pytest.approx(4.0)
    Monitor((4,), every=5, out=tmp_path).close()


def test_damage_is_noticed(tmp_path):
    with Monitor((4,), out=tmp_path) as monitor:
        monitor.update(torch.ones(2, 4), torch.zeros(2, 4), torch.tensor([1, 2]))
    path = tmp_path / "monitor.safetensors"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(ArtefactError, match="corrupt"):
        load_record(tmp_path)
    with pytest.raises(ArtefactError, match="no monitor"):
        load_record(tmp_path / "elsewhere")


DISTRIBUTED = """
import sys, torch
from sads.learning.monitor import Monitor
rank, place = int(sys.argv[1]), sys.argv[2]
torch.distributed.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=2)
monitor = Monitor((4,), every=2, distributed=True)
for step in range(3):
    monitor.update((1 + rank) * torch.ones(2, 4), torch.zeros(2, 4), torch.tensor([1, 2]))
record = monitor.record
apart = Monitor((4,), every=2)
for step in range(3):
    apart.update((1 + rank) * torch.ones(2, 4), torch.zeros(2, 4), torch.tensor([1, 2]))
for record in (monitor.record, apart.reduce(), apart.reduce()):
    print(record.loss()[0, 0], sum(float(w.count.sum()) for w in record.windows))
"""


def test_processes_add_up(tmp_path):
    command = [sys.executable, "-c", DISTRIBUTED]
    runs = [
        subprocess.Popen([*command, str(rank), str(tmp_path / "meet")], stdout=subprocess.PIPE)
        for rank in range(2)
    ]
    outputs = [run.communicate(timeout=120)[0].decode().split() for run in runs]
    # 4 |1|^2 and 4 |2|^2 in equal parts make 10; two processes of three batches of two samples.
    assert [[round(float(v), 9) for v in output] for output in outputs] == [[10.0, 12.0] * 3] * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bins": 0}, "bins and every"),
        ({"time": "seconds"}, "unknown time"),
        ({"directions": np.ones((3, 1))}, "columns of 4 entries"),
        ({"directions": ChannelMeans((5,))}, "expected"),
        ({"directions": "geometry=runs/mine"}, "sads.load_geometry"),
        ({"prediction": "noise"}, "unknown prediction"),
        ({"flush_seconds": -1}, "at least 0"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        Monitor((4,), **arguments)


def test_wrong_batches_are_refused():
    monitor = Monitor((4,))
    with pytest.raises(InputError, match=r"shape \(N, 4\), got \(2, 5\)"):
        monitor.update(torch.ones(2, 5), torch.ones(2, 5), torch.tensor([1]))
    with pytest.raises(InputError, match="one time for each"):
        monitor.update(torch.ones(2, 4), torch.ones(2, 4), torch.tensor([1, 2, 3]))


@pytest.mark.parametrize(
    ("kind", "times", "hint"),
    [
        ("index", [-1, 5], "from -1 to 5"),
        ("index", [0.1, 0.7], "pass time='unit'"),
        ("thousand", [0.1, 0.7], "pass time='unit'"),
        ("unit", [3, 700], "expected 0 to 1 for time='unit'"),
    ],
)
def test_times_of_another_kind_are_refused(kind, times, hint):
    monitor = Monitor((4,), time=kind)
    with pytest.raises(InputError, match=hint):
        monitor.update(torch.ones(2, 4), torch.ones(2, 4), torch.tensor(times))
    assert monitor.updates == 0


def test_a_direction_of_which_nothing_is_learned_has_nothing_not_minus_nothing():
    monitor = sads.Monitor((1, 8, 8), every=1)
    target = torch.randn(64, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    prediction = 0.9 * (target - (1 + 1e-9) * target.mean(dim=(2, 3), keepdim=True))
    for _ in range(3):
        monitor.update(prediction, target, torch.arange(64))
    told = "\n".join(record_sentences(monitor.record))
    assert "Mean of channel 0 lags from the start: 0 % is learned" in told
    assert "-0 %" not in told + str(record_cells(monitor.record))


def test_numbers_and_arrays_are_taken_like_tensors():
    monitors = [Monitor((4,)), Monitor((4,))]
    monitors[0].update(torch.ones(2, 4), torch.zeros(2, 4), torch.tensor([7, 7]))
    monitors[1].update(np.ones((2, 4), "float32"), np.zeros((2, 4), "float32"), 7)
    assert np.array_equal(monitors[0].loss(), monitors[1].loss(), equal_nan=True)


def test_nothing_lags_while_the_median_has_learned_nothing():
    monitor = sads.Monitor((1, 8, 8), every=1)
    target = torch.randn(64, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    for _ in range(3):
        monitor.update(-target, target, torch.arange(64))
    assert monitor.lagging() == ()
    assert "too early to say what lags" in record_sentences(monitor.record)[0]
