"""The network and the data of a trial, as its seed and its protocol determine them."""

from typing import TYPE_CHECKING

from ...randomness import stream
from ...specs import parse_shape
from ..describe.trial import Trial

if TYPE_CHECKING:
    from ...data import Dataset
    from ...networks import ScoreFamily


def family_of(trial: Trial) -> "ScoreFamily":
    """The family of the network of a trial."""
    return trial.network.family(None if trial.shape is None else parse_shape(trial.shape))


def dataset(trial: Trial, shape: tuple[int, ...], split: str, most: int | None) -> "Dataset":
    """The data of a trial: drawn by its seed, or at most `most` samples of a finite set."""
    from ...data import Dataset

    if trial.data.synthetic:
        return trial.data.dataset(shape, split, count=most, seed=trial.seed)
    whole = trial.data.dataset(shape, split)
    if most is None or len(whole) <= most:
        return whole
    rows = stream(trial.seed, "samples of a trial").permutation(len(whole))[:most]
    return Dataset(whole.samples[rows], whole.name)
