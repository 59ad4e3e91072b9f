"""How data lies in a geometry, and how two sets of data differ."""

from pathlib import Path

from .. import alignment as _alignment
from ..alignment import Alignment, Rotation
from ..distances import Distance, measure_distance
from ..foundation.choices import RotationKind
from ..geometry import Geometry
from ..randomness import Random
from ..specs.coercion import Data, Shape, as_dataset, as_dataset_pair, as_geometry, as_shape


def align(geometry: str | Path | Geometry, data: Data) -> Alignment:
    """How data lies in a geometry: alpha, and where it lies between its extremes over rotations.

    Args:
        geometry: a geometry or its directory.
        data: in the data grammar (its training split unless it names another), a dataset, or an
            array of samples.

    >>> import sads
    >>> geometry = sads.estimate_geometry("cnn", shape="1x8x8", networks=24)
    >>> sads.align(geometry, "digits").relative > 1  # on large eigenvalues
    True
    """
    known = as_geometry(geometry)
    return _alignment.align(known, as_dataset(data, shape=known.shape, split="train"))


def rotate(
    geometry: str | Path | Geometry,
    data: Data,
    kind: RotationKind,
    *,
    rank: int | None = None,
    seed: Random = 0,
) -> Rotation:
    """A rotation of data with respect to a geometry.

    Args:
        geometry: a geometry or its directory.
        data: as in `align`.
        kind: `min`, `max`, `random`, `identity` or `whiten`.
        rank: how many leading data directions move; all unless given.
        seed: the seed of a random rotation, or a generator that gives one.

    >>> import sads
    >>> geometry = sads.estimate_geometry("cnn", shape="1x8x8", networks=24)
    >>> sads.rotate(geometry, "digits,size=8", "min", rank=4).origin.rank
    4
    """
    known = as_geometry(geometry)
    dataset = as_dataset(data, shape=known.shape, split="train")
    return _alignment.make_rotation(kind, geometry=known, data=dataset, rank=rank, seed=seed)


def distance(
    a: Data,
    b: Data,
    *,
    shape: Shape | None = None,
    projections: int | None = None,
    seed: Random = 0,
) -> Distance:
    """Distances between two sets of samples: over random directions, and in the worst one.

    Args:
        a: an array of samples, a dataset, or data in the grammar: its held-out split unless it
            names another, so that nothing is measured against training data.
        b: the samples to compare them with, given in the same ways.
        shape: shape of one sample, if neither set has one of its own.
        projections: random directions, 64 D unless given.
        seed: the seed of directions and permutations: a whole number, a NumPy or a torch
            generator.

    >>> import sads
    >>> halves = "digits,split=train", "digits,split=held-out"
    >>> sads.distance(*halves, projections=64).p_value > 0.01
    True
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
