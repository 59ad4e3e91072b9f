"""The factories for other packages, each where its package is installed."""

import warnings
from importlib import import_module

import numpy as np
import pytest

import sads
from benchmarks.diffusers_classes import ROOT
from sads.errors import brief

FOLDER = ROOT / "examples" / "networks"
#: File, factory, shape, package, and whether the output starts at zero.
FACTORIES = [
    ("monai_unet", "make", "1x16x16", "monai", True),
    ("monai_unet", "attending", "1x16x16", "monai", True),
    ("monai_unet", "labelled", "1x16x16", "monai", True),
    ("monai_unet", "volumes", "1x4x4x4", "monai", True),
    ("torchcfm_unet", "make,prediction=flow,reverse", "1x16x16", "torchcfm", True),
    ("azula_unet", "make", "1x16x16", "azula", False),
    ("azula_unet", "transformer", "1x16x16", "azula", False),
    ("denoising_diffusion", "make", "3x16x16", "denoising_diffusion_pytorch", False),
    ("denoising_diffusion", "self_conditioned", "3x16x16", "denoising_diffusion_pytorch", False),
    ("k_diffusion_image", "make", "3x16x16", "k_diffusion", True),
]


def available(package: str) -> None:
    """Skip where a package is missing, or does not fit the others; its own warnings are its own."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import_module(package)
    except Exception as error:
        pytest.skip(f"{package} cannot be imported: {brief(error)}")


@pytest.mark.parametrize(
    ("file", "factory", "shape", "package", "zero"),
    FACTORIES,
    ids=[f"{file}:{factory}" for file, factory, *_ in FACTORIES],
)
def test_a_factory_is_estimated_and_examined(file, factory, shape, package, zero):
    available(package)
    network = f"{FOLDER / file}.py:{factory}"
    geometry = sads.estimate_geometry(
        network,
        shape=shape,
        networks=12,
        probe="gaussian:1",
        zero_output="last" if zero else "explain",
    )
    assert np.isfinite(geometry.factor).all()
    assert bool(geometry.plan.redrawn) == zero
    assert geometry.plan.readout.kind != "sampled", geometry.plan.note
    diagnosis = sads.diagnose(network, shape=shape, networks=12)
    assert {one.severity for one in diagnosis.findings} <= {"note"}
    assert ("zero-output" in {one.code for one in diagnosis.findings}) == zero


def test_every_file_is_tested():
    assert {path.stem for path in FOLDER.glob("*.py")} == {file for file, *_ in FACTORIES}
