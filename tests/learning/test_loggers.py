"""Monitors and the real packages of TensorBoard and Weights & Biases, where they are installed."""

import struct

import numpy as np
import pytest
import torch

import sads

BLOCK, HEADER = 32_768, 7  # of the log of records that an offline run of wandb is kept in
ATTEMPTS = 8

# The packages and what they import warn of each other; here that is not of interest.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def batches():
    generator = torch.Generator().manual_seed(0)
    shape = (4, 3, 8, 8)
    return [
        (
            torch.randn(shape, generator=generator),
            torch.randn(shape, generator=generator),
            torch.randint(1000, (4,), generator=generator),
        )
        for _ in range(12)
    ]


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """Runs a loop with Weights & Biases, without a network, and reads what has been stored.

    Versions 0.28 and 0.31 at times store nothing of an offline run, not even that it began; then
    the loop runs again.
    """
    wandb = pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")

    def rows_and_axes(loop):
        for number in range(ATTEMPTS):
            directory = tmp_path / str(number)
            directory.mkdir()
            run = wandb.init(project="tested", dir=str(directory))
            loop(run)
            run.finish()
            (path,) = directory.glob(f"wandb/offline-run-*-{run.id}/run-*.wandb")
            if path.stat().st_size > HEADER:
                return *arrived(path), path.parent
        pytest.skip(f"wandb {wandb.__version__} stored nothing of {ATTEMPTS} runs")

    return rows_and_axes


def records(path):
    """The records of a file of wandb, each in one or several parts."""
    data, at, record = path.read_bytes(), HEADER, b""
    while at + HEADER <= len(data):
        room = BLOCK - at % BLOCK
        if room < HEADER:  # the rest of a block is padding
            at += room
            continue
        _, size, kind = struct.unpack("<IHB", data[at : at + HEADER])
        record += data[at + HEADER : at + HEADER + size]
        at += HEADER + size
        if kind in (1, 4):  # whole, or the last part
            yield record
            record = b""


def arrived(path):
    """What a finished run has stored: rows by step, and what each number is drawn over."""
    from wandb.proto import wandb_internal_pb2

    rows, axes = {}, {}
    for data in records(path):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") == "history":
            items = record.history.item
            rows[record.history.step.num] = {
                item.key or "/".join(item.nested_key): item.value_json for item in items
            }
        elif record.WhichOneof("record_type") == "metric":
            axes[record.metric.name] = record.metric.step_metric
    return rows, axes


MEAN = "loss/mean of channel 0"


def test_a_run_of_wandb_gets_windows_and_keeps_the_steps_of_the_loop(stored, batches):
    monitors = []

    def loop(run):
        monitors.append(sads.Monitor((3, 8, 8), every=4))
        monitors[-1].log_to(run)
        for number, batch in enumerate(batches):
            monitors[-1].update(*batch)
            run.log({"own": number})

    rows, axes, directory = stored(loop)
    assert [int(row["own"]) for row in rows.values()] == list(range(12)) == list(rows)
    windows = {step: row for step, row in rows.items() if MEAN in row}
    assert {step: int(row["monitor/updates"]) for step, row in windows.items()} == {
        3: 4,
        7: 8,
        11: 12,
    }
    assert float(windows[11][MEAN]) == monitors[-1].record.scalars()[MEAN]
    assert axes[MEAN] == "monitor/updates"
    assert len(list(directory.glob("files/media/images/*.png"))) == 3


def test_a_loop_that_names_its_steps_loses_nothing(stored, batches):
    def loop(run):
        monitor = sads.Monitor((3, 8, 8), every=4)
        monitor.log_to(run)
        for number, batch in enumerate(batches):
            run.log({"before": number}, step=number)
            monitor.update(*batch)
            run.log({"after": number}, step=number)

    rows, *_ = stored(loop)
    assert len(rows) == len(batches)
    assert all(row["before"] == row["after"] == str(step) for step, row in rows.items())
    assert [step for step, row in rows.items() if MEAN in row] == [3, 7, 11]


def test_windows_of_a_loop_that_logs_nothing_are_rows_of_their_own(stored, batches):
    def loop(run):
        monitor = sads.Monitor((3, 8, 8), every=4)
        monitor.log_to(run)
        for batch in batches:
            monitor.update(*batch)

    rows, *_ = stored(loop)
    assert [int(row["monitor/updates"]) for row in rows.values()] == [4, 8, 12]


def test_a_writer_of_tensorboard_gets_scalars_and_pictures(batches, tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from torch.utils.tensorboard import SummaryWriter

    monitor = sads.Monitor((3, 8, 8), every=4)
    with SummaryWriter(str(tmp_path)) as writer:
        monitor.log_to(writer)
        for batch in batches:
            monitor.update(*batch)
    events = EventAccumulator(str(tmp_path)).Reload()
    assert MEAN in events.Tags()["scalars"]
    means = events.Scalars(MEAN)
    assert [event.step for event in means] == [4, 8, 12]
    assert np.isclose(means[-1].value, monitor.record.scalars()[MEAN])
    (tag,) = events.Tags()["images"]
    assert tag == "learned by direction and noise level"
    assert (events.Images(tag)[-1].height, events.Images(tag)[-1].width) == (
        monitor.record.picture().shape[:2]
    )
