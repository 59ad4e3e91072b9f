"""Batches of an estimate from the workers of an engine.

The moments of batches travel as text: the lower triangle of each in base 64, since they are
symmetric. The driver adds them up in the order of their numbers, so that the sums are the same bits
with any number of workers, in whatever order they answer and however many of them die.
"""

import base64
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from ..errors import InputError
from ..execution.engines import Engine
from ..execution.threads import limited_threads
from ..geometry.batch_workers import BatchWorkers, Moment, batches_until
from ..geometry.running_sums import State
from ..geometry.source import Source
from ..inspection.subspace_readout import Compressed
from ..inspection.subspaces import Adaptive
from ..networks import ScoreFamily
from ..probes import Probe
from ..specs import NetworkSpec, ProbeSpec
from ..specs.coercion import Network
from .batch_request import BatchRequest, source_of
from .engine_calls import WITHOUT_ENGINE, EngineCalls, answer
from .names import network_spec, probe_spec

HELD_BYTES = 2**31  # memory for moments that wait for their turn


class EngineWorkers(BatchWorkers):
    """Batches from the workers of an engine, each computed with one torch thread.

    Args:
        engine: `local`, `dask`, `dask:ADDRESS`, or an engine, which the caller closes.
        network: the networks, by a name that workers can build them from.
        probe: where they are looked at.
        workers: batches at once; by default the cores of this machine, or the scheduler's threads.
        device: where workers compute.
    """

    def __init__(
        self,
        engine: str | Engine,
        network: NetworkSpec,
        probe: ProbeSpec,
        *,
        workers: int | None = None,
        device: str = "cpu",
    ):
        self._calls = EngineCalls(batch_moment, engine, workers=workers, device=device)
        self._device, self._network, self._probe = device, network, probe

    def __enter__(self) -> "EngineWorkers":
        self._calls.__enter__()
        return self

    def close(self) -> None:
        self._calls.close()

    def require(self, source: Source) -> None:
        """Refuse bases that networks determine: they are too large to send with every batch.

        Raises:
            InputError: for an adaptive subspace.
        """
        readout = source.plan.readout
        if isinstance(readout, Compressed) and isinstance(readout.subspace, Adaptive):
            raise InputError(
                "an adaptive subspace is estimated in one process, for its basis is too large to "
                "be sent with every batch: choose low frequencies, dct:K, or leave out the engine"
            )

    def preparing(self) -> AbstractContextManager[None]:
        """Compute preparations with one thread, so that they have the same bits as on a worker."""
        return limited_threads(1)

    def here(self, device: str) -> str:
        return "cpu"

    def batches(self, source: Source, state: State, until: int) -> Iterator[tuple[Moment, int]]:
        request = BatchRequest.of(self._network, self._probe, source.plan, self._device)
        text = request.model_dump_json()
        calls = ((text, batch, count) for batch, count in batches_until(source, state, until))
        held = HELD_BYTES // state.sums[0].nbytes
        for (_, _, count), computed in self._calls.answers(calls, most=held):
            yield _moment(computed), count


def batch_moment(request: str, batch: int, count: int) -> str:
    """The moment of a batch, or why there is none, as JSON; never raises."""

    def computed() -> dict[str, Any]:
        moment = source_of(request).moment(batch, count)
        return {"rows": len(moment), "values": _packed(moment)}

    return answer(computed)


def _packed(moment: Moment) -> str:
    """The lower triangle, row by row."""
    lower = moment[np.tril_indices(len(moment))].astype("<f8", copy=False)
    return base64.b64encode(lower.tobytes()).decode()


def _moment(answer: dict[str, Any]) -> Moment:
    """The moment in an answer; only its lower triangle is filled."""
    rows = answer["rows"]
    moment = np.zeros((rows, rows))
    moment[np.tril_indices(rows)] = np.frombuffer(base64.b64decode(answer["values"]), "<f8")
    return moment


def batch_workers_for(
    engine: str | Engine | None,
    source: Network,
    family: ScoreFamily,
    probe: str | Probe,
    *,
    workers: int | None = None,
    prediction: str | None = None,
    device: str = "cpu",
) -> BatchWorkers | None:
    """The batch workers that the options ask for; None for threads of this process.

    Raises:
        InputError: for networks or probes that have no name to build them from elsewhere.
    """
    if engine is None:
        if workers is not None:
            raise InputError(WITHOUT_ENGINE)
        return None
    return EngineWorkers(
        engine,
        network_spec(source, family, prediction),
        probe_spec(probe, family.shape),
        workers=workers,
        device=device,
    )
