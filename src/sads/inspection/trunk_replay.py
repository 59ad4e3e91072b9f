"""Repeated forward passes that differ only from one call on, without computing the trunk twice.

To learn what follows the last layer, its output is replaced by many values. Everything before that
call is the same each time, and takes nearly all of the time. A first pass records what every
function of torch returns up to the call. Later passes of the same network with the same parameters
and inputs run the module's own code again, but get the recorded results without computing them, and
compute only from the call on.

If a result is no longer in use when the call is reached, only its shape is kept, so a recorded
trunk takes no more memory than the pass did at that point. It is used only if it certainly equals
what a whole pass would give. A pass that draws random numbers, changes buffers or writes into
recorded results is not recorded. A later pass is made in full if it calls other functions, or if
its tail uses a tensor that the recording does not know.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..devices import return_freed_memory
from .members import LARGEST_SMALL, parameter_bytes
from .recorded_results import mapped, revived, still_alive, storage, tensors, weakly
from .torch_modes import Arguments, FunctionMode, Keywords

MOST = 16  # trunks that are kept at once

Key = tuple[Any, ...]


class DivergedError(Exception):
    """A pass that differs from the recorded one and has to be made in full."""


@dataclass(frozen=True)
class Trunk:
    """The functions that were called before a call, and what they returned.

    Attributes:
        network: the network; it is kept alive, so that no other object can get its id.
        functions: the functions that were called, in order.
        results: what each of them returned.
        known: tensors that the rest of the pass may use, besides those that it computes.
        elsewhere: storages that calls other than the one in question read.
    """

    network: nn.Module
    functions: list[Any]
    results: list[Any]
    known: dict[int, Tensor]
    elsewhere: set[int]


class Recorder(FunctionMode):
    """Records a trunk during a pass: everything before the last call in question."""

    def __init__(self, network: nn.Module, x: Tensor, t: Tensor, tail: "Tail"):
        super().__init__()
        self._network, self._tail, self._inputs = network, tail, {id(x), id(t)}
        self._functions: list[Any] = []
        self._results: list[Any] = []
        self._elsewhere: set[int] = set()
        self._own: set[int] = set()
        self._reached: int | None = None
        self._living: dict[int, tuple[Tensor, int]] = {}
        self._constants: dict[int, Tensor] = {}
        self._after: dict[int, Tensor] = {}

    def called(self, func: Any, args: Arguments, kwargs: Keywords) -> Any:
        own = self._tail.is_next(func)
        if own:
            self._reach()
        if self._reached is not None:
            self._learn(args, kwargs)
        result = self._tail.called(func, args, kwargs)
        looked_at = set(map(storage, tensors((args, kwargs))))
        if own:
            self._own = looked_at
        elif not _only_asks(func, result):
            self._elsewhere |= looked_at
        if self._reached is not None:
            self._after.update((id(one), one) for one in tensors(result))
        self._functions.append(func)
        self._results.append(mapped(result, weakly))
        return result

    def _reach(self) -> None:
        """Note the tensors that are alive at the call, with their versions; others are gone."""
        self._reached = len(self._functions)
        self._elsewhere |= self._own  # of an earlier call, which is no longer in question
        self._living, self._constants, self._after = {}, {}, {}  # only what others still hold stays
        living = [one for result in self._results for one in still_alive(result)]
        self._living = {id(one): (one, one._version) for one in living}

    def _learn(self, args: Arguments, kwargs: Keywords) -> None:
        """Note the constants and parameters that the tail uses; they are the same in every pass."""
        for one in tensors((args, kwargs)):
            if id(one) not in self._after and id(one) not in self._inputs:
                self._constants[id(one)] = one

    def trunk(self) -> Trunk | None:
        """The recorded trunk; None if it was written to, or if there was no call in question."""
        reached = self._reached
        written_to = any(one._version != version for one, version in self._living.values())
        if reached is None or written_to:
            return None
        living = {key: one for key, (one, _) in self._living.items()}
        return Trunk(
            self._network,
            self._functions[:reached],
            [mapped(result, partial(revived, living)) for result in self._results[:reached]],
            living | self._constants,
            self._elsewhere,
        )


def _only_asks(func: Any, result: Any) -> bool:
    """Whether a call only asks for a shape or a type, which does not use the values."""
    return getattr(func, "__name__", "") == "__get__" and next(tensors(result), None) is None


class Player(FunctionMode):
    """Repeats a recorded pass: recorded results up to the call, computation after it."""

    def __init__(self, trunk: Trunk, x: Tensor, t: Tensor, tail: "Tail"):
        super().__init__()
        self._trunk, self._tail, self._position = trunk, tail, 0
        self._known = {**trunk.known, id(x): x, id(t): t}

    def called(self, func: Any, args: Arguments, kwargs: Keywords) -> Any:
        trunk, position = self._trunk, self._position
        if position < len(trunk.functions):
            if func != trunk.functions[position]:
                raise DivergedError
            self._position += 1
            return trunk.results[position]
        if any(id(one) not in self._known for one in tensors((args, kwargs))):
            raise DivergedError
        result = self._tail.called(func, args, kwargs)
        self._known.update((id(one), one) for one in tensors(result))
        return result


class Tail:
    """An observer of the calls from the one in question on, see `tracing`; a base class."""

    def is_next(self, func: Any) -> bool:
        """Whether this is the call in question."""
        raise NotImplementedError

    def called(self, func: Any, args: Arguments, kwargs: Keywords) -> Any:
        """What a call returns."""
        raise NotImplementedError


class Trunks:
    """The recorded trunks of some networks and inputs."""

    def __init__(self) -> None:
        self._kept: dict[Key, Trunk | None] = {}

    def run(
        self, network: nn.Module, x: Tensor, t: Tensor, index: int, tail: Callable[[int], Tail]
    ) -> Tensor:
        """The output of a network whose calls a tail sees.

        Args:
            network: the network.
            x: its input.
            t: its timesteps.
            index: number of the call in question.
            tail: makes the observer of the calls, given the number of calls that were skipped.
        """
        key = (*_key(network, x, t), index)
        trunk = self._kept.get(key)
        if trunk is not None:
            try:
                with Player(trunk, x, t, tail(index)):
                    return network(x, t)
            except DivergedError:
                self._kept[key] = None
        if key in self._kept:  # it cannot be recorded
            with Seeing(tail(0)):
                return network(x, t)
        return self.record(network, x, t, tail(0), lambda: index)

    def record(
        self, network: nn.Module, x: Tensor, t: Tensor, tail: "Tail", index: Callable[[], int]
    ) -> Tensor:
        """The output, while the trunk is recorded; `index` is read at the end of the pass."""
        recorder = Recorder(network, x, t, tail)

        def run() -> Tensor:
            with recorder:
                return network(x, t)

        key = _key(network, x, t)
        output, same = pure(network, x, t, run)
        while len(self._kept) >= MOST:
            del self._kept[next(iter(self._kept))]
        self._kept[*key, index()] = recorder.trunk() if same else None
        if parameter_bytes(network) > LARGEST_SMALL:
            return_freed_memory()  # what is kept lies between large blocks that were freed
        return output

    def used_elsewhere(
        self, network: nn.Module, x: Tensor, t: Tensor, index: int, names: frozenset[str]
    ) -> bool | None:
        """Whether other calls read these parameters too; None if no pass was recorded."""
        trunk = self._kept.get((*_key(network, x, t), index))
        if trunk is None:
            return None
        return any(storage(network.get_parameter(name)) in trunk.elsewhere for name in names)


class Seeing(FunctionMode):
    """A mode in which a tail sees all calls of a pass."""

    def __init__(self, tail: Tail):
        super().__init__()
        self._tail = tail

    def called(self, func: Any, args: Arguments, kwargs: Keywords) -> Any:
        return self._tail.called(func, args, kwargs)


_KEPT: ContextVar[Trunks | None] = ContextVar("kept trunks", default=None)


def kept_trunks() -> Trunks | None:
    """The trunks of the enclosing `trunks_kept`, if any."""
    return _KEPT.get()


@contextmanager
def trunks_kept() -> Iterator[Trunks]:
    """Record trunks and use them inside the block."""
    kept = Trunks()
    token = _KEPT.set(kept)
    try:
        yield kept
    finally:
        _KEPT.reset(token)


def pure(
    network: nn.Module, x: Tensor, t: Tensor, run: Callable[[], Tensor]
) -> tuple[Tensor, bool]:
    """The output of a pass, and whether it drew no random numbers and changed no values.

    Args:
        network: the network.
        x: its input.
        t: its timesteps.
        run: makes the pass.
    """
    before, key = _drawn_so_far(), _key(network, x, t)
    output = run()
    return output, _equal(before, _drawn_so_far()) and _key(network, x, t) == key


def _key(network: nn.Module, x: Tensor, t: Tensor) -> Key:
    """Everything that determines a trunk: the network, the versions of its values, its inputs."""
    state = [*network.parameters(), *network.buffers()]
    versions = tuple(one._version for one in state)
    inputs = tuple(
        (tuple(one.shape), one.dtype, one.detach().cpu().numpy().tobytes()) for one in (x, t)
    )
    return id(network), versions, inputs


def _drawn_so_far() -> tuple[Any, ...]:
    """The states of the global generators, which a random pass changes."""
    numpy_state = np.random.get_state()  # noqa: NPY002
    return torch.get_rng_state(), numpy_state, random.getstate()


def _equal(before: tuple[Any, ...], after: tuple[Any, ...]) -> bool:
    same_numpy = all(np.array_equal(a, b) for a, b in zip(before[1], after[1], strict=True))
    return torch.equal(before[0], after[0]) and same_numpy and before[2] == after[2]
