"""`sads results`: the results of a sweep, finished or still running."""

import json as jsonlib
from pathlib import Path

from .options import Flag


def results(
    directory: Path,
    *,
    csv: Path | None = None,
    correlate: str | None = None,
    force: Flag = False,
    json: Flag = False,
) -> None:
    """Show the results of a sweep: mean and standard error over seeds.

    Example: `sads results runs/smoke --csv smoke.csv`

    Args:
        directory: where `sads sweep --out` stored it.
        csv: write one line for each trial into this file; `sads sweep --from` reads it.
        correlate: a metric (`sw2`, `msw2`, `msw2_optimised`, `w2_direction`, `leakage`, `loss`,
            `risk`, `risk_along`, `risk_off`, `nats`), for its rank correlation with the
            eigenvalues over bands, with p-values and intervals.
        force: replace an existing table.
        json: print one JSON object with `trials`, sorted by `id`.
    """
    from ..presentation.sweep import correlation_fields, correlation_sentence, means, sentences
    from ..storage.files import refuse_existing
    from ..sweep.store.database import read_rows
    from ..sweep.store.table import write_csv

    if csv is not None:
        refuse_existing(csv, force=force)
    _, rows = read_rows(directory)
    correlations = []
    if correlate is not None:
        from ..sweep.correlation import correlate as rank_correlations

        correlations = rank_correlations(rows, correlate)
    if csv is not None:
        write_csv(csv, rows)
    if json:
        extra = {"correlations": [correlation_fields(c) for c in correlations]} if correlate else {}
        print(jsonlib.dumps({"trials": rows} | extra))
        return
    print("\n".join([*means(rows), *sentences(rows), *map(correlation_sentence, correlations)]))
    if csv is not None:
        print(f"Written to {csv}.")
