"""`sads sample`: draw samples from a trained model."""

import json as jsonlib
import sys
import time
from dataclasses import asdict
from pathlib import Path

from .options import Flag, Seed


def sample(
    directory: Path,
    *,
    count: int,
    out: Path,
    steps: int = 1000,
    eta: float = 1.0,
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
        count: how many samples.
        out: the file to write; it appears when it is whole.
        steps: timesteps visited; 1000 is ancestral sampling in full.
        eta: 1 for ancestral sampling, 0 for deterministic DDIM.
        seed: of all noise.
        chunk: samples computed at once; it does not change them.
        compile: use torch.compile, after a warm-up.
        device: `cpu` or `cuda`.
        force: replace an existing file.
        json: print the result as one JSON object.
    """
    from .. import api
    from ..devices import keep_freed_memory
    from ..diffusion import read_training, write_samples
    from ..presentation.assumptions import sentence
    from ..storage.files import refuse_existing
    from .progress import steps_bar

    refuse_existing(out, force=force)
    header, _ = read_training(directory)
    if header.unfinished:
        print(
            f"sads: {directory} is unfinished, {header.step:,} of {header.settings.iterations:,} "
            "iterations: its network is sampled as it stands",
            file=sys.stderr,
        )
    keep_freed_memory()
    started = time.perf_counter()
    with steps_bar(str(directory)) as report:
        trained = api.load_trained(directory)
        chunks = api.sample_chunks(
            trained,
            count,
            compile=compile,
            device=device,
            steps=steps,
            eta=eta,
            seed=seed,
            chunk=chunk,
            on_step=report,
        )
        write_samples(out, chunks, header.shape, count)
    seconds = time.perf_counter() - started
    if json:
        result = {"file": str(out), "count": count, "seconds": seconds}
        result |= {"assumptions": asdict(trained.assumptions)}
        result |= {"unfinished": header.unfinished, "iterations": header.step}
        print(jsonlib.dumps(result | {"of": header.settings.iterations}))
        return
    print(sentence(trained.assumptions))
    print(
        f"{count:,} samples in {seconds:.1f} s, saved in {out}.\n"
        f"Look: sads data npy:{out} --png samples.png"
    )
