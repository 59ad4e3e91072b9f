"""`sads figure`: the figures of the paper, made by this package, with tests of their claims."""

import json as jsonlib
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .options import Flag


def figure(
    name: str,
    *,
    scale: str = "smoke",
    out: Path = Path("figures"),
    engine: str = "local",
    workers: int | None = None,
    only: str | None = None,
    mnist: Path | None = None,
    faces: str | None = None,
    cifar: str | None = None,
    seed_from: Annotated[Path | None, Parameter(name="--from")] = None,
    rows: Path = Path("docs/results"),
    retry_failed: Flag = False,
    json: Flag = False,
) -> None:
    """Make a figure of the paper, and say whether its claim holds.

    Writes `figure-NN.png`, `.svg`, `.csv` (the data) and `.json` (the verdict). Running it again
    computes only what is still missing.

    Example: `sads figure 4 --scale laptop --out figures`

    Args:
        name: 1 to 11, A to D, or `all` of these; 1R, 2R, 6R, E, F and G train nothing and read
            the rows of registered experiments.
        scale: `smoke` (a minute), `laptop` (minutes to hours) or `paper` (the paper's sizes).
        out: directory for the files, and for unfinished work.
        engine: where trials run: `local`, `dask` or `dask:ADDRESS`.
        workers: how many trials run at once.
        only: parts of the figure, separated by commas: its networks, bases or datasets.
        mnist: directory of the MNIST files.
        faces: pictures of faces, for example `folder:DIR,size=56,grey,crop`.
        cifar: CIFAR-10, for example `npz:FILE:images,scale`.
        seed_from: reuse finished trials from this table (`figure-NN.csv`, or `sads results
            --csv`).
        rows: directory of the tables that 1R, 2R, 6R, E, F and G read.
        retry_failed: run failed trials again.
        json: print the verdicts as one JSON object.
    """
    from ..devices import keep_freed_memory
    from ..figures import make_figures
    from ..figures.data import Request
    from .progress import status

    keep_freed_memory()
    given = {"mnist": mnist and f"mnist:{mnist}", "faces": faces, "cifar": cifar}
    sources = {key: value for key, value in given.items() if value}
    parts = tuple(only.split(",")) if only else ()
    verdicts = []
    with status(f"figure {name}") as say:
        request = Request(
            scale, out, engine, workers, parts, sources, seed_from, rows, retry_failed, say
        )
        for made in make_figures(name, request):
            verdicts.append(made.verdict.summary())
            if not json:
                lines = made.verdict.sentences()
                print("\n".join([f"Figure {made.key}: {made.files[1]}", *lines]), flush=True)
    if json:
        print(jsonlib.dumps({"figures": verdicts}))
