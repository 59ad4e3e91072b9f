"""`sads geometry`: estimate the geometry of an architecture."""

import json as jsonlib
import time
from pathlib import Path
from shlex import quote

from ..foundation.choices import EstimatorName, Quantity, Weighting, ZeroOutput
from .options import Flag, Seed

NEGLIGIBLE = 5.0  # seconds on top of those that the estimate states


def geometry(
    network: str,
    *,
    shape: str | None = None,
    networks: int | None = None,
    tolerance: float | None = None,
    probe: str = "zero",
    of: Quantity = "outputs",
    estimator: EstimatorName | None = None,
    weighting: Weighting = "score",
    timesteps: str | None = None,
    seed: Seed = 0,
    out: Path | None = None,
    device: str = "cpu",
    engine: str | None = None,
    workers: int | None = None,
    zero_output: ZeroOutput = "explain",
    subspace: str | None = None,
    dry_run: Flag = False,
    json: Flag = False,
) -> None:
    """Estimate in which directions the output of untrained networks is largest and smallest.

    Example: `sads geometry iddpm-16 --tolerance 0.01 --out runs/iddpm-16`

    Args:
        network: a preset with optional fields (`iddpm-16`, `iddpm-16,resampling=area,groups=8`),
            `FILE.py:factory`, `package.module:factory` or `diffusers:FILE.json`, these with
            `,prediction=v` or `x0` if they do not predict noise.
        shape: shape of one sample, CxHxW; presets have their own.
        networks: stop after this number of networks.
        tolerance: stop at this whitened error; 0.02 (for tangents 0.05) unless networks are given.
        probe: where to look: `zero`, `gaussian:STD`, `point:FILE.npy` or `forward:DATA`.
        of: `outputs` for the paper's geometry, `tangent` for the tangent kernel E[J J^T].
        estimator: for outputs: `integrated` (default) is thousands of times cheaper than `naive`,
            the paper's.
        weighting: `score` as in the paper, `noise` for equal weights of all timesteps.
        timesteps: only timesteps A to B-1, as `A:B`; 0 is the least noisy.
        seed: the seed of all random draws.
        out: directory for the result; an interrupted run is continued from there.
        device: `cpu` or `cuda`; with a dask engine, every batch then asks for one unit of `GPU`.
        engine: who computes: `local` (processes on this machine), `dask` (a cluster on this
            machine) or `dask:ADDRESS` (a scheduler); threads of this process unless given.
        workers: batches at once; by default the number of cores of this machine, or of threads of
            the scheduler.
        zero_output: what to do about networks that output zero at initialisation: `explain` why,
            redraw the `last` layer that zeroes the output, or `all` zero layers.
        subspace: for large samples, the subspace that is estimated: `dct:K` for the lowest K x K
            frequencies of each channel, `adaptive:M` for M directions that a sketch finds
            (`adaptive:M,sketch=N` from N networks), `full` for the whole space. Unless given, it
            is the whole space, or a subspace that fits into memory.
        dry_run: only say what is assumed about the networks, how they would be read, in which
            precision and with how much memory.
        json: print the result as one JSON object.
    """
    from ..geometry import Options, estimate_geometry, planned_geometry
    from ..presentation.geometry import plan_sentences, plan_summary, sentences, summary
    from ..presentation.numbers import span
    from ..remote import batch_workers_for
    from ..specs import parse_timesteps
    from ..specs.coercion import as_family, as_probe, as_subspace
    from .progress import networks_bar

    started = time.perf_counter()
    with networks_bar(network) as report:
        family = as_family(network, shape=shape)
        options = Options(
            probe=as_probe(probe, shape=family.shape),
            networks=networks,
            tolerance=tolerance,
            of=of,
            estimator=estimator,
            weighting=weighting,
            timesteps=None if timesteps is None else parse_timesteps(timesteps),
            seed=seed,
            device=device,
            zero_output=zero_output,
            subspace=as_subspace(subspace),
            out=out,
            batch_workers=batch_workers_for(
                engine, network, family, probe, workers=workers, device=device
            ),
            on_progress=report,
        )
        if dry_run:
            plan = planned_geometry(family, **options)
            shown = plan_summary(plan) if json else plan_sentences(plan)
        else:
            estimate = estimate_geometry(family, **options)
            shown = summary(estimate) if json else sentences(estimate)
            elapsed = time.perf_counter() - started
            if isinstance(shown, dict):
                shown["seconds_in_all"] = elapsed
            elif elapsed > estimate.state.seconds + NEGLIGIBLE:
                shown.append(f"{span(elapsed)} in all, with preparation and spectrum.")
    print(jsonlib.dumps(shown) if json else "\n".join(shown))
    if out is not None and not (json or dry_run):
        print(f"Saved in {out}. See it: sads report {quote(str(out))} --out report.html")
