"""Damaged artefacts: each is refused in one line, or means exactly what the whole one means.

A short version runs always; the long one makes 10,000 mutations of every kind of file.
"""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sads.alignment import load_rotation
from sads.data import read_npy
from sads.diffusion import read_training
from sads.errors import ArtefactError
from sads.geometry import load_geometry
from sads.geometry.artefact import read_state
from sads.geometry.spectra import read_kept, write_spectrum
from sads.specs.digests import _artefact_digest
from sads.storage.cached_results import remembered
from sads.storage.sealed import write_sealed
from sads.sweep.execute.run_trial import SAMPLES_FORMAT, known_samples
from sads.sweep.store.database import Store, read_rows
from sads.sweep.store.layout import Layout, read_published
from sads.sweep.store.outcome import read_result
from sads.sweep.store.table import read_csv, write_csv

from .mutations import (
    ANYWHERE,
    Mutation,
    edit_cell,
    edit_database,
    edit_header,
    edit_json,
    survey,
)

GOLDEN = Path(__file__).parent / "golden"
SHORT, LONG = 250, 10_000

Case = tuple[Path, Callable[[], Any], tuple[Mutation, ...]]


def bits(tensors: dict[str, Any]) -> dict[str, tuple]:
    """Tensors as something that can be compared."""
    arrays = {name: np.asarray(value) for name, value in tensors.items()}
    return {n: (str(a.dtype), a.shape, a.tobytes()) for n, a in arrays.items()}


def geometry(place: Path, golden: str = "geometry-1") -> Case:
    load_geometry(GOLDEN / golden).save(place)

    def load():
        plan, state = read_state(place)
        return plan, bits(vars(state))

    return place / "geometry.safetensors", load, (*ANYWHERE, edit_header, edit_header)


def closed_form(place: Path) -> Case:
    return geometry(place, "closed-form-1")


def identity(place: Path) -> Case:
    """What a trial knows a geometry by."""
    path, _, kinds = geometry(place)
    return path, lambda: _artefact_digest.__wrapped__(path, "plan", 0), kinds


def spectrum(place: Path) -> Case:
    geometry = load_geometry(GOLDEN / "geometry-1")
    write_spectrum(place, geometry.plan, geometry.state, geometry.spectrum())

    def load():
        kept = read_kept(place, geometry.plan, geometry.state)
        if kept is None:
            raise ArtefactError("it is computed again")
        return bits(
            vars(kept.spectrum)
            | {
                "structure": str(kept.spectrum.structure),
                "bands": str(kept.spectrum.bands),
                "resolution": str(kept.spectrum.resolution),
            }
        )

    return place / "spectrum.safetensors", load, (*ANYWHERE, edit_header, edit_header)


def rotation(place: Path) -> Case:
    load_rotation(GOLDEN / "rotation-1").save(place)

    def load():
        rotation = load_rotation(place)
        return rotation.origin, bits({"matrix": rotation.matrix})

    return place / "rotation.safetensors", load, (*ANYWHERE, edit_header, edit_header)


def training(place: Path) -> Case:
    header, tensors = read_training(GOLDEN / "training-1")
    path = place / "training.safetensors"
    text = {"header": header.model_dump_json()}
    write_sealed(path, "sads.training/2", text, tensors, framework="pt")

    def load():
        header, tensors = read_training(place)
        return header, bits(tensors)

    return path, load, (*ANYWHERE, edit_header, edit_header)


def partial_samples(place: Path) -> Case:
    path = place / "samples.safetensors"
    samples = np.random.default_rng(0).standard_normal((6, 1, 2, 2)).astype(np.float32)
    tensors = {"samples": samples, "seconds": np.array(2.5)}
    write_sealed(path, SAMPLES_FORMAT, {}, tensors)

    def load():
        samples, seconds = known_samples(path, (1, 2, 2), 10)
        if samples is None:
            raise ArtefactError("they are drawn again")
        return bits({"samples": samples, "seconds": seconds})

    return path, load, (*ANYWHERE, edit_header)


def sweep(place: Path) -> Layout:
    """A sweep of this version with two finished trials."""
    layout = Layout(place)
    shutil.copytree(GOLDEN / "sweep-1", place, dirs_exist_ok=True)
    for path in layout.results.glob("*.json"):
        path.write_bytes(read_result(path).sealed())
    Store(layout).close()  # brings the database to this version
    return layout


def result(place: Path) -> Case:
    path = next(sweep(place).results.iterdir())
    return path, lambda: read_result(path), (*ANYWHERE, edit_json, edit_json)


def artefact(place: Path) -> Case:
    layout = sweep(place)
    path = next(layout.artefacts.iterdir())
    return path, lambda: bits(read_published(layout, path.stem)), ANYWHERE


def database(place: Path) -> Case:
    layout = sweep(place)

    def load():
        for log in place.glob("sweep.sqlite-*"):
            log.unlink()
        return read_rows(place)

    return layout.database, load, (*ANYWHERE, *[edit_database] * 5)


def driver(place: Path) -> Case:
    """The database as the driver opens it."""
    layout, load, kinds = database(place)

    def opened():
        load()
        store = Store(Layout(place))
        try:
            return store.statuses()
        finally:  # an open connection keeps the next one waiting for its lock
            store.close()

    return layout, opened, kinds


