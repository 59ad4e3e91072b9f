"""The files of a figure: table, pictures, drawings and last the verdict, each written atomically.

`figure-NN.csv` has the rows, `figure-NN.safetensors` arrays that do not fit a table (only where
there are any), `figure-NN.png` and `.svg` the drawing, `figure-NN.json` the verdict.
"""

import json
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from safetensors.numpy import save

from ..errors import ArtefactError
from ..storage.files import atomic_write, file_target, reason, write_bytes, writing
from ..sweep.store.table import write_csv
from .data import Data
from .verdict import Verdict

DPI = 200
KINDS = ("csv", "png", "svg", "json")


def check_places(out: Path, stem: str) -> None:
    """Refuse a directory that cannot be written to, before any work.

    Raises:
        ArtefactError: if a file of the figure cannot be written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArtefactError(f"cannot write to {out}: {reason(error)}") from error
    for kind in KINDS:
        file_target(out / f"{stem}.{kind}")


def write_figure(out: Path, stem: str, data: Data, drawing: Figure, verdict: Verdict) -> list[Path]:
    """Write all files of a figure, and return their paths."""
    paths = {kind: out / f"{stem}.{kind}" for kind in KINDS}
    with writing(out):
        write_csv(paths["csv"], data.rows)
        if data.pictures:
            arrays = {name: np.ascontiguousarray(v) for name, v in data.pictures.items()}
            atomic_write(out / f"{stem}.safetensors", write_bytes(save(arrays)))
        atomic_write(paths["png"], lambda p: drawing.savefig(p, dpi=DPI, format="png"))
        # Without a date a drawing is always the same file.
        atomic_write(
            paths["svg"], lambda p: drawing.savefig(p, format="svg", metadata={"Date": None})
        )
        text = json.dumps(verdict.summary(), indent=2) + "\n"
        atomic_write(paths["json"], write_bytes(text.encode()))
    return list(paths.values())
