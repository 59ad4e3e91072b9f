"""The Python entry points: strings, factories or values in; geometries, models, samples out."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from . import alignment as _alignment
from . import doctor as _doctor
from . import geometry as _geometry
from .alignment import Alignment, Rotation, make_rotation
from .data import Dataset
from .devices import usable_device
from .diffusion import (
    Callback,
    Settings,
    Trained,
    compiled,
    initial_network,
    load_parameters,
    read_training,
    sample_chunks,
    stored_rotation,
    stored_schedule,
)
from .diffusion import train as train_network
from .directions.sets import DirectionSet
from .distances import gaussian_wasserstein, max_sliced_wasserstein, sliced_wasserstein
from .doctor import Diagnosis
from .errors import ArtefactError, InputError
from .geometry import Geometry, Probe
from .geometry.plan import Plan
from .learning import HeldOut, Optimum, Risk, measure_risk
from .networks import ScoreFamily
from .networks.stored_weights import load_weights
from .path import Schedule
from .randomness import Random, as_seed
from .ranking import Ranking, check_families, rank_families
from .specs import parse_dataset, parse_directions, parse_network, parse_probe, parse_shape

Network = str | ScoreFamily | Callable[[], Any]


def network(
    source: Network,
    *,
    shape: str | tuple[int, ...] | None = None,
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
    size = parse_shape(shape) if isinstance(shape, str) else shape
    if prediction is not None and (isinstance(source, (str, ScoreFamily))):
        raise InputError("prediction= is for callables; in a string write ,prediction=v")
    if isinstance(source, ScoreFamily):
        return source
    if isinstance(source, str):
        return parse_network(source, shape=size)
    if size is None:
        raise InputError("a factory does not say its shape: pass shape=(C, H, W)")
    name = getattr(source, "__name__", type(source).__name__)
    return ScoreFamily(source, size, name=name, prediction=prediction)


def estimate_geometry(
    source: Network,
    *,
    shape: str | tuple[int, ...] | None = None,
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
        **options: `networks`, `tolerance`, `of`, `estimator`, `weighting`, `timesteps`, `seed`,
            `out`, `device`, `zero_output`, `on_progress`; see `sads.geometry.Options`.
    """
    family = network(source, shape=shape, prediction=prediction)
    return _geometry.estimate_geometry(family, probe=_probe(probe, family), **options)


def planned_geometry(
    source: Network,
    *,
    shape: str | tuple[int, ...] | None = None,
    probe: str | Probe = "zero",
    prediction: str | None = None,
    **options: Any,
) -> Plan:
    """What `estimate_geometry` would do with the same arguments, without doing it.

    The plan says what the networks are taken for (`assumptions`), how their last layer is read and
    which precision they need.
    """
    family = network(source, shape=shape, prediction=prediction)
    return _geometry.planned_geometry(family, probe=_probe(probe, family), **options)


def running_estimates(
    source: Network,
    *,
    shape: str | tuple[int, ...] | None = None,
    probe: str | Probe = "zero",
    prediction: str | None = None,
    **options: Any,
) -> Iterator[Geometry]:
    """Like `estimate_geometry`, but yields estimates as they improve; the last is the result."""
    family = network(source, shape=shape, prediction=prediction)
    return _geometry.running_estimates(family, probe=_probe(probe, family), **options)


def _probe(probe: str | Probe, family: ScoreFamily) -> Probe:
    return parse_probe(probe, shape=family.shape) if isinstance(probe, str) else probe


