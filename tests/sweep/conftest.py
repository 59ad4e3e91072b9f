"""Shared by the tests of sweeps."""

from pathlib import Path

import pytest

import sads


@pytest.fixture(scope="session")
def geometry(tmp_path_factory) -> Path:
    """A small exact geometry: 16 eigenvalues, all different."""
    out = tmp_path_factory.mktemp("geometry") / "linear"
    sads.estimate_geometry("linear", shape="1x4x4", probe="gaussian:1").save(out)
    return out
