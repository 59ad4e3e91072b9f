"""Forecasts on disk: one sealed safetensors file that is at once the result and the checkpoint."""

import json
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np

from ..errors import ArtefactError
from ..inspection.jacobian_products import Way
from ..storage.sealed import expect, parse_json, read_sealed, sensible, write_sealed
from .forecast import Forecast

FILE = "forecast.safetensors"
FORMAT = "sads.forecast/1"


def write_forecast(directory: Path, forecast: Forecast) -> None:
    """Write atomically; on failure the old file stays and nothing else is left behind."""
    directory.mkdir(parents=True, exist_ok=True)
    tensors = {
        "rows": np.ascontiguousarray(forecast.rows),
        "widths": forecast.widths.astype(np.int64),
        "bands": forecast.bands.astype(np.int64),
    }
    if forecast.eigenvalues is not None:
        tensors["eigenvalues"] = np.ascontiguousarray(forecast.eigenvalues, dtype=float)
    header = {
        "about": json.dumps(forecast.about, sort_keys=True),
        "labels": json.dumps(forecast.labels),
        "way": forecast.way,
    }
    write_sealed(directory / FILE, FORMAT, header, tensors)


def load_forecast(directory: str | Path) -> Forecast:
    """The forecast in a directory.

    Raises:
        ArtefactError: if the file is missing, foreign, truncated, corrupt or of a newer version.

    >>> import sads, tempfile
    >>> forecast = sads.forecast("cnn,width=4,depth=1", "gaussian", shape="1x4x4", networks=8)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     forecast.save(directory)
    ...     sads.load_forecast(directory).networks
    8
    """
    path = Path(directory) / FILE
    if not path.is_file():
        raise ArtefactError(f"no forecast in {directory}: expected {FILE}")
    stored = read_sealed(path, FORMAT)
    with sensible(path):
        about, labels = (parse_json(stored.metadata[name]) for name in ("about", "labels"))
        expect(isinstance(about, dict) and "method" in about, "what was forecast")
        rows, widths = stored.tensors["rows"], stored.tensors["widths"]
        count = len(labels)
        expect(rows.ndim == 3 and rows.shape[1:] == (3, count), f"three numbers of {count} groups")
        expect(len(rows) >= 1 and np.isfinite(rows).all(), "finite numbers of at least one network")
        bands, eigenvalues = stored.tensors["bands"], stored.tensors.get("eigenvalues")
        for values in (widths, bands, *([] if eigenvalues is None else [eigenvalues])):
            expect(values.shape == (count,), f"{count} values, one for each group")
        said = stored.metadata["way"]
        expect(said in get_args(Way), f"a way to take Jacobian products, got {said!r}")
        way = cast(Way, said)
    return Forecast(about, tuple(labels), widths, rows, way, eigenvalues, bands)


def stored_rows(directory: Path, about: dict[str, Any]) -> list[np.ndarray]:
    """Rows of networks that were looked at before; none where nothing is stored.

    Raises:
        ArtefactError: if the directory holds another forecast.
    """
    if not (directory / FILE).exists():
        return []
    stored = load_forecast(directory)
    if stored.about != parse_json(json.dumps(about)):
        differ = sorted(k for k in about if stored.about.get(k) != parse_json(json.dumps(about[k])))
        raise ArtefactError(
            f"{directory} holds another forecast (it differs in {', '.join(differ) or 'kind'}): "
            "choose another directory"
        )
    return list(stored.rows)
