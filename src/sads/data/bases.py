"""Orthonormal bases of the space of samples: canonical, DCT, DST, Hadamard and Haar.

A sample has a shape (C, H, W), (C, L) or (L,), and D entries. Every basis has one element for each
entry of a *coefficient array* of the same shape: the coefficient at channel c and place p stands
for the element that is zero outside channel c and equals the inverse transform of a unit impulse at
p inside it. Element i is the i-th entry of this array in row-major order, channel first, so a list
of D results, one for each element, becomes the picture of figure 2 by `reshape(shape)`. Places are

- `canonical`: the position itself;
- `dct`, `dst` (type II): vertical and horizontal frequency. DST starts at half a cycle, not zero;
- `hadamard`: vertical and horizontal sequency, the number of sign changes;
- `haar`: the nested layout of wavelets: the mean in the top left corner, around it the details of
  each scale, coarse to fine; vertical details below, horizontal to the right, diagonal between.

DCT, DST and the canonical basis exist for every size, Hadamard and Haar for powers of two.
"""

import math
from collections.abc import Callable

import numpy as np
import pywt
from jaxtyping import Float, Int
from scipy.fft import idctn, idstn
from scipy.linalg import hadamard

from ..errors import InputError

Inverse = Callable[[np.ndarray, tuple[int, ...]], np.ndarray]


def basis(name: str, shape: tuple[int, ...]) -> Float[np.ndarray, "D D"]:
    """All elements as orthonormal columns; at large D prefer `element`.

    >>> basis("haar", (2,)).round(3).tolist()
    [[0.707, 0.707], [0.707, -0.707]]
    """
    inverse, channels, space = _checked(name, shape)
    places = math.prod(space)
    impulses = np.eye(places).reshape(places, *space)
    rows = inverse(impulses, tuple(range(1, impulses.ndim))).reshape(places, places)
    return np.kron(np.eye(channels), rows.T)


def element(name: str, shape: tuple[int, ...], index: int) -> Float[np.ndarray, " D"]:
    """One element, a unit vector, without the other D - 1."""
    inverse, channels, space = _checked(name, shape)
    size = math.prod(shape)
    if not 0 <= index < size:
        raise InputError(
            f"index {index} is outside the {name} basis of {'x'.join(map(str, shape))}: "
            f"choose 0 to {size - 1}"
        )
    impulse = np.zeros((channels, *space))
    impulse.reshape(-1)[index] = 1.0
    return inverse(impulse, tuple(range(1, impulse.ndim))).reshape(size)


def layout(shape: tuple[int, ...]) -> Int[np.ndarray, "D n"]:
    """Channel (where the shape has one), row and column of each index in the picture of a basis.

    >>> layout((1, 2, 2)).tolist()
    [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1]]
    """
    return np.indices(shape).reshape(len(shape), -1).T


def centred(quarter: Float[np.ndarray, "*channels H W"]) -> Float[np.ndarray, "*channels h w"]:
    """The picture of a frequency basis as figure 2 shows it: index (0, 0) in the centre.

    Frequencies k and -k belong to one element (up to its sign), so the quarter plane of size H x W
    is mirrored to the left and the top without repeating row and column 0: (2 H - 1) x (2 W - 1).

    >>> centred(np.array([[0.0, 1.0], [2.0, 3.0]])).astype(int).tolist()
    [[3, 2, 3], [1, 0, 1], [3, 2, 3]]
    """
    height, width = quarter.shape[-2:]
    rows = np.abs(np.arange(1 - height, height))
    columns = np.abs(np.arange(1 - width, width))
    return quarter[..., rows[:, None], columns]


def sequency_matrix(size: int) -> Float[np.ndarray, "n n"]:
    """The orthonormal Hadamard matrix whose row k changes sign k times; it is symmetric.

    >>> np.sign(sequency_matrix(4)).astype(int).tolist()
    [[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, -1, 1], [1, -1, 1, -1]]
    """
    rows = hadamard(size)
    changes = (rows[:, 1:] != rows[:, :-1]).sum(axis=1)
    return rows[np.argsort(changes)] / math.sqrt(size)


def _canonical(coefficients: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return coefficients


def _dct(coefficients: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return np.asarray(idctn(coefficients, type=2, axes=axes, norm="ortho"))


def _dst(coefficients: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return np.asarray(idstn(coefficients, type=2, axes=axes, norm="ortho"))


def _hadamard(coefficients: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    values = coefficients
    for axis in axes:
        matrix = sequency_matrix(values.shape[axis])
        values = np.moveaxis(np.moveaxis(values, axis, -1) @ matrix, -1, axis)
    return values


def _haar(coefficients: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """The inverse of the full decomposition.

    All axes are halved together until the shortest has one entry; the corner that is left is
    decomposed along the other axes, so that the first element is constant for rectangles too.
    """
    axes = tuple(axis for axis in axes if coefficients.shape[axis] > 1)
    if not axes:
        return coefficients
    levels = min(coefficients.shape[axis] for axis in axes).bit_length() - 1
    corner = tuple(
        slice(n >> levels if axis in axes else n) for axis, n in enumerate(coefficients.shape)
    )
    values = coefficients.copy()
    values[corner] = _haar(values[corner], axes)
    places = pywt.wavedecn(values, "haar", mode="periodization", level=levels, axes=axes)
    _, slices = pywt.coeffs_to_array(places, axes=axes)
    parts = pywt.array_to_coeffs(values, slices, output_format="wavedecn")
    return np.asarray(pywt.waverecn(parts, "haar", mode="periodization", axes=axes))


_INVERSES: dict[str, Inverse] = {
    "canonical": _canonical,
    "dct": _dct,
    "dst": _dst,
    "hadamard": _hadamard,
    "haar": _haar,
}
BASES = tuple(_INVERSES)
_POWERS_OF_TWO = ("hadamard", "haar")


def _checked(name: str, shape: tuple[int, ...]) -> tuple[Inverse, int, tuple[int, ...]]:
    """The inverse transform, the channels and the shape of one channel."""
    if name not in _INVERSES:
        raise InputError(f"unknown basis {name!r}: choose {', '.join(BASES)}")
    if not 1 <= len(shape) <= 3 or min(shape) < 1:
        raise InputError(f"a basis needs a shape of 1 to 3 positive sizes, got {shape}")
    channels, space = (shape[0], shape[1:]) if len(shape) > 1 else (1, shape)
    odd = [n for n in space if n & (n - 1)]
    if name in _POWERS_OF_TWO and odd:
        raise InputError(
            f"the {name} basis needs sizes that are powers of two, got {odd[0]}: use dct or dst"
        )
    return _INVERSES[name], channels, space
