"""Spectra of large geometries, kept beside them.

A spectrum takes four eigendecompositions and two products a fold: a moment for a factor of some
hundred rows, minutes for 4096. What was decomposed is known by a digest of the sums and the plan,
so a spectrum of an earlier state of the run, or a spoilt file, is not taken for this one.
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from ..directions import Band, Resolution, Spectrum
from ..errors import ArtefactError
from ..storage.files import checksum
from ..storage.sealed import parse_json, read_sealed, sensible, write_sealed
from .plan import Plan
from .state import State

FILE = "spectrum.safetensors"
FORMAT = "sads.spectrum/3"  # 2 had other bands and no resolution
KEPT_FROM = 1024  # rows of the factor
ARRAYS = ("factor_values", "factor_errors", "factor_vectors")


def digest_of(plan: Plan, state: State) -> str:
    """A digest of all that a spectrum depends on."""
    digest = hashlib.sha256(plan.model_dump_json(exclude={"versions", "assumptions"}).encode())
    digest.update(checksum({"sums": state.sums, "counts": state.counts}).encode())
    return digest.hexdigest()


def read_spectrum(directory: Path, plan: Plan, state: State) -> Spectrum | None:
    """The spectrum stored for exactly this geometry, if there is one."""
    path = directory / FILE
    if not path.is_file():
        return None
    try:
        stored = read_sealed(path, FORMAT)
        with sensible(path):
            if stored.metadata["of"] != digest_of(plan, state):
                return None
            arrays = {name: stored.tensors[name] for name in ARRAYS}
            bands = tuple(Band(**band) for band in parse_json(stored.metadata["bands"]))
            levels = parse_json(stored.metadata["resolution"])
            known = tuple(Resolution(**level) for level in levels)
            return Spectrum(plan.readout.structure, **arrays, bands=bands, resolution=known)
    except ArtefactError:
        return None  # it can be computed again


def write_spectrum(directory: Path, plan: Plan, state: State, spectrum: Spectrum) -> None:
    """Keep a spectrum, where the directory can be written to."""
    arrays = {name: np.ascontiguousarray(getattr(spectrum, name)) for name in ARRAYS}
    header = {
        "of": digest_of(plan, state),
        "bands": json.dumps([asdict(band) for band in spectrum.bands]),
        "resolution": json.dumps([asdict(level) for level in spectrum.resolution]),
    }
    try:
        write_sealed(directory / FILE, FORMAT, header, arrays)
    except ArtefactError:
        return  # of somebody else, or a full disk: the spectrum is known all the same
