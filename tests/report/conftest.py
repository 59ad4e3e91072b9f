"""Small geometries and a sweep to report on; each is made once for all tests of a process."""

from pathlib import Path

import pytest

import sads
from sads.directions.sets import Eigenvectors
from tests.sweep.small import InProcess

NETWORK = "iddpm-16,channels=8,groups=4,mults=1x1"
#: A name that has to be shown as it is and must do nothing.
STRANGE = "a \"b\" 'c' <script>document.title='hacked'</script> ü&amp;"

SWEEP = """
protocol = {{ preset = "smoke", iterations = 2, samples = 16, steps = 2, train = 32 }}
seeds = [0, 1]

[[grid]]
networks = ["{network}"]
shape = "1x8x8"
geometry = {geometry}
indices = [0, 9, 20, 40, 60]

[[grid]]
networks = ["{network}"]
shape = "1x8x8"
geometry = {geometry}
data = ["digits"]
rotations = ["min", "identity"]
"""


@pytest.fixture(scope="session")
def unet(tmp_path_factory) -> Path:
    """A sampled geometry of 64 directions, in a directory of a strange name."""
    out = tmp_path_factory.mktemp("runs") / STRANGE
    sads.estimate_geometry(NETWORK, shape="1x8x8", networks=480, out=out)
    return out


@pytest.fixture(scope="session")
def forecast(tmp_path_factory, unet) -> Path:
    """A forecast along the directions of that geometry."""
    out = tmp_path_factory.mktemp("runs") / "forecast"
    directions = Eigenvectors((1, 8, 8), sads.load_geometry(unet).spectrum())
    sads.forecast(
        NETWORK, "digits", shape="1x8x8", directions=directions, method="one step",
        networks=8, out=out,
    )  # fmt: skip
    return out


@pytest.fixture(scope="session")
def low_noise(tmp_path_factory) -> Path:
    """The same at the least noisy timesteps."""
    out = tmp_path_factory.mktemp("runs") / "low"
    sads.estimate_geometry(NETWORK, shape="1x8x8", networks=480, timesteps=(0, 100), out=out)
    return out


@pytest.fixture(scope="session")
def transformer(tmp_path_factory) -> Path:
    """An exact geometry of 64 directions with a null space."""
    out = tmp_path_factory.mktemp("runs") / "dit-2"
    sads.estimate_geometry("dit-2", shape="1x8x8", out=out)
    return out


@pytest.fixture(scope="session")
def sweep(tmp_path_factory, unet) -> Path:
    """A finished sweep along the directions of the U-Net, and on digits under two rotations."""
    folder = tmp_path_factory.mktemp("sweep")
    geometry = "'''" + str(unet) + "'''"
    (folder / "spec.toml").write_text(SWEEP.format(network=NETWORK, geometry=geometry))
    sads.run_sweep(folder / "spec.toml", folder / "out", engine=InProcess())
    return folder / "out"
