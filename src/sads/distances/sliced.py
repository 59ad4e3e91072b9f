"""The sliced 2-Wasserstein distance.

With W2(v) the distance of the projections of x and y on the unit direction v, over L directions,

    SW2 = sqrt(mean_l W2(v_l)^2),        MSW2 = max_l W2(v_l).

The maximum over *random* directions is the paper's MSW2. It is far below the supremum over all
directions, the more so the larger D: see `max_sliced_wasserstein` for that.

The standard error is that of drawing the directions, not that of drawing the samples. With
q_l = W2(v_l)^2, clusters c of directions drawn together (one direction each, or D orthogonal ones)
and S_c = sum_{l in c} (q_l - mean q), the delta method gives

    se(SW2) = se(mean q) / (2 SW2),      se(mean q)^2 = B / (B - 1) * sum_c S_c^2 / L^2

for B clusters; with one direction in each it is the usual variance over L.

Directions are drawn chunk by chunk and forgotten once a pool of threads has projected on them and
sorted. Both steps release the interpreter lock. Meanwhile the product uses one thread,
since threads within threads wait for each other and the bits would depend on their number.
"""

import math
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from ..errors import InputError
from ..randomness import Random, as_generator
from .checks import at_least, direction_norms, sample_pair
from .quantiles import Coupling

CHUNK_BYTES = 2**24  # directions and projections of one chunk; each thread has one, one is waiting
MOST_PROJECTIONS = 10**8
SLICE_VALUES = 2**17  # sorted values whose differences are widened to float64 at once


@dataclass(frozen=True, eq=False)
class SlicedWasserstein:
    """Sliced distances of two samples.

    Attributes:
        sw2: root mean square of W2 over the directions.
        msw2: the largest W2 among these directions.
        values: W2 along each direction.
        standard_error: the standard error of sw2, from the spread over the directions; NaN from a
            single direction (or a single orthogonal set). Given directions are treated as if they
            were drawn at random.
        projections: number of directions L.
    """

    sw2: float
    msw2: float
    values: Float[np.ndarray, " L"]
    standard_error: float
    projections: int


def sliced_wasserstein(
    x: Float[np.ndarray, "N D"],
    y: Float[np.ndarray, "M D"],
    *,
    projections: int | None = None,
    directions: Float[np.ndarray, "L D"] | None = None,
    orthogonal: bool = False,
    generator: Random = 0,
    chunk: int | None = None,
    threads: int | None = None,
) -> SlicedWasserstein:
    """The sliced Wasserstein distance of two samples, of equal size or not.

    Projections are computed in float32 if both samples are; squares add up in float64.

    Args:
        projections: number of random directions; 64 D if not given.
        directions: use these (scaled to unit length) instead of random ones.
        orthogonal: draw random directions in orthonormal sets of D.
        generator: a seed, or a NumPy or torch generator, for the random directions.
        chunk: directions projected at once; by default what fits 16 MB. The directions are the
            same for every chunk, the distances equal up to rounding.
        threads: by default the cores this process may use. The result is the same to the bit.

    >>> x = np.arange(12.0).reshape(4, 3)
    >>> round(sliced_wasserstein(x, x + [0, 0, 2], directions=np.eye(3)).sw2 ** 2, 6)
    1.333333
    """
    x, y = sample_pair(x, y)
    chunk = _chunk_size(x, y) if chunk is None else at_least("chunk", chunk, 1)
    threads = _cores() if threads is None else at_least("threads", threads, 1)
    size = x.shape[1]
    if directions is not None:
        if projections is not None or orthogonal:
            raise InputError("give either directions or projections and orthogonal, not both")
        blocks = _given_blocks(np.asarray(directions), size, chunk)
    else:
        count = at_least("projections", 64 * size if projections is None else projections, 1)
        if count > MOST_PROJECTIONS:
            raise InputError(
                f"at most {MOST_PROJECTIONS:,} projections, whose values fit in memory, got "
                f"{count:.3g}: 64 for each dimension ({64 * size:,}) are the paper's"
            )
        draw = _orthogonal_blocks if orthogonal else _random_blocks
        blocks = draw(
            as_generator(generator, "projections of a sliced distance"), count, size, chunk
        )
    squares = _squares(x, y, blocks, threads)
    sw2 = math.sqrt(squares.mean())
    return SlicedWasserstein(
        sw2=sw2,
        msw2=math.sqrt(squares.max()),
        values=np.sqrt(squares),
        standard_error=_standard_error(squares, sw2, cluster=size if orthogonal else 1),
        projections=len(squares),
    )


