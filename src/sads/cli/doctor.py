"""`sads doctor`: what is wrong with a network."""

import json as jsonlib
from dataclasses import asdict

from .options import Flag, Seed


def doctor(
    network: str,
    *,
    shape: str | None = None,
    networks: int | None = None,
    seed: Seed = 0,
    json: Flag = False,
) -> None:
    """Say what is wrong with an architecture, before anyone trains it.

    Example: `sads doctor iddpm-16`

    Args:
        network: a preset with optional fields, `FILE.py:factory`, `package.module:factory` or
            `diffusers:FILE.json`.
        shape: shape of one sample, CxHxW; presets have their own.
        networks: untrained networks behind each of the two geometries that are looked at.
        seed: of all random draws.
        json: print the result as one JSON object.
    """
    from .. import api
    from ..presentation.doctor import sentences
    from .progress import waiting

    with waiting(f"examining {network}") as tell:
        diagnosis = api.diagnose(network, shape=shape, networks=networks, seed=seed, on_stage=tell)
    print(jsonlib.dumps(asdict(diagnosis)) if json else "\n".join(sentences(diagnosis)))
