"""An invertible linear map of samples, in memory and on disk: a rotation, or a whitening.

On disk it is one safetensors file: the matrix with a header under one checksum. The inverse of
a rotation is its transpose; a whitening changes lengths, so its inverse is stored beside it.
"""

import math
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from pydantic import BaseModel
from torch import Tensor, nn

from ..errors import ArtefactError, InputError
from ..foundation.choices import RotationKind
from ..geometry import Geometry
from ..inspection.zero_outputs import is_named
from ..networks import ScoreFamily
from ..storage.files import checksum, writing
from ..storage.sealed import check_shape, expect, parse_json, read_sealed, sensible, write_sealed

FILE = "rotation.safetensors"
FORMAT, UNSEALED = "sads.rotation/2", "sads.rotation/1"
LONGER = 1e-3  # how far the length of a row of a rotation may be from one


class Origin(BaseModel, frozen=True, extra="forbid"):
    """Where a rotation comes from.

    Attributes:
        kind: `min`, `max`, `random`, `identity` or `whiten`.
        shape: shape of one sample.
        rank: leading data directions that are placed; None for all.
        seed: the seed of a random rotation.
        data: name of the data.
        network: the network of the geometry; None for `random` and `identity`.
        fingerprint: the fingerprint of the family of that network, as in the plan of the geometry.
        redrawn: layers that were redrawn for the geometry.
        geometry: checksum of the geometry.
        alpha: alpha of the rotated data, if a geometry is known.
        alpha_before: alpha of the data as it is.
        repeated: directions of G and of the data whose eigenvalues repeat, so that another choice
            would have been as good.
    """

    kind: RotationKind
    shape: tuple[int, ...]
    rank: int | None = None
    seed: int | None = None
    data: str | None = None
    network: str | None = None
    fingerprint: str | None = None
    redrawn: tuple[str, ...] = ()
    geometry: str | None = None
    alpha: float | None = None
    alpha_before: float | None = None
    repeated: tuple[int, int] = (0, 0)

    def suits(self, family: ScoreFamily) -> bool:
        """Whether it was made with a geometry of this family, or without a geometry."""
        return self.fingerprint is None or is_named(family, self.fingerprint, self.redrawn)


class Rotation(nn.Module):
    """An orthogonal map of samples: `forward` into the space of training, `inverse` back.

    Args:
        matrix: W, orthogonal (D, D) unless `back` is given.
        origin: where it comes from.
        back: the inverse of a W that changes lengths.

    >>> import sads, torch
    >>> geometry = sads.estimate_geometry("cnn", shape="1x4x4", networks=24)
    >>> rotation = sads.rotate(geometry, "digits,size=4", "random")
    >>> x = torch.ones(2, 1, 4, 4)
    >>> torch.allclose(rotation.inverse(rotation(x)), x, atol=1e-5)
    True
    """

    matrix: Float[Tensor, "D D"]
    back: Float[Tensor, "D D"] | None

    def __init__(
        self,
        matrix: Float[Tensor, "D D"],
        origin: Origin,
        back: Float[Tensor, "D D"] | None = None,
    ):
        super().__init__()
        self.register_buffer("matrix", matrix)
        self.register_buffer("back", back)
        self.origin = origin

    @property
    def keeps_noise(self) -> bool:
        """Whether white noise stays white noise, so that predicted noise can be rotated back."""
        return self.back is None

    def made_for(self, geometry: Geometry) -> bool:
        """Whether it was made with this geometry, or without a geometry."""
        return self.origin.geometry in (None, geometry_digest(geometry))

    @property
    def alpha(self) -> float | None:
        """E[z^T G z] of the rotated data (equation 6), if a geometry is known."""
        return self.origin.alpha

    @property
    def error(self) -> float:
        """Largest entry of |W^-1 W - I|, in float64, with W^-1 as it is used."""
        matrix = self.matrix.double()
        product = (matrix.T if self.back is None else self.back.double()) @ matrix
        product.diagonal().sub_(1.0)
        return product.abs().max().item()

    def forward(self, x: Float[Tensor, "N ..."]) -> Float[Tensor, "N ..."]:
        """The rotated samples, z = W x."""
        return self._multiply(x, self.matrix.T)

    def inverse(self, z: Float[Tensor, "N ..."]) -> Float[Tensor, "N ..."]:
        """The samples in their own space, x = W^-1 z."""
        return self._multiply(z, self.matrix if self.back is None else self.back.T)

    @property
    def digest(self) -> str:
        """A short name for the matrix."""
        return checksum({"matrix": self.matrix.detach().cpu().contiguous().numpy()})[:16]

    def save(self, directory: str | Path) -> None:
        """Write `rotation.safetensors` into a directory, atomically."""
        with writing(Path(directory)):
            write_rotation(Path(directory), self)

    def _multiply(self, x: Tensor, matrix: Tensor) -> Tensor:
        if tuple(x.shape[1:]) != self.origin.shape:
            raise InputError(
                f"the rotation takes samples of shape {self.origin.shape}, got {tuple(x.shape[1:])}"
            )
        return (x.flatten(1) @ matrix.to(x)).reshape(x.shape)


