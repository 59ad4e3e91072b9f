"""A monitor's sums on the device of the predictions, and over all processes of a training."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ..directions.sets import DirectionSet
from ..errors import InputError
from .projections import Energies
from .training_record import TrainingRecord, Window

TOGETHER = 2**22  # entries of residuals that are projected at once

Taken = tuple[
    Float[np.ndarray, "B k"],
    Float[np.ndarray, "B k"],
    Float[np.ndarray, "B k"],
    Float[np.ndarray, " B"],
]


class Sums:
    """Sums over samples, by bin of noise levels and group of directions.

    Args:
        directions: the directions that are told apart.
        edges: the edges of the bins.
        device: where the predictions are.
    """

    def __init__(
        self, directions: DirectionSet, edges: Float[np.ndarray, " B1"], device: torch.device
    ):
        self.device: torch.device = device
        self._energies = Energies(directions, device)
        self._dtype = self._energies.dtype
        self._inner = torch.from_numpy(edges[1:-1]).to(device, self._dtype)
        self._bins, self._groups = len(edges) - 1, len(directions.widths)
        self._clear()

    def _clear(self) -> None:
        size = (3, self._bins, self._groups)  # of residuals, of targets, of squared differences
        self._sums = torch.zeros(size, device=self.device, dtype=self._dtype)
        self._count = torch.zeros(self._bins, device=self.device, dtype=self._dtype)
        self._skipped = torch.zeros((), device=self.device, dtype=self._dtype)

    @torch.no_grad()
    def add(self, prediction: Tensor, target: Tensor, t: Tensor) -> None:
        """Add samples; those with values that are not finite are left out and counted."""
        times = t.detach().reshape(-1).to(self.device, self._dtype)
        times = times.expand(len(prediction)).contiguous()
        rows = max(1, TOGETHER // self._energies.size)
        for start in range(0, len(prediction), rows):
            part = slice(start, start + rows)
            wanted = target[part].to(self.device, self._dtype)
            residual = prediction[part].to(self._dtype) - wanted
            left, whole = (self._energies(x.flatten(1)) for x in (residual, wanted))
            usable = left.isfinite().all(dim=1) & times[part].isfinite()
            bins = torch.bucketize(times[part], self._inner, right=True)
            for total, values in zip(self._sums, (left, whole, (whole - left) ** 2), strict=True):
                total.index_add_(0, bins, torch.where(usable[:, None], values, 0.0))
            self._count.index_add_(0, bins, usable.to(self._dtype))
            self._skipped += (~usable).sum()

    def taken(self, *, distributed: bool) -> tuple[Taken, int]:
        """The sums since the last call, on the host, and how many samples were left out."""
        parts = (self._sums, self._count, self._skipped)
        if distributed:
            for part in parts:
                torch.distributed.all_reduce(part)
        sums, count, skipped = (part.double().cpu().numpy() for part in parts)
        self._clear()
        return (*sums, count), int(skipped)


def added_up(record: TrainingRecord) -> TrainingRecord:
    """The records of all processes of `torch.distributed`, added up window by window.

    Raises:
        InputError: if there are no such processes, or they have seen different numbers of updates.
    """
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        raise InputError("there are no processes to add up: start torch.distributed first")
    spans = [(window.first, window.end) for window in record.windows]
    others: list[list[tuple[int, int]]] = [[]] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(others, spans)
    if any(other != spans for other in others):
        raise InputError(
            "the processes have seen different numbers of updates: reduce after the same one"
        )
    names = ("energy", "target", "squares", "count")
    windows = [
        Window(window.first, window.end, *(_over_all(getattr(window, name)) for name in names))
        for window in record.windows
    ]
    skipped = int(_over_all(np.array([float(record.skipped)]))[0])
    return replace(record, windows=tuple(windows), skipped=skipped)


def _over_all(values: np.ndarray) -> np.ndarray:
    """The sum over all processes; nccl adds up on GPUs only."""
    device = "cuda" if torch.distributed.get_backend() == "nccl" else "cpu"
    tensor = torch.from_numpy(values.copy()).to(device)
    torch.distributed.all_reduce(tensor)
    return tensor.cpu().numpy()
