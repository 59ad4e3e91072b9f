"""What follows the last layer at other timesteps, without computing what comes before it.

If the output of the last layer is replaced, most of a network no longer reaches the output: of a
preconditioned U-Net, for example, only the scales that are made from the timestep do. One pass
records which functions are called and which results each of them uses. Later passes, at any input
and timestep, run the module's own code again, compute only what reaches the output past the
replaced call, and put zeros in the place of everything else.

A shortcut is taken only where it is certain. Functions that write into shared tensors or tell
Python values are always computed, with everything they use. A network that draws random numbers or
changes itself has no shortcut. A pass that calls other functions, or that would compute with what
was not computed, is made in full.
"""

import weakref
from functools import partial
from typing import Any

from torch import Tensor, nn

from .recorded_results import mapped, revived, storage, tensors, weakly
from .torch_modes import Arguments, FunctionMode, Keywords
from .trunk_replay import DivergedError, Tail, pure

_FORM = {"shape", "dtype", "device", "ndim", "is_cuda", "layout", "requires_grad"}
_ASKS_FOR_FORM = {
    *("size", "dim", "ndimension", "numel", "nelement", "stride", "element_size", "get_device"),
    *("is_contiguous", "is_floating_point", "is_complex", "__len__", "__hash__"),
}


class Uses(FunctionMode):
    """Notes in one pass which earlier results each function uses.

    Attributes:
        functions: the functions that were called, in order.
        results: what each of them returned.
        constants: tensors that no function made: inputs, parameters, buffers.
        reached: the position of the call in question.
    """

    def __init__(self, tail: Tail):
        super().__init__()
        self.functions: list[Any] = []
        self.results: list[Any] = []
        self.constants: dict[int, Tensor] = {}
        self.reached: int | None = None
        self._tail = tail
        self._uses: list[set[int]] = []
        self._always: set[int] = set()
        self._maker: dict[int, int] = {}
        self._sharing: dict[int, list[weakref.ref[Tensor]]] = {}

    def called(self, func: Any, args: Arguments, kwargs: Keywords) -> Any:
        position, given = len(self.functions), list(tensors((args, kwargs)))
        if self._tail.is_next(func):
            self.reached = position
        versions = [one._version for one in given]
        for one in given:
            if id(one) not in self._maker:
                self.constants[id(one)] = one
                self._note(one)
        self._uses.append({self._maker[id(one)] for one in given if id(one) in self._maker})
        result = self._tail.called(func, args, kwargs)
        pairs = zip(given, versions, strict=True)
        written = [one for one, version in pairs if one._version != version]
        if _tells_values(func, result) or not all(map(self._is_alone, written)):
            self._always.add(position)
        for one in tensors(result):
            self._note(one)
        self._maker.update((id(one), position) for one in (*tensors(result), *written))
        self.functions.append(func)
        self.results.append(mapped(result, weakly))
        return result

    def _note(self, one: Tensor) -> None:
        self._sharing.setdefault(storage(one), []).append(weakref.ref(one))

    def _is_alone(self, one: Tensor) -> bool:
        """Whether no other tensor shares the values of one that a function made."""
        others = (other() for other in self._sharing.get(storage(one), ()))
        return id(one) not in self.constants and all(o is None or o is one for o in others)

    def needed(self, reached: int) -> set[int]:
        """The functions that reach the output past the call in question."""
        to_follow = [*range(reached + 1, len(self.functions)), *self._always]
        needed = {reached, *to_follow}
        while to_follow:
            new = self._uses[to_follow.pop()] - needed
            needed |= new
            to_follow += new
        return needed


def _tells_values(func: Any, result: Any) -> bool:
    """Whether a function gives Python something that may depend on the values of a tensor."""
    if result is None or next(tensors(result), None) is not None:
        return False
    name = getattr(func, "__name__", "")
    if name == "__get__":
        return getattr(getattr(func, "__self__", None), "__name__", "") not in _FORM
    return name not in _ASKS_FOR_FORM


class Shortcut:
    """The way from a call to the output of a network, at any input and timestep."""

    def __init__(self, network: nn.Module, uses: Uses, reached: int):
        self._network = network
        self._needed = uses.needed(reached)
        self._constants = uses.constants
        self._functions = uses.functions[: reached + 1]
        placeholder = partial(revived, {})  # zeros of its shape for a tensor that is gone
        self._results = [mapped(one, placeholder) for one in uses.results[: reached + 1]]

    @classmethod
    def found(cls, network: nn.Module, x: Tensor, t: Tensor, tail: Tail) -> "Shortcut | None":
        """The shortcut of a network; None if it has none.

        Args:
            network: the network.
            x: an input.
            t: its timesteps.
            tail: an observer that knows the call in question.
        """
        uses = Uses(tail)

        def run() -> Tensor:
            with uses:
                return network(x, t)

        _, same = pure(network, x, t, run)
        return cls(network, uses, uses.reached) if same and uses.reached is not None else None

    def run(self, x: Tensor, t: Tensor, tail: Tail) -> Tensor:
        """The output at another input of the same shape.

        Args:
            x: the input.
            t: its timesteps.
            tail: sees the calls from the one in question on.

        Raises:
            DivergedError: if the pass has to be made in full.
        """
        walk = _Walk(self._functions, self._results, self._needed, tail)
        walk.known = {**self._constants, id(x): x, id(t): t}
        with walk:
            output = self._network(x, t)
        if walk.position < len(self._functions) or id(output) not in walk.known:
            raise DivergedError
        return output


class _Walk(FunctionMode):
    """Computes the needed functions of a recorded pass, and all from the call in question on."""

    def __init__(self, functions: list[Any], results: list[Any], needed: set[int], tail: Tail):
        super().__init__()
        self.known: dict[int, Tensor] = {}
        self.position = 0
        self._functions, self._results, self._needed = functions, results, needed
        self._tail = tail

    def called(self, func: Any, args: Arguments, kwargs: Keywords) -> Any:
        position, reached = self.position, len(self._functions) - 1
        self.position += 1
        if position <= reached:
            if func != self._functions[position]:
                raise DivergedError
            if position not in self._needed:
                return self._results[position]
        unknown = any(id(one) not in self.known for one in tensors((args, kwargs)))
        if unknown and position != reached:  # what the replaced call gets does not matter
            raise DivergedError
        if position < reached:
            result = func(*args, **kwargs)
        else:
            result = self._tail.called(func, args, kwargs)
        self.known.update((id(one), one) for one in tensors(result))
        return result
