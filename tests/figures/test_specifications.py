"""The trials of every figure are those of before: what has been run is never run again."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from sads.figures import FIGURES
from sads.figures import trials as figure_trials
from sads.figures.catalogue import experiment
from sads.figures.data import Request

GOLDEN = Path(__file__).parents[1] / "golden" / "figure-trials.json"
LATER = {"moments": []}  # fields of a protocol that the golden file does not know
SHAPES = {"mnist": (1, 28, 28), "faces": (1, 56, 56), "cifar": (3, 32, 32)}


class PlannedError(Exception):
    """Raised where the trials would be run."""


def as_before(specification) -> str:
    """Its JSON without the fields that came later, which must say nothing."""
    content = json.loads(specification.model_dump_json())
    for protocol in (content["protocol"], *(grid["protocol"] for grid in content["grid"])):
        for name, neutral in LATER.items():
            if protocol is not None:
                assert protocol.pop(name) == neutral
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.parametrize("scale", ["smoke", "laptop"])
@pytest.mark.parametrize("key", [key for key in FIGURES if experiment(key).trials])
def test_trials_are_specified_as_before(key, scale, tmp_path, monkeypatch):
    """Byte for byte, from geometries of few networks: only their directories enter."""
    monkeypatch.chdir(tmp_path)
    specified: list[tuple[str, str, str]] = []
    estimate = figure_trials.estimate_geometry

    def record(request, folder, part, specification, engine):
        specified.append((folder, part, as_before(specification)))

    def stop(*_arguments):
        raise PlannedError

    def few_networks(family, *, out, **_goal):
        return estimate(family, out=out, networks=24)

    monkeypatch.setattr(figure_trials, "estimate_geometry", few_networks)
    monkeypatch.setattr(figure_trials, "_run", record)
    monkeypatch.setattr(figure_trials, "read_rows", stop)
    sources = {}
    if key in ("7", "8", "10") and scale == "laptop":
        generator = np.random.default_rng(0)
        for name, shape in SHAPES.items():
            samples = generator.standard_normal((60, *shape)).astype(np.float32)
            np.save(f"{name[0]}.npy", samples)
            sources[name] = f"npy:{name[0]}.npy"
    with pytest.raises(PlannedError):
        experiment(key).data(Request(scale, Path("figs"), sources=sources))
    golden = json.loads(GOLDEN.read_text())[f"{key} {scale}"]
    digest = hashlib.sha256(json.dumps(specified).encode()).hexdigest()
    assert digest == golden
