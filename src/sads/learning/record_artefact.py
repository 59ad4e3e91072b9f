"""The file in which a monitor keeps what it has seen.

The sums of the targets, the squares, the unavoidable loss and the forecast were added later: files
without them can be read, but give no learned shares.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArtefactError
from ..storage.sealed import expect, parse_json, read_sealed, sensible, write_sealed
from .expected_order import ExpectedOrder
from .training_record import TrainingRecord, Window

FILE, FORMAT = "monitor.safetensors", "sads.monitor/1"
SUMS = ("energy", "target", "squares")


def write_record(directory: Path, record: TrainingRecord) -> None:
    """Write into a directory that this process already holds (`storage.writing`)."""
    header: dict[str, Any] = {
        "shape": list(record.shape),
        "labels": list(record.labels),
        "skipped": record.skipped,
    }
    if record.forecast is not None:
        header["forecast"] = record.forecast.summary()
    windows, bins = record.windows, len(record.edges) - 1
    tensors = {
        "widths": np.asarray(record.widths, dtype=np.int64),
        "edges": record.edges,
        "spans": np.array([[w.first, w.end] for w in windows], np.int64).reshape(-1, 2),
        "count": np.stack([w.count for w in windows]) if windows else np.zeros((0, bins)),
    }
    if record.unavoidable is not None:
        tensors["unavoidable"] = record.unavoidable
    for name in SUMS:
        parts = [getattr(window, name) for window in windows]
        tensors[name] = np.stack(parts) if parts else np.zeros((0, bins, len(record.labels)))
    write_sealed(directory / FILE, FORMAT, {"record": json.dumps(header)}, tensors)


def load_record(directory: str | Path) -> TrainingRecord:
    """The record that a monitor keeps in a directory.

    Raises:
        ArtefactError: if there is none, or it is damaged.

    >>> import sads, tempfile, torch
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with sads.Monitor((4,), out=directory) as monitor:
    ...         monitor.update(torch.ones(2, 4), torch.zeros(2, 4), torch.tensor([1, 2]))
    ...     sads.load_record(directory).updates
    1
    """
    path = Path(directory) / FILE
    if not path.is_file():
        raise ArtefactError(
            f"no monitor in {directory}: expected {FILE} (sads.Monitor with out= makes one)"
        )
    stored = read_sealed(path, FORMAT)
    with sensible(path):
        header, tensors = parse_json(stored.metadata["record"]), stored.tensors
        labels = tuple(str(label) for label in header["labels"])
        widths, edges = tensors["widths"], tensors["edges"]
        expect(len(widths) == len(labels) and (widths > 0).all(), "a width for each label")
        expect(edges.ndim == 1 and (np.diff(edges) > 0).all(), "rising edges of noise levels")
        table = (len(labels), len(edges) - 1)
        floor = tensors.get("unavoidable")
        expect(floor is None or floor.shape == table, "an unavoidable loss by direction and bin")
        return TrainingRecord(
            tuple(int(side) for side in header["shape"]),
            labels,
            widths,
            edges,
            _windows(tensors, table),
            int(header["skipped"]),
            floor,
            _forecast(header.get("forecast"), len(labels)),
        )


def _windows(tensors: dict[str, Any], table: tuple[int, int]) -> tuple[Window, ...]:
    groups, bins = table
    spans, count = tensors["spans"], tensors["count"]
    expect((np.diff(spans.flatten()) >= 0).all(), "windows one after the other")
    if not len(spans):
        return ()
    expect(count.shape == (len(spans), bins) and (count >= 0).all(), "counts by bin")
    unknown = np.full((len(spans), bins, groups), np.nan)
    sums = [tensors.get(name, unknown) for name in SUMS]
    expect(all(s.shape == unknown.shape for s in sums), "sums by bin and direction")
    expect(np.isfinite(sums[0]).all(), "finite sums")
    energy, target, squares = sums
    return tuple(
        Window(int(first), int(end), energy[i], target[i], squares[i], count[i])
        for i, (first, end) in enumerate(spans)
    )


def _forecast(stored: dict[str, Any] | None, groups: int) -> ExpectedOrder | None:
    if stored is None:
        return None
    drift, error = (np.array(stored[name], dtype=float) for name in ("drift", "error"))
    expect(drift.shape == error.shape == (groups,), "a forecast for each direction")
    return ExpectedOrder(drift, error, str(stored["method"]), bool(stored["has_order"]))