def geometry_digest(geometry: Geometry) -> str:
    """A short digest that distinguishes an estimate from others of the same network."""
    return checksum({"factor": np.ascontiguousarray(geometry.factor)})[:16]


def write_rotation(directory: Path, rotation: Rotation) -> None:
    """Write into a directory that this process already holds (`storage.writing`)."""
    tensors = {"matrix": rotation.matrix.detach().cpu().contiguous()}
    if rotation.back is not None:
        tensors["back"] = rotation.back.detach().cpu().contiguous()
    # Trials identify a rotation by this text, so it mentions redrawn layers only if there are any.
    aside = None if rotation.origin.redrawn else {"redrawn"}
    header = {"origin": rotation.origin.model_dump_json(exclude=aside)}
    write_sealed(directory / FILE, FORMAT, header, tensors, framework="pt")


def load_rotation(directory: str | Path) -> Rotation:
    """Load a rotation that `sads rotate` or `Rotation.save` wrote.

    Raises:
        ArtefactError: if there is none, or it is truncated, foreign or corrupt.

    >>> import sads, tempfile
    >>> geometry = sads.estimate_geometry("cnn", shape="1x4x4", networks=24)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     sads.rotate(geometry, "digits,size=4", "min").save(directory)
    ...     sads.load_rotation(directory).origin.kind
    'min'
    """
    path = Path(directory) / FILE
    if not path.is_file():
        raise ArtefactError(f"no rotation in {directory}: expected {FILE} (sads rotate makes one)")
    stored = read_sealed(path, FORMAT, unsealed=UNSEALED, framework="pt")
    with sensible(path):
        origin = Origin.model_validate(parse_json(stored.metadata["origin"]))
        matrix, back = stored.tensors["matrix"], stored.tensors.get("back")
        _check(origin, matrix, back)
    return Rotation(matrix, origin, back)


def _check(origin: Origin, matrix: Tensor, back: Tensor | None) -> None:
    size = check_shape(origin.shape)
    floating = matrix.dtype in (torch.float32, torch.float64)
    expect(matrix.shape == (size, size) and floating, f"a matrix of {size} x {size} floats")
    expect(
        (back is None) == (origin.kind != "whiten"), "an inverse with a whitening, and only there"
    )
    if back is None:
        lengths = matrix.double().norm(dim=1)
        expect(bool(((lengths - 1).abs() <= LONGER).all()), "an orthogonal matrix")
    else:
        expect(back.shape == matrix.shape and back.dtype == matrix.dtype, "an inverse of its size")
        diagonal = (back.double() * matrix.double().T).sum(dim=1)
        expect(bool(((diagonal - 1).abs() <= LONGER).all()), "a matrix and its inverse")
    expect(origin.rank is None or 1 <= origin.rank <= size, f"a rank of 1 to {size}")
    expect(origin.seed is None or origin.seed >= 0, "a seed from 0 on")
    expect(min(origin.repeated) >= 0, "numbers of repeated directions from 0 on")
    for alpha in (origin.alpha, origin.alpha_before):
        expect(alpha is None or math.isfinite(alpha), "a finite alpha")