def diagnose(
    source: Network,
    *,
    shape: str | tuple[int, ...] | None = None,
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
    family = network(source, shape=shape)
    networks = _doctor.NETWORKS if networks is None else networks
    return _doctor.diagnose(family, networks=networks, seed=seed, on_stage=on_stage)


def train(
    source: Network,
    data: str | Dataset,
    *,
    shape: str | tuple[int, ...] | None = None,
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
    family = replace(network(source, shape=shape), schedule=Schedule(schedule))
    found = (
        parse_dataset(data, shape=family.shape, split="train") if isinstance(data, str) else data
    )
    defaults = asdict(family.training)
    chosen = {name: value for name, value in settings.items() if value is not None}
    chosen["seed"] = as_seed(chosen.get("seed", 0))
    try:
        protocol = Settings(**(defaults | chosen))
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(f"{first['loc'][0]}: {first['msg']}, got {first['input']!r}") from error
    samples = torch.from_numpy(np.ascontiguousarray(found.samples))
    turn = _alignment.rotation_for(
        family, found, rotation, geometry=geometry, rank=rank, seed=protocol.seed
    )
    return train_network(
        family, samples, protocol, rotation=turn, out=out, callbacks=callbacks, device=device
    )


def load_trained(
    directory: str | Path, *, source: Network | None = None
) -> tuple[ScoreFamily, nn.Module]:
    """The family and the trained network in a directory that `train` wrote.

    Args:
        directory: the directory.
        source: the network, where it was trained from a callable and has no name to find it by.
    """
    header, tensors = read_training(Path(directory))
    found = network(source or header.network, shape=header.shape)
    family = replace(found, schedule=stored_schedule(header))
    member = initial_network(family, 0)
    if family.fingerprint(member) != header.fingerprint:
        raise ArtefactError(
            f"{directory} was trained with another version of {header.network}: train again"
        )
    load_parameters(member, tensors, Path(directory))
    return family, member.eval().requires_grad_(False)


def sample(
    directory: str | Path,
    count: int,
    *,
    compile: bool = False,  # noqa: A002 - torch's name
    device: str = "cpu",
    source: Network | None = None,
    **options: Any,
) -> Iterator[Tensor]:
    """Samples of a trained network, a chunk at a time.

    Args:
        directory: what `train` wrote.
        count: how many samples.
        compile: use torch.compile.
        device: `cpu` or a CUDA device.
        source: as in `load_trained`.
        **options: `steps`, `eta`, `seed`, `chunk`, `first`, `on_step`; see
            `sads.diffusion.sample_chunks`.
    """
    place = usable_device(device)
    family, member = load_trained(directory, source=source)
    turn = stored_rotation(Path(directory))
    member = member.to(place)
    predict = family.housed(compiled(member) if compile else member)
    chunks = sample_chunks(predict, family.shape, count, family.schedule, device=device, **options)
    return chunks if turn is None else (turn.inverse(chunk) for chunk in chunks)


def align(geometry: str | Path | Geometry, data: str | Dataset | np.ndarray) -> Alignment:
    """How data lies in a geometry: alpha, its extremes over all rotations, and where between.

    Args:
        geometry: a geometry or its directory.
        data: in the data grammar (its training split unless it names another), a dataset, or an
            array of samples.
    """
    known = _alignment.geometry_of(geometry)
    return _alignment.align(known, _samples_for(known, data))


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
    known = _alignment.geometry_of(geometry)
    samples = _samples_for(known, data)
    return make_rotation(kind, geometry=known, data=samples, rank=rank, seed=seed)


def _samples_for(geometry: Geometry, data: str | Dataset | np.ndarray) -> Dataset | np.ndarray:
    if not isinstance(data, str):
        return data
    return parse_dataset(data, shape=geometry.shape, split="train")


def distance(
    a: str | Dataset,
    b: str | Dataset,
    *,
    shape: str | tuple[int, ...] | None = None,
    projections: int | None = None,
    seed: Random = 0,
) -> dict[str, float | int | None]:
    """Distances between two sets of samples: random directions, and the worst one found.

    Args:
        a: in the data grammar, or a dataset; but for arrays, the held-out split unless it names
            another, so that nothing is measured against training data.
        b: likewise.
        shape: shape of one sample, where neither tells it.
        projections: random directions, 64 D unless given.
        seed: of directions and permutations: a whole number, a NumPy or a torch generator.

    Returns:
        `sw2`, `standard_error`, `msw2` (random directions), `msw2_optimised`, `msw2_null`,
        `p_value`, `projections`, and `w2_direction`: where one set is rank-one data, W2 of the
        other along its direction against the exact Gaussian.
    """
    first, second = _datasets(a, b, parse_shape(shape) if isinstance(shape, str) else shape)
    x, y = (np.asarray(d.samples).reshape(len(d), -1) for d in (first, second))
    sliced = sliced_wasserstein(x, y, projections=projections, generator=seed)
    known = [d.direction for d in (first, second) if d.direction is not None]
    worst = max_sliced_wasserstein(
        x, y, candidates=np.stack(known) if known else None, generator=seed
    )
    along = None
    if second.direction is not None or first.direction is not None:
        model, truth = (x, second) if second.direction is not None else (y, first)
        std = float(np.sqrt(x.shape[1]))
        along = gaussian_wasserstein(model, np.asarray(truth.direction), std=std)
    return {
        "sw2": sliced.sw2,
        "standard_error": None if np.isnan(sliced.standard_error) else sliced.standard_error,
        "msw2": sliced.msw2,
        "msw2_optimised": worst.msw2,
        "msw2_null": worst.null,
        "p_value": worst.p_value,
        "projections": sliced.projections,
        "w2_direction": along,
    }


def risk(
    trained: str | Path,
    other: str | Path | None = None,
    *,
    data: str | Dataset,
    directions: str | DirectionSet | None = None,
    weights: str | Path | None = None,
    shape: str | tuple[int, ...] | None = None,
    exact: bool = False,
    tolerance: float = 0.02,
    seed: int = 0,
) -> Risk:
    """The error of a trained network by direction and noise level.

    Args:
        trained: a directory that `train` wrote, or a network in the grammar with `weights`.
        other: a second directory; the result is then the second minus the first.
        data: in the data grammar (its held-out split unless it names another) or a dataset.
        directions: in the grammar of directions, or a set of them; bands of frequency by default.
        weights: a safetensors file with the parameters of the network, trained elsewhere.
        shape: shape of one sample, for a network in the grammar.
        exact: whether to refuse data whose optimum is not known.
        tolerance: relative standard error of the total at which to stop.
        seed: of all draws.
    """
    if weights is None:
        family, predict = _trained_predictor(trained)
    else:
        family = network(str(trained), shape=shape)
        member = family.member(0).eval().requires_grad_(False)
        load_weights(member, Path(weights))
        predict = member
    known = (
        parse_dataset(data, shape=family.shape, split="held-out") if isinstance(data, str) else data
    )
    if exact and known.law is None:
        raise InputError(
            f"the optimum of {known.name} is not known, so there is no exact risk: leave out exact "
            "for its held-out loss, or use gaussian:moment=DATA, Gaussian data with its second "
            "moment"
        )
    reference = (
        HeldOut(known.samples.reshape(len(known), -1)) if known.law is None else Optimum(known.law)
    )
    told_apart = (
        parse_directions(directions, shape=family.shape)
        if isinstance(directions, str)
        else directions
    )
    second = None if other is None else _comparable(other, family, trained)
    return measure_risk(
        predict,
        reference,
        family.schedule,
        family.shape,
        other=second,
        directions=told_apart,
        tolerance=tolerance,
        seed=seed,
    )


def _comparable(
    directory: str | Path, family: ScoreFamily, trained: str | Path
) -> Callable[[Tensor, Tensor], Tensor]:
    """A second trained network, of the shape and schedule of the first."""
    second, predict = _trained_predictor(directory)
    if second.shape != family.shape or second.schedule != family.schedule:
        raise InputError(
            f"{trained} and {directory} differ in shape or schedule: their risks are not comparable"
        )
    return predict


def _trained_predictor(
    directory: str | Path,
) -> tuple[ScoreFamily, Callable[[Tensor, Tensor], Tensor]]:
    """A trained network, in the coordinates of the data where it was trained on rotated ones."""
    family, member = load_trained(directory)
    rotation = stored_rotation(Path(directory))
    if rotation is None:
        return family, member
    return family, lambda x, t: rotation.inverse(member(rotation(x), t))


def rank(
    networks: Sequence[Network],
    data: str | Dataset,
    *,
    shape: str | tuple[int, ...] | None = None,
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
    families = [network(source, shape=shape) for source in networks]
    check_families(families)
    size = families[0].shape
    found = parse_dataset(data, shape=size, split="train") if isinstance(data, str) else data
    return rank_families(families, found, probe=_probe(probe, families[0]), **options)


def _datasets(
    a: str | Dataset, b: str | Dataset, shape: tuple[int, ...] | None
) -> tuple[Dataset, Dataset]:
    """Both sets; one that does not tell its shape takes the other's."""
    found: dict[int, Dataset] = {}
    for place, data in sorted(enumerate((a, b)), key=lambda pair: _needs_shape(pair[1])):
        if isinstance(data, Dataset):
            found[place] = data
        else:
            # Arrays are samples as they are; everything else has been trained on in part.
            split = None if data.startswith(("npy:", "npz:")) else "held-out"
            found[place] = parse_dataset(data, shape=shape, split=split)
        shape = shape or found[place].shape
    return found[0], found[1]


def _needs_shape(data: str | Dataset) -> bool:
    return isinstance(data, str) and data.startswith(("rank-one:", "sphere:"))
