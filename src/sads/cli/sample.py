"""`sads sample`: draw samples from a trained model."""

import json as jsonlib
import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .options import Seed


def sample(
    directory: Path,
    *,
    count: int,
    out: Path,
    steps: int = 1000,
    eta: float = 1.0,
    seed: Seed = 0,
    chunk: int = 64,
    compile: Annotated[bool, Parameter(negative="")] = False,  # noqa: A002 - torch's name
    device: str = "cpu",
    json: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Draw samples from a trained model into a `.npy` file.

    Example: `sads sample runs/dct-0 --count 1000 --steps 100 --out samples.npy`

    Args:
        directory: where `sads train` saved it.
        count: how many samples.
        out: the file to write; it appears when it is whole.
        steps: timesteps visited; 1000 is ancestral sampling in full.
        eta: 1 for ancestral sampling, 0 for deterministic DDIM.
        seed: of all noise.
        chunk: samples computed at once; it does not change them.
        compile: use torch.compile, after a warm-up.
        device: `cpu` or `cuda`.
        json: print the result as one JSON object.
    """
    from .. import api
    from ..devices import keep_freed_memory
    from ..diffusion import write_samples
    from .progress import steps_bar

    keep_freed_memory()
    started = time.perf_counter()
    with steps_bar(str(directory)) as report:
        family, _ = api.load_trained(directory)
        chunks = api.sample(
            directory,
            count,
            compile=compile,
            device=device,
            steps=steps,
            eta=eta,
            seed=seed,
            chunk=chunk,
            on_step=report,
        )
        write_samples(out, chunks, family.shape, count)
    seconds = time.perf_counter() - started
    if json:
        print(jsonlib.dumps({"file": str(out), "count": count, "seconds": seconds}))
        return
    print(
        f"{count:,} samples in {seconds:.1f} s, saved in {out}.\n"
        f"Look: sads data npy:{out} --png samples.png"
    )