def table(place: Path) -> Case:
    layout, path = sweep(place), place / "table.csv"
    write_csv(path, read_rows(place)[1])
    trials = {p.stem: read_result(p).trial for p in layout.results.iterdir()}

    def load():
        return {row.id: row for row in read_csv(path, trials)}

    return path, load, (*ANYWHERE, edit_cell, edit_cell)


def memory(place: Path) -> Case:
    """What a figure has computed before."""
    path, about = place / "step-3.json", {"step": 3, "network": "cnn"}

    def again():
        raise ArtefactError("it is computed again")

    remembered(path, about, lambda: {"msw2": [0.25, 1 / 3], "loss": 0.125})
    return path, lambda: remembered(path, about, again), (*ANYWHERE, edit_json, edit_json)


def first_geometry(place: Path) -> Case:
    shutil.copytree(GOLDEN / "geometry-1", place, dirs_exist_ok=True)
    kinds = (*ANYWHERE, edit_header, edit_header)
    return place / "geometry.safetensors", lambda: read_state(place), kinds


def first_training(place: Path) -> Case:
    shutil.copytree(GOLDEN / "training-1", place, dirs_exist_ok=True)
    kinds = (*ANYWHERE, edit_header, edit_header)
    return place / "training.safetensors", lambda: read_training(place), kinds


def first_rotation(place: Path) -> Case:
    shutil.copytree(GOLDEN / "rotation-1", place, dirs_exist_ok=True)
    kinds = (*ANYWHERE, edit_header, edit_header)
    return place / "rotation.safetensors", lambda: load_rotation(place), kinds


def first_database(place: Path) -> Case:
    _, load, kinds = database(place)
    shutil.copy(GOLDEN / "sweep-1" / "sweep.sqlite", place / "sweep.sqlite")
    return place / "sweep.sqlite", load, kinds


def first_result(place: Path) -> Case:
    path = Path(shutil.copy(next((GOLDEN / "sweep-1" / "results").iterdir()), place))
    return path, lambda: read_result(path), (*ANYWHERE, edit_json, edit_json)


def first_table(place: Path) -> Case:
    path, load, kinds = table(place)
    shutil.copy(GOLDEN / "sweep-1" / "rows.csv", path)
    return path, load, kinds


def point(place: Path) -> Case:
    """The file of a probe, or of samples."""
    path = place / "x.npy"
    np.save(path, np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32))
    return path, partial(read_npy, path), ANYWHERE


SEALED = (
    geometry,
    closed_form,
    identity,
    spectrum,
    rotation,
    training,
    partial_samples,
    result,
    artefact,
    database,
    driver,
    memory,
)
#: Files whose header, or everything, has no checksum: a change may go unseen, but never crashes.
UNSEALED = (
    first_geometry,
    first_training,
    first_rotation,
    first_database,
    first_result,
    first_table,
    point,
)


def check_sealed(case: Callable[[Path], Case], place: Path, count: int, *, quiet=True) -> None:
    path, load, kinds = case(place)
    tally = survey(path, load, count=count, kinds=kinds)
    if not quiet:
        print(case.__name__, json.dumps(tally))
    assert set(tally) <= {"refused", "equal"}, tally
    assert tally["refused"] > count / 2  # the mutations do change what the files say


def check_unsealed(case: Callable[[Path], Case], place: Path, count: int, *, quiet=True) -> None:
    path, load, kinds = case(place)
    tally = survey(path, load, count=count, kinds=kinds, same=lambda whole, read: True)
    if not quiet:
        print(case.__name__, json.dumps(tally))
    assert tally["refused"] > 0


def check_table(place: Path, count: int, *, quiet=True) -> None:
    """Lines may get lost, then their trials run again; none that is read says something else."""
    path, load, kinds = table(place)
    same = lambda whole, read: read.items() <= whole.items()  # noqa: E731
    tally = survey(path, load, count=count, kinds=kinds, same=same)
    if not quiet:
        print("table", json.dumps(tally))
    assert set(tally) <= {"refused", "equal"}, tally


@pytest.mark.parametrize("case", SEALED)
def test_nothing_damaged_is_read_as_something_else(case, tmp_path):
    check_sealed(case, tmp_path, SHORT)


def test_no_line_of_a_damaged_table_is_read_as_something_else(tmp_path):
    check_table(tmp_path, SHORT)


@pytest.mark.parametrize("case", UNSEALED)
def test_nothing_damaged_ends_in_a_traceback(case, tmp_path):
    check_unsealed(case, tmp_path, SHORT)


@pytest.mark.slow
@pytest.mark.parametrize("case", SEALED)
def test_ten_thousand_mutations(case, tmp_path):
    check_sealed(case, tmp_path, LONG, quiet=False)


@pytest.mark.slow
def test_ten_thousand_mutations_of_a_table(tmp_path):
    check_table(tmp_path, LONG, quiet=False)


@pytest.mark.slow
@pytest.mark.parametrize("case", UNSEALED)
def test_ten_thousand_mutations_without_a_traceback(case, tmp_path):
    check_unsealed(case, tmp_path, LONG, quiet=False)
