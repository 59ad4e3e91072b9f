"""`sads train`: train a small diffusion model."""

import json as jsonlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from .options import Flag, Seed

if TYPE_CHECKING:
    from ..diffusion import Step


def train(
    network: str,
    *,
    data: str,
    out: Path,
    shape: str | None = None,
    iterations: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    accumulate: int = 1,
    schedule: str | None = None,
    rotation: str = "identity",
    geometry: Path | None = None,
    rank: int | None = None,
    seed: Seed = 0,
    compile: Flag = False,  # noqa: A002 - torch's name
    bfloat16: Flag = False,
    device: str = "cpu",
    json: Flag = False,
) -> None:
    """Train a network by denoising score matching, with the protocol of the paper.

    Example: `sads train iddpm-16 --data rank-one:dct:0 --iterations 500 --out runs/dct-0`

    Args:
        network: a preset with optional fields, `FILE.py:factory` or `package.module:factory`.
        data: the data, as `sads data --help` describes it; its training split by default.
        out: directory for checkpoints and the result; an interrupted run is continued.
        shape: shape of one sample, CxHxW; presets have their own.
        iterations: updates of the parameters; as in the paper's table 1 unless given.
        batch_size: samples in a batch; as in table 1 unless given.
        learning_rate: the learning rate of Adam; as in table 1 unless given.
        accumulate: batches in each update.
        schedule: path from data to noise: `linear`, `cosine`, `flow`, `ve` or `edm`; that of the
            network (`,path=flow`) unless given.
        rotation: the rotation of the data: `identity`, `random`, `whiten`, `min` or `max` with
            `--geometry`, or a directory that `sads rotate` wrote. Samples are rotated back.
        geometry: a stored geometry of the network, for `--rotation min` and `max`.
        rank: how many leading data directions the rotation moves; all unless given.
        seed: the seed of the initialisation and all draws.
        compile: use torch.compile, after a warm-up.
        bfloat16: use autocast to bfloat16.
        device: `cpu` or `cuda`.
        json: print the result as one JSON object.
    """
    from .. import api
    from ..devices import keep_freed_memory
    from ..presentation.assumptions import sentence
    from .progress import steps_bar

    keep_freed_memory()
    with steps_bar(network) as report:

        def follow(step: "Step") -> None:
            report(step.number, step.iterations, f"loss {step.loss:.4f}")

        trained = api.train(
            network,
            data,
            shape=shape,
            schedule=schedule,
            rotation=rotation,
            geometry=geometry,
            rank=rank,
            out=out,
            callbacks=(follow,),
            device=device,
            iterations=iterations,
            batch_size=batch_size,
            learning_rate=learning_rate,
            accumulate=accumulate,
            seed=seed,
            compile=compile,
            bfloat16=bfloat16,
        )
    tail = trained.losses[-max(1, len(trained.losses) // 10) :].mean().item()
    if json:
        summary = trained.settings.model_dump() | {
            "network": network,
            "assumptions": asdict(trained.assumptions),
            "data": data,
            "rotation": rotation,
            "steps": len(trained.losses),
            "loss": tail,
            "seconds": trained.seconds,
        }
        print(jsonlib.dumps(summary))
        return
    print(sentence(trained.assumptions))
    print(
        f"{network} trained on {data}: {len(trained.losses):,} steps in {trained.seconds:.1f} s, "
        f"mean loss of the last tenth {tail:.4f}."
    )
    print(f"Saved in {out}. Sample it: sads sample {out} --count 1000 --out samples.npy")
