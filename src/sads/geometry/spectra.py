"""Spectra and whitened errors of large geometries, kept beside them.

A spectrum takes four eigendecompositions and two products a fold: a moment for a factor of some
hundred rows, minutes for 4096. A digest of the sums and the plan names what was
decomposed, so a spectrum of an earlier state of the run, or a damaged file, is not mistaken for it.
"""

import hashlib
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from ..directions import Band, Resolution, Spectrum
from ..errors import ArtefactError
from ..storage.files import checksum
from ..storage.sealed import expect, parse_json, read_sealed, sensible, write_sealed
from .plan import Plan
from .running_sums import State

FILE = "spectrum.safetensors"
FORMAT = "sads.spectrum/3"  # version 2 had other bands and no resolution
KEPT_FROM = 1024  # rows of the factor
ARRAYS = ("factor_values", "factor_errors", "factor_vectors")


def digest_of(plan: Plan, state: State) -> str:
    """A digest of everything that a spectrum depends on."""
    digest = hashlib.sha256(plan.model_dump_json(exclude={"versions", "assumptions"}).encode())
    digest.update(checksum({"sums": state.sums, "counts": state.counts}).encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class Kept:
    """Values that were computed from a geometry and stored with it.

    Attributes:
        spectrum: its spectrum.
        whitened_error: its whitened error; None if it was not stored or does not exist.
    """

    spectrum: Spectrum
    whitened_error: float | None = None


def read_kept(directory: Path, plan: Plan, state: State) -> Kept | None:
    """The values stored for exactly this geometry, if there are any."""
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
            error = parse_json(stored.metadata.get("whitened_error", "null"))
            expect(error is None or 0 < error < math.inf, "a positive whitened error")
            spectrum = Spectrum(plan.readout.structure, **arrays, bands=bands, resolution=known)
            return Kept(spectrum, error)
    except ArtefactError:
        return None  # it can be computed again


def write_spectrum(
    directory: Path, plan: Plan, state: State, spectrum: Spectrum, error: float | None = None
) -> None:
    """Store a spectrum and a whitened error, if the directory can be written to."""
    arrays = {name: np.ascontiguousarray(getattr(spectrum, name)) for name in ARRAYS}
    header = {
        "of": digest_of(plan, state),
        "bands": json.dumps([asdict(band) for band in spectrum.bands]),
        "resolution": json.dumps([asdict(level) for level in spectrum.resolution]),
        "whitened_error": json.dumps(error),
    }
    try:
        write_sealed(directory / FILE, FORMAT, header, arrays)
    except ArtefactError:
        return  # not writable or full; the spectrum is known anyway
