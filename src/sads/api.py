"""The Python entry points: strings, factories or values in; geometries, models, samples out.

Nothing is computed here: strings become values (`specs.sources`), and the rooms do the work.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from . import alignment as _alignment
from . import diffusion as _diffusion
from . import doctor as _doctor
from . import geometry as _geometry
from .alignment import Alignment, Rotation
from .data import Dataset
from .diffusion import Callback, Trained, settings_for
from .diffusion.sampling import CHUNK, OnStep
from .directions.sets import DirectionSet
from .distances import Distance, measure_distance
from .doctor import Diagnosis
from .geometry import Geometry, Probe
from .geometry.plan import Plan
from .learning import Risk, measure_risk, reference_for
from .networks import ScoreFamily
from .path import Schedule
from .randomness import Random
from .ranking import Ranking, check_families, rank_families
from .specs.sources import (
    Network,
    Shape,
    as_dataset,
    as_dataset_pair,
    as_directions,
    as_family,
    as_geometry,
    as_predictor,
    as_probe,
    as_shape,
    as_trained,
)


def network(
    source: Network,
    *,
    shape: Shape | None = None,
    prediction: str | None = None,
) -> ScoreFamily:
    """A family of score networks.

    Args:
        source: a preset with fields (`"iddpm-16,resampling=area"`), `"FILE.py:factory"`,
            `"package.module:factory"`, `"diffusers:FILE.json"`, a callable that makes modules, or
            a family.
        shape: shape of one sample, `"1x16x16"` or a tuple; needed for callables.
        prediction: what a callable's modules predict: `"eps"`, `"v"` or `"x0"`; in a string, write
            `",prediction=v"`.
    """
    return as_family(source, shape=shape, prediction=prediction)


def estimate_geometry(
    source: Network,
    *,
    shape: Shape | None = None,
    probe: str | Probe = "zero",
    prediction: str | None = None,
    **options: Any,
) -> Geometry:
    """Estimate the average geometry of untrained networks.

    Args:
        source: what `network` takes.
        shape: shape of one sample.
        probe: `"zero"`, `"gaussian:STD"`, `"point:FILE"`, `"forward:DATA"` or a probe.
        prediction: as in `network`.
        **options: `networks`, `tolerance`, `estimator`, `weighting`, `timesteps`, `seed`, `out`,
            `device`, `zero_output`, `on_progress`; see `sads.geometry.Options`.
    """
    family = as_family(source, shape=shape, prediction=prediction)
    return _geometry.estimate_geometry(family, probe=as_probe(probe, shape=family.shape), **options)


def planned_geometry(
    source: Network,
    *,
    shape: Shape | None = None,
    probe: str | Probe = "zero",
    prediction: str | None = None,
    **options: Any,
) -> Plan:
    """What `estimate_geometry` would do with the same arguments, without doing it.

    The plan says what the networks are taken for (`assumptions`), how their last layer is read and
    which precision they need.
    """
    family = as_family(source, shape=shape, prediction=prediction)
    return _geometry.planned_geometry(family, probe=as_probe(probe, shape=family.shape), **options)


def running_estimates(
    source: Network,
    *,
    shape: Shape | None = None,
    probe: str | Probe = "zero",
    prediction: str | None = None,
    **options: Any,
) -> Iterator[Geometry]:
    """Like `estimate_geometry`, but yields estimates as they improve; the last is the result."""
    family = as_family(source, shape=shape, prediction=prediction)
    return _geometry.running_estimates(family, probe=as_probe(probe, shape=family.shape), **options)


def diagnose(
    source: Network,
    *,
    shape: Shape | None = None,
    networks: int | None = None,
    seed: int = 0,
    on_stage: Callable[[str], None] | None = None,
) -> Diagnosis:
    """What is wrong with an architecture, before anyone trains it.

    Args:
        source: what `network` takes.
        shape: shape of one sample.
        networks: untrained networks behind each of the two geometries that are looked at.
        seed: of all random draws.
        on_stage: called with what is done next.
    """
    family = as_family(source, shape=shape)
    networks = _doctor.NETWORKS if networks is None else networks
    return _doctor.diagnose(family, networks=networks, seed=seed, on_stage=on_stage)


def train(
    source: Network,
    data: str | Dataset,
    *,
    shape: Shape | None = None,
    schedule: str = "linear",
    rotation: str | Path | Rotation | None = None,
    geometry: str | Path | Geometry | None = None,
    rank: int | None = None,
    out: str | Path | None = None,
    callbacks: tuple[Callback, ...] = (),
    device: str = "cpu",
    **settings: Any,
) -> Trained:
    """Train a fresh network on a dataset by denoising score matching.

    Args:
        source: what `network` takes.
        data: in the data grammar (its training split unless it names another) or a dataset.
        shape: shape of one sample; presets have their own.
        schedule: `linear` or `cosine`.
        rotation: of the data: `identity`, `random` (drawn by the training's seed), `min` or `max`
            with a geometry, a directory that `sads rotate` wrote, or a rotation.
        geometry: a geometry of this network or its directory, for `min` and `max`.
        rank: leading data directions that `min`, `max` or `random` moves; all unless given.
        out: directory for checkpoints and the result; an unfinished run is continued.
        callbacks: called after each step with its number, loss and time.
        device: `cpu` or a CUDA device.
        **settings: `iterations`, `batch_size`, `learning_rate`, `seed`, `accumulate`, `clip`,
            `weight_decay`, `compile`, `bfloat16`; what is left out is the preset's of table 1.
    """
    family = replace(as_family(source, shape=shape), schedule=Schedule(schedule))
    dataset = as_dataset(data, shape=family.shape, split="train")
    protocol = settings_for(family, **settings)
    turn = _alignment.rotation_for(
        family, dataset, rotation, geometry=geometry, rank=rank, seed=protocol.seed
    )
    return _diffusion.train(
        family,
        dataset.samples,
        protocol,
        rotation=turn,
        out=out,
        callbacks=callbacks,
        device=device,
    )


def load_trained(directory: str | Path, *, source: Network | None = None) -> Trained:
    """The trained network in a directory that `train` wrote.

    Args:
        directory: the directory.
        source: the network, where it was trained from a callable and has no name to find it by.
    """
    return as_trained(directory, network=source)


def sample(
    trained: str | Path | Trained,
    count: int,
    *,
    steps: int = 1000,
    eta: float = 1.0,
    seed: Random = 0,
    compile: bool = False,  # noqa: A002 - torch's name
    device: str = "cpu",
    source: Network | None = None,
) -> Float[np.ndarray, "N ..."]:
    """Samples of a trained network, as one array.

    Args:
        trained: what `train` returned, or the directory that it wrote.
        count: how many samples.
        steps: timesteps visited; 1000 is ancestral sampling in full.
        eta: 1 for ancestral sampling, 0 for deterministic DDIM.
        seed: of all noise, or a generator that gives one.
        compile: use torch.compile.
        device: `cpu` or a CUDA device.
        source: as in `load_trained`.
    """
    chunks = sample_chunks(
        trained,
        count,
        steps=steps,
        eta=eta,
        seed=seed,
        compile=compile,
        device=device,
        source=source,
    )
    return np.concatenate([chunk.numpy() for chunk in chunks])


def sample_chunks(
    trained: str | Path | Trained,
    count: int,
    *,
    steps: int = 1000,
    eta: float = 1.0,
    seed: Random = 0,
    chunk: int = CHUNK,
    first: int = 0,
    compile: bool = False,  # noqa: A002 - torch's name
    device: str = "cpu",
    source: Network | None = None,
    on_step: OnStep | None = None,
) -> Iterator[Float[Tensor, "n ..."]]:
    """Like `sample`, but a chunk at a time, for more samples than fit in memory.

    Args:
        trained: as in `sample`.
        count: how many samples.
        steps: timesteps visited.
        eta: 1 for ancestral sampling, 0 for deterministic DDIM.
        seed: of all noise, or a generator that gives one.
        chunk: samples computed at once; it does not change them.
        first: leave out the samples before this one, which are known already.
        compile: use torch.compile.
        device: `cpu` or a CUDA device.
        source: as in `load_trained`.
        on_step: called with steps done and steps in all.
    """
    return _diffusion.samples_of(
        as_trained(trained, network=source),
        count,
        steps=steps,
        eta=eta,
        seed=seed,
        chunk=chunk,
        first=first,
        compile=compile,
        device=device,
        on_step=on_step,
    )


def align(geometry: str | Path | Geometry, data: str | Dataset | np.ndarray) -> Alignment:
    """How data lies in a geometry: alpha, its extremes over all rotations, and where between.

    Args:
        geometry: a geometry or its directory.
        data: in the data grammar (its training split unless it names another), a dataset, or an
            array of samples.
    """
    known = as_geometry(geometry)
    return _alignment.align(known, _samples(data, known.shape))


def rotate(
    geometry: str | Path | Geometry,
    data: str | Dataset | np.ndarray,
    kind: str,
    *,
    rank: int | None = None,
    seed: Random = 0,
) -> Rotation:
    """A rotation of data with respect to a geometry.

    Args:
        geometry: a geometry or its directory.
        data: as in `align`.
        kind: `min`, `max`, `random` or `identity`.
        rank: leading data directions that move; all unless given.
        seed: of a random rotation, or a generator that gives one.
    """
    known = as_geometry(geometry)
    samples = _samples(data, known.shape)
    return _alignment.make_rotation(kind, geometry=known, data=samples, rank=rank, seed=seed)


def _samples(data: str | Dataset | np.ndarray, shape: tuple[int, ...]) -> Dataset | np.ndarray:
    return data if isinstance(data, np.ndarray) else as_dataset(data, shape=shape, split="train")


def distance(
    a: str | Dataset,
    b: str | Dataset,
    *,
    shape: Shape | None = None,
    projections: int | None = None,
    seed: Random = 0,
) -> Distance:
    """Distances between two sets of samples: random directions, and the worst one found.

    Args:
        a: in the data grammar, or a dataset; but for arrays, the held-out split unless it names
            another, so that nothing is measured against training data.
        b: likewise.
        shape: shape of one sample, where neither tells it.
        projections: random directions, 64 D unless given.
        seed: of directions and permutations: a whole number, a NumPy or a torch generator.
    """
    first, second = as_dataset_pair(a, b, shape=as_shape(shape))
    return measure_distance(
        first.samples,
        second.samples,
        x_direction=first.direction,
        y_direction=second.direction,
        projections=projections,
        seed=seed,
    )


def risk(
    trained: str | Path | Trained,
    other: str | Path | Trained | None = None,
    *,
    data: str | Dataset,
    directions: str | DirectionSet | None = None,
    weights: str | Path | None = None,
    shape: Shape | None = None,
    exact: bool = False,
    tolerance: float = 0.02,
    seed: int = 0,
) -> Risk:
    """The error of a trained network by direction and noise level.

    Args:
        trained: what `train` returned, the directory that it wrote, or a network in the grammar
            with `weights`.
        other: a second training; the result is then the second minus the first.
        data: in the data grammar (its held-out split unless it names another) or a dataset.
        directions: in the grammar of directions, or a set of them; bands of frequency by default.
        weights: a safetensors file with the parameters of the network, trained elsewhere.
        shape: shape of one sample, for a network in the grammar.
        exact: whether to refuse data whose optimum is not known.
        tolerance: relative standard error of the total at which to stop.
        seed: of all draws.
    """
    family, predict = as_predictor(trained, weights=weights, shape=shape)
    second = None if other is None else as_predictor(other, like=family)[1]
    return measure_risk(
        predict,
        reference_for(as_dataset(data, shape=family.shape, split="held-out"), exact=exact),
        family.schedule,
        family.shape,
        other=second,
        directions=as_directions(directions, shape=family.shape),
        tolerance=tolerance,
        seed=seed,
    )


def rank(
    networks: Sequence[Network],
    data: str | Dataset,
    *,
    shape: Shape | None = None,
    probe: str | Probe = "zero",
    **options: Any,
) -> Ranking:
    """Order architectures for a dataset, before any training.

    Args:
        networks: two or more of what `network` takes, of one shape.
        data: in the data grammar (its training split unless it names another) or a dataset.
        shape: shape of one sample; presets have their own.
        probe: as in `estimate_geometry`.
        **options: `tolerance` of each geometry, `seed`, and `on_progress`, which is called with a
            network's name and its progress; see `sads.ranking.rank_families`.
    """
    families = [as_family(source, shape=shape) for source in networks]
    check_families(families)
    size = families[0].shape
    dataset = as_dataset(data, shape=size, split="train")
    return rank_families(families, dataset, probe=as_probe(probe, shape=size), **options)
