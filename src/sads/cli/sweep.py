"""`sads sweep`: many trainings that survive crashes and full disks."""

import json as jsonlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from .options import Flag

if TYPE_CHECKING:
    from ..sweep.describe.plan import Planned
    from ..sweep.execute.calibration import Estimate


def sweep(
    specification: Path,
    *,
    out: Path | None = None,
    engine: str = "local",
    workers: int | None = None,
    device: str = "cpu",
    retries: int = 3,
    retry_failed: Flag = False,
    seed_from: Annotated[Path | None, Parameter(name="--from")] = None,
    dry_run: Flag = False,
    json: Flag = False,
) -> None:
    """Run all trials of a specification that have no result yet.

    Running it again resumes it after Ctrl-C, `kill -9` or a power cut. Exit code 1 means that the
    sweep is over and some trials failed.

    Example: `sads sweep examples/smoke.toml --out runs/smoke --workers 2`

    Args:
        specification: a TOML file.
        out: directory of the sweep; a dry run does not need it.
        engine: `local`, `dask` (a cluster on this machine) or `dask:ADDRESS` (a scheduler).
        workers: how many trials run at once; by default the number of cores of this machine, or of
            threads of the scheduler.
        device: `cpu` or `cuda`; with dask, every trial then asks for one unit of `GPU`.
        retries: further attempts of a trial that fails or kills its worker.
        retry_failed: run failed and quarantined trials again.
        seed_from: reuse results that `sads results --csv` wrote.
        dry_run: print the trials and how long they would take, measured on a few steps.
        json: print the result as one JSON object.
    """
    from ..errors import InputError
    from ..presentation.sweep import sentences, summary
    from ..sweep.execute.run_sweep import dry_run as plan
    from ..sweep.execute.run_sweep import run_sweep
    from .progress import sweep_table, waiting

    if dry_run:
        with waiting("timing a few steps of each kind of trial"):
            pending, cost = plan(specification, out, engine=engine, workers=workers, device=device)
        _print_plan(pending, cost, json)
        return
    if out is None:
        raise InputError("a sweep needs a directory: pass --out DIR")
    with sweep_table(specification.stem) as report:
        results = run_sweep(
            specification,
            out,
            engine=engine,
            workers=workers,
            device=device,
            retries=retries,
            retry_failed=retry_failed,
            seed_from=seed_from,
            on_progress=report,
        )
    if json:
        print(jsonlib.dumps(summary(results.rows)))
    else:
        print("\n".join([*sentences(results.rows), f"See them: sads results {out}"]))
    if results.statuses.total() > results.statuses["done"]:
        sys.exit(1)


def _print_plan(pending: "list[Planned]", cost: "Estimate", json: bool) -> None:
    from ..presentation.sweep import plan_lines, plan_rows

    if json:
        print(jsonlib.dumps({"trials": plan_rows(pending), "seconds": cost.seconds}))
    else:
        print("\n".join(plan_lines(pending, cost)))
