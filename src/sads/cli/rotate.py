"""`sads rotate`: make a rotation of data that changes how it lies in a geometry."""

import json as jsonlib
from pathlib import Path

from ..foundation.choices import RotationKind
from .options import Flag, Seed


def rotate(
    directory: Path,
    *,
    data: str,
    kind: RotationKind,
    out: Path,
    rank: int | None = None,
    seed: Seed = 0,
    force: Flag = False,
    json: Flag = False,
) -> None:
    """Make a rotation of data and save it for training.

    `min` moves the leading directions of the data to where the network models best, `max` to where
    it models worst; `whiten` scales the data until all directions have the same variance.

    Example: `sads rotate runs/iddpm-16 --data digits --kind min --rank 16 --out runs/min-16`

    Args:
        directory: where `sads geometry --out` saved the geometry.
        data: the data, as `sads data --help` describes it; its training split by default.
        kind: which rotation.
        out: directory for the rotation; `sads train --rotation` takes it.
        rank: how many leading data directions move; all unless given.
        seed: the seed of a random rotation.
        force: replace an existing rotation.
        json: print the result as one JSON object.
    """
    from .. import api
    from ..alignment import ROTATION_FILE
    from ..diffusion import FILE as TRAINING
    from ..errors import InputError
    from ..geometry import load_geometry
    from ..presentation.alignment import rotation_sentences, rotation_summary
    from ..presentation.geometry import provenance, taken_as
    from ..storage.files import refuse_existing
    from .progress import waiting

    if (out / TRAINING).exists():
        raise InputError(f"{out} holds a training, whose rotation must stay: choose another --out")
    if (out / ROTATION_FILE).exists():
        refuse_existing(out / ROTATION_FILE, force=force)
    with waiting(f"rotating {data}"):
        geometry = load_geometry(directory)
        rotation = api.rotate(geometry, data, kind, rank=rank, seed=seed)
        rotation.save(out)
    if json:
        taken = provenance(geometry.plan)["assumptions"]
        print(jsonlib.dumps(rotation_summary(rotation) | {"assumptions": taken}))
        return
    print("\n".join([*taken_as(geometry.plan), *rotation_sentences(rotation)]))
    print(
        f"Saved in {out}. Train with it: sads train {rotation.origin.network or 'NETWORK'} "
        f"--data {data} --rotation {out} --out DIR"
    )
