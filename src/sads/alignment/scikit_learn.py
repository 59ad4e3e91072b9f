"""A rotation for scikit-learn pipelines."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from sklearn.utils.validation import check_is_fitted

from ..geometry import Geometry
from .make_rotation import make_rotation
from .rotation import Rotation

if TYPE_CHECKING:  # scikit-learn has no types

    class _Transformer:
        def fit_transform(self, X: np.ndarray, y: object = None) -> np.ndarray: ...  # noqa: N803
else:
    from sklearn.base import BaseEstimator, TransformerMixin

    class _Transformer(TransformerMixin, BaseEstimator):
        """The methods that scikit-learn expects of a step of its pipelines."""


class RotationTransformer(_Transformer):
    """Fits a rotation of flattened samples with respect to a geometry.

    Args:
        geometry: the geometry of the network that will learn the rotated data.
        kind: `min`, `max`, `random`, `identity` or `whiten`.
        rank: leading data directions that move; all unless given.
        seed: the seed of a random rotation.

    >>> import numpy as np, sads
    >>> geometry = sads.estimate_geometry("cnn", shape="1x4x4", networks=24)
    >>> samples = np.random.default_rng(0).standard_normal((50, 16))
    >>> sads.RotationTransformer(geometry).fit_transform(samples).shape
    (50, 16)
    """

    rotation_: Rotation

    def __init__(
        self, geometry: Geometry, *, kind: str = "min", rank: int | None = None, seed: int = 0
    ):
        self.geometry = geometry
        self.kind = kind
        self.rank = rank
        self.seed = seed

    def fit(self, X: Float[np.ndarray, "N D"], y: object = None) -> "RotationTransformer":  # noqa: N803
        """Find the rotation for samples, one a row."""
        self.rotation_ = make_rotation(
            self.kind,
            geometry=self.geometry,
            data=self._samples(X),
            rank=self.rank,
            seed=self.seed,
        )
        return self

    def transform(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:  # noqa: N803
        """Rotate samples."""
        check_is_fitted(self)
        turned = self.rotation_(torch.from_numpy(self._samples(X)))
        return turned.flatten(1).numpy()

    def inverse_transform(
        self,
        X: Float[np.ndarray, "N D"],  # noqa: N803
    ) -> Float[np.ndarray, "N D"]:
        """Return rotated samples to their own space."""
        check_is_fitted(self)
        turned = self.rotation_.inverse(torch.from_numpy(self._samples(X)))
        return turned.flatten(1).numpy()

    def _samples(self, rows: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N ..."]:
        """Rows as samples of the geometry's shape; a wrong number of columns is refused there."""
        rows = np.asarray(rows)
        if rows.ndim == 2 and rows.shape[1] == self.geometry.structure.size:
            return rows.reshape(-1, *self.geometry.shape)
        return rows
