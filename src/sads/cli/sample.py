"""`sads sample`: draw samples from a trained model."""

import json as jsonlib
import sys
import time
from dataclasses import asdict
from pathlib import Path

from ..foundation.choices import SolverName
from .options import Flag, Seed


def sample(
    directory: Path,
    *,
    count: int,
    out: Path,
    steps: int | None = None,
    solver: SolverName | None = None,
    eta: float | None = None,
    seed: Seed = 0,
    chunk: int = 64,
    compile: Flag = False,  # noqa: A002 - torch's name
    device: str = "cpu",
    force: Flag = False,
    json: Flag = False,
) -> None:
    """Draw samples from a trained model into a `.npy` file.

    Example: `sads sample runs/dct-0 --count 1000 --steps 100 --out samples.npy`

    Args:
        directory: where `sads train` saved it.
        count: the number of samples.
        out: the file to write; it appears when it is complete.
        steps: noise levels visited; unless given all of them, but at most 1000.
        solver: `ddpm`, ancestral sampling; `ddim`; `euler` or `heun`, which follow the equation of
            the flow. By default `ddpm` on paths that preserve variance, else `euler`.
        eta: eta in DDIM's formula, instead of a solver: 1 for ancestral sampling, 0 for DDIM.
        seed: the seed of all noise.
        chunk: samples computed at once; their values do not depend on it.
        compile: use torch.compile, after a warm-up.
        device: `cpu` or `cuda`.
        force: replace an existing file.
        json: print the result as one JSON object.
    """
    from .. import api
    from ..devices import keep_freed_memory
    from ..diffusion import write_samples
    from ..presentation.assumptions import sentence
    from ..storage.files import refuse_existing
    from .progress import steps_bar

    refuse_existing(out, force=force)
    trained = api.load_trained(directory)
    made, planned = trained.run.step, trained.settings.iterations
    if made < planned:
        print(
            f"sads: {directory} is unfinished, {made:,} of {planned:,} iterations: its network is "
            "sampled as it stands",
            file=sys.stderr,
        )
    keep_freed_memory()
    started = time.perf_counter()
    with steps_bar(str(directory)) as report:
        chunks = api.sample_chunks(
            trained,
            count,
            compile=compile,
            device=device,
            steps=steps,
            eta=eta,
            solver=solver,
            seed=seed,
            chunk=chunk,
            on_step=report,
        )
        write_samples(out, chunks, trained.family.shape, count)
    seconds = time.perf_counter() - started
    if json:
        result = {"file": str(out), "count": count, "seconds": seconds}
        result |= {"assumptions": asdict(trained.assumptions)}
        result |= {"unfinished": made < planned, "iterations": made}
        print(jsonlib.dumps(result | {"of": planned}))
        return
    print(sentence(trained.assumptions))
    print(
        f"{count:,} samples in {seconds:.1f} s, saved in {out}.\n"
        f"Look at them: sads data npy:{out} --png samples.png"
    )
