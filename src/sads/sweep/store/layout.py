"""The files and directories inside the directory of a sweep.

sweep.sqlite             the index of everything known; only the driver writes it
results/ID.json          one complete file for each finished trial, written by its worker
artefacts/SHA256.safetensors   losses, samples and parameters, named by their content
work/ID/                 checkpoints of an unfinished trial; removed when it is recorded
workers.log              what local workers write to standard error
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ArtefactError
from ...storage.files import flush, reason

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Layout:
    """The paths inside the directory of a sweep."""

    root: Path

    @property
    def database(self) -> Path:
        return self.root / "sweep.sqlite"

    @property
    def log(self) -> Path:
        return self.root / "workers.log"

    @property
    def results(self) -> Path:
        return self.root / "results"

    @property
    def artefacts(self) -> Path:
        return self.root / "artefacts"

    def result(self, identity: str) -> Path:
        return self.results / f"{identity}.json"

    def artefact(self, digest: str) -> Path:
        return self.artefacts / f"{digest}.safetensors"

    def work(self, identity: str) -> Path:
        return self.root / "work" / identity


def publish(content: bytes, work: Path, place: Path) -> None:
    """Write a file in a trial's own directory and move the complete file to its final place.

    Afterwards its content is on disk. The driver makes sure that its name is too, for many files at
    once (`settle`).

    Raises:
        ArtefactError: if that fails; then there is no new file.
    """
    temporary = work / place.name
    try:
        temporary.write_bytes(content)
        flush(temporary)
        place.parent.mkdir(exist_ok=True)
        os.replace(temporary, place)
    except OSError as error:
        raise ArtefactError(f"cannot write {place}: {reason(error)}; free some space") from error


def read_published(layout: Layout, digest: str) -> "dict[str, np.ndarray]":
    """The tensors in an artefact of a sweep, checked against the digest in its name.

    Raises:
        ArtefactError: if it is missing or damaged.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    path = layout.artefact(digest)
    try:
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != digest:
            raise ArtefactError(f"{path} is corrupt: its content has another digest than its name")
        return load(content)
    except (OSError, SafetensorError) as error:
        raise ArtefactError(f"cannot read {path}: {reason(error)}") from error


def settle(layout: Layout) -> None:
    """Make sure that the names of published files are on disk."""
    for directory in (layout.artefacts, layout.results):
        if directory.is_dir():
            flush(directory)
