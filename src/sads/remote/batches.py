"""Batches of an estimate from the workers of an engine.

The moments of batches travel as text: the lower triangle of each in base 64, since they are
symmetric. The driver adds them up in the order of their numbers, so that the sums are the same bits
with any number of workers, in whatever order they answer and however many of them die.
"""

import base64
import json
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from typing import Any

import numpy as np

from ..errors import InputError, NetworkError, SadsError, brief, is_memory_error
from ..execution.engines import Engine, check_engine, make_engine
from ..execution.in_order import InOrder
from ..execution.local import EngineError
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

PRELOADED = ("sads.remote.batches",)  # importing torch takes seconds
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
        if isinstance(engine, str):
            check_engine(engine, workers)
        self._asked, self._workers, self._device = engine, workers, device
        self._network, self._probe = network, probe
        self._engine: tuple[Engine, InOrder] | None = None

    def __enter__(self) -> "EngineWorkers":
        self._running()  # a missing scheduler should be reported now
        return self

    def _running(self) -> tuple[Engine, InOrder]:
        if self._engine is None:
            asked = self._asked
            if isinstance(asked, str):
                asked = make_engine(
                    asked, workers=self._workers, device=self._device, preload=PRELOADED
                )
            self._engine = asked, InOrder(asked, batch_moment)
        return self._engine

    def close(self) -> None:
        if self._engine is not None and isinstance(self._asked, str):
            self._engine[0].close()
        self._engine = None

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
        engine, in_order = self._running()
        request = BatchRequest.of(self._network, self._probe, source.plan, self._device)
        text = request.model_dump_json()
        calls = ((text, batch, count) for batch, count in batches_until(source, state, until))
        held = HELD_BYTES // state.sums[0].nbytes
        ahead = max(2, min(2 * engine.slots, held))
        for (_, _, count), answer in in_order.answers(calls, ahead):
            yield _moment(json.loads(answer)), count


def batch_moment(request: str, batch: int, count: int) -> str:
    """The moment of a batch, or why there is none, as JSON; never raises."""
    try:
        with limited_threads(1):
            moment = source_of(request).moment(batch, count)
        return json.dumps({"rows": len(moment), "values": _packed(moment)})
    except Exception as error:
        return json.dumps(
            {"kind": _kind(error), "error": f"{socket.gethostname()}: {_said(error)}"}
        )


def _kind(error: Exception) -> str:
    return "network" if isinstance(error, NetworkError) else "setup"


def _said(error: Exception) -> str:
    if isinstance(error, SadsError):
        return " ".join(str(error).split())
    return "out of memory" if is_memory_error(error) else brief(error)


def _packed(moment: Moment) -> str:
    """The lower triangle, row by row."""
    lower = moment[np.tril_indices(len(moment))].astype("<f8", copy=False)
    return base64.b64encode(lower.tobytes()).decode()


def _moment(answer: dict[str, Any]) -> Moment:
    """The moment in an answer; only its lower triangle is filled.

    Raises:
        NetworkError: if the networks cannot be evaluated.
        EngineError: if the worker could not or would not compute.
    """
    if answer.get("kind") == "network":
        raise NetworkError(answer["error"])
    if "error" in answer:
        raise EngineError(f"a worker cannot compute this: {answer['error']}")
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
            raise InputError("workers belong to an engine: name one, local, dask or dask:ADDRESS")
        return None
    return EngineWorkers(
        engine,
        _network_spec(source, family, prediction),
        _probe_spec(probe, family.shape),
        workers=workers,
        device=device,
    )


def _network_spec(source: Network, family: ScoreFamily, prediction: str | None) -> NetworkSpec:
    if isinstance(source, NetworkSpec):
        source = str(source)
    if isinstance(source, str):
        return NetworkSpec.parse(
            source if prediction is None else f"{source},prediction={prediction}"
        )
    with suppress(SadsError):  # a name outside the grammar
        spec = NetworkSpec.parse(family.name)
        named = spec.family(family.shape, schedule=family.schedule)
        if named.fingerprint == family.fingerprint:
            return spec
    raise InputError(
        f"workers build networks from their names, and {family.name} names no preset or factory: "
        "write a function that makes one into a file and name it, FILE.py:function"
    )


def _probe_spec(probe: str | Probe, shape: tuple[int, ...]) -> ProbeSpec:
    if isinstance(probe, str):
        return ProbeSpec.parse(probe)
    with suppress(SadsError):
        spec = ProbeSpec.parse(probe.describe())
        if spec.probe(shape).describe() == probe.describe():
            return spec
    raise InputError(
        f"workers make probes from their names, and {probe.describe()} names no file: give the "
        "probe as point:FILE or forward:DATA"
    )
