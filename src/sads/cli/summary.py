"""`sads summary`: one table about an architecture, in a few seconds."""

import json as jsonlib
import sys
from typing import TYPE_CHECKING

from .options import Flag, Seed

if TYPE_CHECKING:
    from ..overview import Summary


def summary(
    network: str,
    *,
    shape: str | None = None,
    data: str = "gaussian",
    networks: int | None = None,
    seed: Seed = 0,
    json: Flag = False,
) -> None:
    """Show what can be known about an architecture in a few seconds, as one table.

    On a terminal the table fills while parts are computed, the cheapest first. The exit code is 2
    if no part could be measured.

    Example: `sads summary iddpm-16`

    Args:
        network: a preset with optional fields, `FILE.py:factory`, `package.module:factory` or
            `diffusers:FILE.json`.
        shape: shape of one sample, CxHxW; presets have their own.
        data: what a training would learn, as `sads data --help` describes it; independent normal
            entries by default.
        networks: untrained networks for each geometry; 192, and 96 for large samples, unless given.
        seed: the seed of all random draws.
        json: print the result as one JSON object.
    """
    from rich.console import Console
    from rich.live import Live

    from .. import api
    from ..presentation.network_summary import closing, summary_values, table
    from .progress import waiting

    console = Console()
    if json or not console.is_terminal:
        with waiting(f"looking at {network}") as tell:
            known = api.summary(
                network,
                shape,
                data=data,
                networks=networks,
                seed=seed,
                on_part=lambda part: tell(f"looking at {network}: {_under_way(part)}"),
            )
        if json:
            print(jsonlib.dumps(summary_values(known)))
        else:
            console.print(table(known))
            print(closing(known))
        _end(known)
        return
    with Live(console=console, auto_refresh=False) as live:
        known = api.summary(
            network,
            shape,
            data=data,
            networks=networks,
            seed=seed,
            on_part=lambda part: live.update(table(part), refresh=True),
        )
    print(closing(known))
    _end(known)


def _end(known: "Summary") -> None:
    """Exit code 2 where nothing could be measured, as for other input that cannot be used."""
    from ..presentation.network_summary import nothing_told

    if nothing_told(known):
        sys.exit(2)


def _under_way(known: "Summary") -> str:
    """The part that comes next."""
    parts = (
        ("geometry", known.effective),
        ("doctor", known.diagnosis),
        ("forecast", known.forecast),
    )
    untold = dict(known.untold)
    return next((p for p, value in parts if value is None and p not in untold), "done")
