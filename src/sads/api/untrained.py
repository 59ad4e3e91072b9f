"""Untrained networks: their families, their geometry, and what is wrong with them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Unpack

from .. import doctor as _doctor
from .. import geometry as _geometry
from ..doctor import Diagnosis
from ..execution.engines import Engine
from ..foundation.choices import EstimatorName, Prediction, Quantity, Weighting, ZeroOutput
from ..foundation.signatures import same_arguments
from ..geometry import Geometry, Probe, Progress
from ..networks import ScoreFamily
from ..overview import Summary, summarise
from ..path import DiffusionPath
from ..remote import batch_workers_for
from ..specs.coercion import (
    Data,
    Network,
    Shape,
    as_dataset,
    as_family,
    as_family_and_origin,
    as_probe,
    as_subspace,
)


def network(
    source: Network,
    *,
    shape: Shape | None = None,
    prediction: Prediction | None = None,
    schedule: str | DiffusionPath | None = None,
) -> ScoreFamily:
    """A family of score networks.

    Args:
        source: a preset with fields (`"iddpm-16,resampling=area"`), `"FILE.py:factory"`,
            `"package.module:factory"`, `"diffusers:FILE.json"`, a callable that makes modules, or
            a family.
        shape: shape of one sample, `"1x16x16"` or a tuple; needed for callables. Presets and
            families have one of their own; a family refuses any other.
        prediction: what the modules predict: `"eps"`, `"v"`, `"x0"`, `"flow"` (the velocity
            eps - x_0) or `"score"`; in a string it can also be written as `",prediction=v"`.
        schedule: the path from data to noise that they are meant for: `"linear"`, `"cosine"`,
            `"flow"`, `"ve"`, `"edm"` or a path. Unless given, it is that of the family or string
            (`",path=cosine"`), a rectified flow for `prediction="flow"`, else the linear schedule.

    >>> import sads
    >>> sads.network("cnn", shape="1x8x8", schedule="cosine").schedule
    Schedule(kind='cosine', steps=1000)
    """
    return as_family(source, shape=shape, prediction=prediction, schedule=schedule)


def estimate_geometry(
    source: Network,
    *,
    shape: Shape | None = None,
    probe: str | Probe = "zero",
    networks: int | None = None,
    tolerance: float | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    prediction: Prediction | None = None,
    schedule: str | DiffusionPath | None = None,
    of: Quantity = "outputs",
    estimator: EstimatorName | None = None,
    weighting: Weighting = "score",
    timesteps: tuple[int, int] | None = None,
    zero_output: ZeroOutput = "explain",
    subspace: str | None = None,
    device: str = "cpu",
    engine: str | Engine | None = None,
    workers: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> Geometry:
    """Estimate the average geometry of untrained networks.

    Args:
        source: what `network` takes.
        shape: shape of one sample, as in `network`.
        probe: where to look: `"zero"`, `"gaussian:STD"`, `"point:FILE"`, `"forward:DATA"` or a
            probe.
        networks: stop after this number of networks.
        tolerance: stop at this whitened error; 0.02 (for tangents 0.05) unless `networks` is
            given.
        seed: the seed of all random draws.
        out: directory for the result and for checkpoints; an unfinished run is continued.
        prediction: as in `network`.
        schedule: as in `network`.
        of: `"outputs"` for the paper's geometry, `"tangent"` for the tangent kernel E[J J^T].
        estimator: for outputs: `"integrated"` unless given, or `"naive"`, the paper's.
        weighting: `"score"` for the paper's geometry, `"noise"` for equal weights of all timesteps.
        timesteps: use only those from the first up to, but not including, the second.
        zero_output: what to do about networks that output zero at initialisation: `"explain"`
            stops with the reason, `"last"` redraws the layer that zeroes the output or sets its
            gain to one, `"all"` does so with every zero layer.
        subspace: for large samples, the subspace in which G is estimated: `"dct:32"` for the
            lowest 32 x 32 frequencies, `"adaptive:512"` for 512 directions that a sketch from
            separate networks finds, `"full"` for the whole space. Unless given, it is the whole
            space, or a subspace that fits into memory.
        device: `"cpu"` or a CUDA device.
        engine: who computes the batches: `"local"` for processes on this machine, `"dask"` for a
            dask cluster on it, `"dask:ADDRESS"` for the workers of a scheduler, or an engine.
            Unless given, threads of this process do. The bits are those of one process with one
            torch thread.
        workers: batches at once; by default the cores of this machine, or the scheduler's threads.
        on_progress: called after each batch.

    >>> import sads
    >>> sads.estimate_geometry("cnn", shape="1x4x4", networks=24).networks
    24
    """
    family = as_family(source, shape=shape, prediction=prediction, schedule=schedule)
    return _geometry.estimate_geometry(
        family,
        probe=as_probe(probe, shape=family.shape),
        networks=networks,
        tolerance=tolerance,
        seed=seed,
        out=out,
        of=of,
        estimator=estimator,
        weighting=weighting,
        timesteps=timesteps,
        zero_output=zero_output,
        subspace=as_subspace(subspace),
        device=device,
        batch_workers=batch_workers_for(
            engine,
            source,
            family,
            probe,
            workers=workers,
            prediction=prediction,
            device=device,
        ),
        on_progress=on_progress,
    )


@same_arguments(estimate_geometry)
def running_estimates(
    source: Network,
    *,
    shape: Shape | None = None,
    probe: str | Probe = "zero",
    prediction: Prediction | None = None,
    schedule: str | DiffusionPath | None = None,
    subspace: str | None = None,
    engine: str | Engine | None = None,
    workers: int | None = None,
    **options: Unpack[_geometry.PlainOptions],
) -> Iterator[Geometry]:
    """Like `estimate_geometry`, with the same arguments, but yields estimates as they improve.

    The last one is the result.

    >>> import sads
    >>> estimates = sads.running_estimates("cnn", shape="1x4x4", networks=48)
    >>> [geometry.networks for geometry in estimates][-1]
    48
    """
    family = as_family(source, shape=shape, prediction=prediction, schedule=schedule)
    return _geometry.running_estimates(
        family,
        probe=as_probe(probe, shape=family.shape),
        subspace=as_subspace(subspace),
        batch_workers=batch_workers_for(
            engine,
            source,
            family,
            probe,
            workers=workers,
            prediction=prediction,
            device=options.get("device", "cpu"),
        ),
        **options,
    )


def summary(
    source: Network,
    shape: Shape | None = None,
    *,
    data: Data = "gaussian",
    networks: int | None = None,
    seed: int = 0,
    prediction: Prediction | None = None,
    schedule: str | DiffusionPath | None = None,
    on_part: Callable[[Summary], None] | None = None,
) -> Summary:
    """What can be known about an architecture in a few seconds, as one table.

    Args:
        source: what `network` takes, or a module that is already built. Its class and its
            configuration say how to make fresh networks; if they do not, its parameters are drawn
            again from their measured distributions, and the table says so.
        shape: shape of one sample, as in `network`.
        data: what a training would learn, as in `forecast`; independent normal entries by default.
        networks: untrained networks for each geometry; 192, and 96 for large samples, unless given.
        seed: the seed of all random draws.
        prediction: as in `network`.
        schedule: as in `network`.
        on_part: called with what is known so far, after each part.

    >>> import sads
    >>> from torch import nn
    >>> print(sads.summary("mlp,width=8,depth=1", "1x4x4"))
    mlp,width=8,depth=1 on 1x4x4...
    """
    family, origin = as_family_and_origin(
        source, shape=shape, prediction=prediction, schedule=schedule
    )
    return summarise(
        family,
        as_dataset(data, shape=family.shape, split="train", drawn=1),
        spelled=isinstance(source, str) and prediction is None and schedule is None,
        origin=origin,
        networks=networks,
        seed=seed,
        on_part=on_part,
    )


def diagnose(
    source: Network,
    *,
    shape: Shape | None = None,
    networks: int | None = None,
    seed: int = 0,
    prediction: Prediction | None = None,
    schedule: str | DiffusionPath | None = None,
    on_stage: Callable[[str], None] | None = None,
) -> Diagnosis:
    """What is wrong with an architecture, before anyone trains it.

    Args:
        source: what `network` takes.
        shape: shape of one sample, as in `network`.
        networks: untrained networks for each of the two geometries; 768 unless given.
        seed: the seed of all random draws.
        prediction: as in `network`.
        schedule: as in `network`.
        on_stage: called with the name of each stage when it starts.

    >>> import sads
    >>> sads.diagnose("cnn", shape="1x4x4", networks=12).network
    'cnn'
    """
    family = as_family(source, shape=shape, prediction=prediction, schedule=schedule)
    count = _doctor.NETWORKS if networks is None else networks
    return _doctor.diagnose(family, networks=count, seed=seed, on_stage=on_stage)