def _chunk_size(x: np.ndarray, y: np.ndarray) -> int:
    """How many directions, drawn in float64, and their projections fit in CHUNK_BYTES."""
    each = x.itemsize * (len(x) + len(y)) + (8 + x.itemsize) * x.shape[1]
    return max(1, CHUNK_BYTES // each)


def _cores() -> int:
    """The cores this process may use, or as many as OMP_NUM_THREADS allows."""
    if os.environ.get("OMP_NUM_THREADS", "").isdecimal():
        return max(1, int(os.environ["OMP_NUM_THREADS"]))
    if hasattr(os, "sched_getaffinity"):  # missing on some systems
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cut(rows: Float[np.ndarray, "L D"], chunk: int) -> Iterator[Float[np.ndarray, "_ D"]]:
    for start in range(0, len(rows), chunk):
        yield rows[start : start + chunk]


def _given_blocks(
    directions: Float[np.ndarray, "L D"], size: int, chunk: int
) -> Iterator[Float[np.ndarray, "_ D"]]:
    """Given directions at unit length, checked as a whole before the first is used."""
    norms = direction_norms("directions", directions, size)
    for rows, lengths in zip(_cut(directions, chunk), _cut(norms, chunk), strict=True):
        yield rows / lengths


def _random_blocks(
    generator: np.random.Generator, count: int, size: int, chunk: int
) -> Iterator[Float[np.ndarray, "_ D"]]:
    """Uniform unit directions. The generator's stream is the same however it is cut."""
    for start in range(0, count, chunk):
        rows = generator.standard_normal((min(chunk, count - start), size))
        yield rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _orthogonal_blocks(
    generator: np.random.Generator, count: int, size: int, chunk: int
) -> Iterator[Float[np.ndarray, "_ D"]]:
    """Uniform unit directions, orthonormal within each set of D (the last set may be smaller)."""
    for start in range(0, count, size):
        gaussian = generator.standard_normal((min(size, count - start), size))
        # QR chooses the signs by convention; W2 along v and -v is the same.
        yield from _cut(np.linalg.qr(gaussian.T)[0].T, chunk)


def _squares(
    x: Float[np.ndarray, "N D"],
    y: Float[np.ndarray, "M D"],
    blocks: Iterator[Float[np.ndarray, "_ D"]],
    threads: int,
) -> Float[np.ndarray, " L"]:
    """W2^2 along each direction, in order."""
    coupling = Coupling.of_sizes(len(x), len(y))
    rows = max(1, SLICE_VALUES // (len(x) + len(y)))

    def work(block: np.ndarray) -> np.ndarray:
        block = block.astype(x.dtype, copy=False)
        p, q = block @ x.T, block @ y.T  # (directions, samples): what is sorted is contiguous
        p.sort(axis=1)
        q.sort(axis=1)
        pairs = zip(_cut(p, rows), _cut(q, rows), strict=True)
        return np.concatenate([coupling.squared(*pair) for pair in pairs])

    done: list[np.ndarray] = []
    pending: deque[Future[np.ndarray]] = deque()
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        for block in blocks:
            pending.append(pool.submit(work, block))
            if len(pending) > threads:
                done.append(pending.popleft().result())
        done += [task.result() for task in pending]
    return np.concatenate(done)


def _standard_error(squares: Float[np.ndarray, " L"], sw2: float, cluster: int) -> float:
    """The standard error of sw2, with consecutive directions drawn in clusters."""
    starts = np.arange(0, len(squares), cluster)
    if len(starts) < 2:
        return math.nan
    if sw2 == 0:
        return 0.0
    sums = np.add.reduceat(squares - squares.mean(), starts)
    variance = len(starts) / (len(starts) - 1) * float(sums @ sums) / len(squares) ** 2
    return math.sqrt(variance) / (2 * sw2)
