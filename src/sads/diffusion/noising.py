"""The forward process on torch tensors: x_t = a_t x_0 + b_t eps, and what is to be predicted."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ..path import DiffusionPath, Prediction, Schedule


@dataclass(frozen=True, eq=False)
class Noising:
    """The tables of a path and of a prediction, in one precision and on one device.

    Attributes:
        signal: a_t.
        noise: b_t.
        clean: p_t, if the prediction is p_t x_0 + q_t eps; None for noise itself.
        mixed: q_t, likewise.
    """

    signal: Float[Tensor, " T"]
    noise: Float[Tensor, " T"]
    clean: Float[Tensor, " T"] | None = None
    mixed: Float[Tensor, " T"] | None = None

    @classmethod
    def of(
        cls,
        path: DiffusionPath,
        prediction: Prediction | None = None,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> "Noising":
        """The tables; without a prediction they are those for predicting noise."""
        if isinstance(path, Schedule):  # abar is rounded first, so that results keep their bits
            level = torch.from_numpy(path.abar).to(device, dtype)
            signal, noise = level.sqrt(), (1 - level).sqrt()
        else:
            signal, noise = (
                torch.from_numpy(table).to(device, dtype) for table in (path.signal, path.noise)
            )
        if prediction is None or prediction.name == "eps":
            return cls(signal, noise)
        clean, mixed = (torch.from_numpy(t).to(device, dtype) for t in prediction.mix(path))
        return cls(signal, noise, clean, mixed)

    @property
    def steps(self) -> int:
        """The number of levels."""
        return len(self.signal)

    def noisy(
        self, x: Float[Tensor, "N ..."], eps: Float[Tensor, "N ..."], t: Int[Tensor, " N"]
    ) -> Float[Tensor, "N ..."]:
        """Noisy samples at levels t."""
        return _at(self.signal, t, x) * x + _at(self.noise, t, x) * eps

    def target(
        self, x: Float[Tensor, "N ..."], eps: Float[Tensor, "N ..."], t: Int[Tensor, " N"]
    ) -> Float[Tensor, "N ..."]:
        """The quantity to predict at the noisy samples."""
        if self.clean is None or self.mixed is None:
            return eps
        return _at(self.clean, t, x) * x + _at(self.mixed, t, x) * eps


def _at(table: Float[Tensor, " T"], t: Int[Tensor, " N"], x: Tensor) -> Tensor:
    return table[t].view(-1, *(1,) * (x.ndim - 1))
