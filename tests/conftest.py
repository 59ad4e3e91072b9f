"""Shared by all tests."""

from pathlib import Path

import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)
# Fixed examples: a failure can be repeated, and a slow machine is no failure.
settings.register_profile("sads", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("sads")


@pytest.fixture(autouse=True)
def no_lines_of_progress(monkeypatch):
    """Tests of what is on standard error do not depend on how fast the machine is."""
    monkeypatch.setattr("sads.cli.plain_progress.FIRST_SECONDS", 3_600.0)


@pytest.fixture
def shared_data() -> Path:
    """Real images beside the repository, where there are any."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real images: expected them in {folder}")
    return folder
