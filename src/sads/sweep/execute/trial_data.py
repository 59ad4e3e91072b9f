"""The data of a trial, drawn by its seed and cut to its protocol."""

from typing import TYPE_CHECKING

from ...randomness import stream
from ..describe.trial import Trial

if TYPE_CHECKING:
    from ...data import Dataset


def is_synthetic(trial: Trial) -> bool:
    """Whether there are as many samples as one asks for."""
    from ...specs.synthetic import SYNTHETIC

    return trial.data.startswith(tuple(f"{kind}:" for kind in SYNTHETIC))


def dataset(trial: Trial, shape: tuple[int, ...], split: str, most: int | None) -> "Dataset":
    """The data of a trial: drawn by its seed, or at most so many samples of a finite set."""
    from ...data import Dataset
    from ...specs import parse_dataset

    if is_synthetic(trial):
        count = "" if most is None else f",count={most}"
        return parse_dataset(f"{trial.data},seed={trial.seed}{count}", shape=shape, split=split)
    whole = parse_dataset(trial.data, shape=shape, split=split)
    if most is None or len(whole) <= most:
        return whole
    rows = stream(trial.seed, "samples of a trial").permutation(len(whole))[:most]
    return Dataset(whole.samples[rows], whole.name)
