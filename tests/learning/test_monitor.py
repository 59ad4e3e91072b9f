"""The monitor's sums against brute force, its memory, its files, several processes."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

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
from sads.learning.training_record import load_record
from sads.networks.presets import preset_family
from sads.path import Schedule
from sads.storage.files import BusyError

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
    constant = torch.zeros(1, *shape)
    constant[:, 1] = 1.0
    generator = torch.Generator().manual_seed(0)
    for step in range(200):
        noise = torch.randn(64, *shape, generator=generator)
        noise -= noise.mean(dim=(2, 3), keepdim=True)
        means = torch.randn(64, 2, 1, 1, generator=generator)
        shrink = 1.0 if step < 50 else 0.3
        means[:, 0] *= shrink  # the second channel's mean is never learned
        residual = shrink * noise + means
        monitor.update(residual, 0 * residual, torch.randint(1000, (64,), generator=generator))
    (lag,) = monitor.lagging()
    assert lag.label == "mean of channel 1"
    assert lag.since == 50
    assert abs(lag.progress) < 0.2
    assert lag.usual == pytest.approx(1 - 0.3**2, abs=0.1)


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
    with pytest.raises(InputError, match="no monitor"):
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
    assert [[round(float(v), 9) for v in output] for output in outputs] == [[10.0, 12.0]] * 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bins": 0}, "bins and every"),
        ({"time": "seconds"}, "time is one of"),
        ({"directions": np.ones((3, 1))}, "columns of 4 entries"),
        ({"directions": ChannelMeans((5,))}, "expected"),
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
