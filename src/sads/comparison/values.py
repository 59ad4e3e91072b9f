"""What a comparison of two geometries says, in numbers."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from ..foundation.data_frames import as_frame

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class BandDifference:
    """Indices `first` to `last`, inclusive, of the pooled geometry in descending order.

    Attributes:
        ratio: mean eigenvalue of the second geometry over that of the first; None where one of
            them is zero.
        relative_ratio: the ratio over the common factor; None likewise.
        relative_low: lower end of its interval at this level, for all bands together.
        relative_high: upper end; 1 lies between them unless `ratio_p_value` is at most the level.
        ratio_p_value: the p-value of the hypothesis that the ratio is the common factor, corrected
            for the number of bands and for testing ratio and rotation.
        rotation: whitened size, for each direction, of what else differs in these directions.
        rotation_p_value: the p-value of the hypothesis that nothing else differs, corrected
            likewise.
        different: whether the band stands out: either p-value is at or below the level.

    >>> import sads
    >>> one, other = (sads.estimate_geometry(n, shape="1x4x4", networks=24) for n in ("cnn", "mlp"))
    >>> band = sads.compare(one, other).bands[0]
    >>> band.first, band.different
    (0, True)
    """

    first: int
    last: int
    ratio: float | None
    ratio_error: float | None
    ratio_p_value: float
    rotation: float
    rotation_error: float
    rotation_p_value: float
    different: bool
    relative_ratio: float | None
    relative_low: float | None
    relative_high: float | None


@dataclass(frozen=True)
class Comparison:
    """The second geometry against the first.

    Attributes:
        different: whether they differ at this level; in shape, if the scale is ignored.
        p_value: the p-value of the hypothesis that the two are equal.
        distance: |M^{-1/2} (B - A) M^{-1/2}|_F / sqrt(rank), M = (A + B) / 2, without the
            contribution of the noise to its square, and never below 0.
        scale: common factor of most directions of the second relative to the first.
        scale_p_value: the p-value of the hypothesis that it is one.
        scale_low: lower end of its interval at this level.
        scale_high: upper end; 1 lies between them unless the p-value is at most the level.
        scale_different: whether it differs from one at this level.
        shape_distance: the distance without the mean of the whitened difference.
        shape_p_value: the p-value of the hypothesis that the two are equal up to a factor.
        shape_different: whether they differ beyond a factor at this level.
        whitened_errors: the whitened errors of the two geometries.
        bands: how each band differs, apart from the common factor.
        notes: other things that a reader must know, in words.

    >>> import sads
    >>> one, other = (sads.estimate_geometry(n, shape="1x4x4", networks=24) for n in ("cnn", "mlp"))
    >>> comparison = sads.compare(one, other)
    >>> comparison.scale_low < comparison.scale < comparison.scale_high
    True
    """

    different: bool
    level: float
    ignore_scale: bool
    p_value: float
    distance: float
    distance_error: float
    scale: float
    scale_error: float
    scale_p_value: float
    scale_low: float
    scale_high: float
    scale_different: bool
    shape_distance: float
    shape_distance_error: float
    shape_p_value: float
    shape_different: bool
    whitened_errors: tuple[float, float]
    bands: tuple[BandDifference, ...]
    notes: tuple[str, ...]

    def to_frame(self) -> "pandas.DataFrame":
        """A table with a row for each band; needs pandas."""
        return as_frame(map(asdict, self.bands))
