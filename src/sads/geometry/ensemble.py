"""Many initialisations of one architecture, evaluated at once.

`DrawnEnsemble` draws stacks of parameters from their initial distributions and evaluates all of
them in one vectorised pass. `BuiltEnsemble` calls a factory for each network, which works for any
module. Both leave the global random state alone. What is read of a network is decided by a reader
(`inspection.reader_modules`).
"""

import copy
import math
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.func import functional_call, vmap

from ..devices import placed
from ..errors import NetworkError, SadsError, brief, is_memory_error
from ..inspection.reader_modules import Outputs, Reader, Readings
from ..inspection.torch_modes import Arguments, FunctionMode, Keywords
from ..networks import ScoreFamily, ScoreNetwork
from ..networks.casting import cast
from ..networks.initialisation import Constant, Distribution
from ..networks.isolation import global_state_kept
from .stacks import Ask, Drawing, Stack, stack_of

PARAMETER_BYTES = 64 * 2**20  # of one chunk of stacked parameters
LARGEST_CHUNK = 64
LARGEST_BUILT_CHUNK = 16
TRIED = 2  # networks that are evaluated in both ways


class _PlainAttention(FunctionMode):
    """Attention by its formula: the fused kernel cannot be vectorised over networks."""

    def called(self, func: Any, args: Arguments, kwargs: Keywords) -> Any:
        if func is not F.scaled_dot_product_attention or len(args) > 4:
            return func(*args, **kwargs)
        given = dict(zip(("query", "key", "value", "attn_mask"), args, strict=False)) | kwargs
        if given.get("is_causal") or given.get("dropout_p") or given.get("enable_gqa"):
            return func(*args, **kwargs)
        query, mask = given["query"], given.get("attn_mask")
        scale = given.get("scale") or 1 / math.sqrt(query.shape[-1])
        scores = query @ given["key"].transpose(-1, -2) * scale
        if mask is not None:
            off = (
                torch.zeros_like(scores).masked_fill(~mask, -math.inf)
                if mask.dtype == torch.bool
                else mask
            )
            scores = scores + off
        return scores.softmax(-1) @ given["value"]


@dataclass
class _Template:
    """One thread's own copy of a member, in a precision.

    Attributes:
        module: the copy.
        constants: its parameters that are the same in all networks.
        stack: the same for stacks that run as a batch; None where not all that is drawn can.
    """

    module: nn.Module
    constants: dict[str, Tensor]
    stack: Stack | None


class DrawnEnsemble:
    """Stacked parameters under `vmap`.

    Args:
        reader: one member in its reader, as a template.
        distributions: of the parameters that are drawn or constant, by their names in the network.
        device: where to evaluate.
    """

    def __init__(
        self, reader: Reader, distributions: Mapping[str, Distribution], device: torch.device
    ):
        self.template: Reader = reader.eval().requires_grad_(False).to(device)
        self.device = device
        used = {f"network.{name}": d for name, d in distributions.items()} | {**reader.draws}
        shapes = {name: tuple(p.shape) for name, p in self.template.named_parameters()}
        # Constant parameters are shared by all members: nothing to draw, less to read.
        self.constants: dict[str, Constant] = {
            n: d for n, d in used.items() if isinstance(d, Constant)
        }
        self.drawn: dict[str, Distribution] = {
            n: d for n, d in used.items() if n not in self.constants
        }
        self.shapes: dict[str, tuple[int, ...]] = {name: shapes[name] for name in used}
        self.chunk: int = _chunk(
            4 * sum(math.prod(self.shapes[n]) for n in self.drawn), LARGEST_CHUNK
        )
        self._local = threading.local()
        # Whether stacks run as a batch with the bits of `vmap`, by precision and threads.
        self._as_batch: dict[tuple[torch.dtype, int], bool] = {}

    def _member(self, dtype: torch.dtype) -> "_Template":
        """A template of this thread's own: `functional_call` swaps parameters in place."""
        if not hasattr(self._local, "members"):
            self._local.members = {}
        cache = self._local.members
        if dtype not in cache:
            module = cast(copy.deepcopy(self.template), dtype)
            # The tangent kernel has the derivatives by these factors and shifts.
            differentiated = self.template.differentiates
            idle = set() if differentiated else _without_idle_factors(module, self.constants)
            constants = {
                n: torch.full(self.shapes[n], d.value, dtype=dtype, device=self.device)
                for n, d in self.constants.items()
                if n not in idle
            }
            stack = None if differentiated else stack_of(module, self.drawn, constants)
            cache[dtype] = _Template(module, constants, stack)
        return cache[dtype]

    def draw(self, count: int, rng: np.random.Generator) -> dict[str, Tensor]:
        """Parameters of `count` networks, stacked along the first axis, in float32."""
        return {name: d.draw((count, *self.shapes[name]), rng) for name, d in self.drawn.items()}

    def evaluate(
        self,
        x: Float[Tensor, "N ..."],
        t: Int[np.ndarray, " N"],
        rng: np.random.Generator,
        dtype: torch.dtype,
    ) -> Readings:
        """What is read of N fresh networks at (x_i, t_i)."""
        stack, case = self._member(dtype).stack, (dtype, torch.get_num_threads())
        if stack is None or not self._as_batch.get(case):
            stacked = self.draw(len(t), rng)
            found = self.read(stacked, x, t, dtype)
            if stack is not None and case not in self._as_batch and len(t) > 1:
                self._as_batch[case] = self._same_bits(stack, stacked, x, t, dtype, found)
            return found
        drawing = Drawing(self.drawn, self.shapes, len(t), rng)
        found = self._read_stack(stack, drawing, x, t, dtype)
        drawing.finish()
        return found

    def _same_bits(
        self,
        stack: Stack,
        stacked: Mapping[str, Tensor],
        x: Float[Tensor, "N ..."],
        t: Int[np.ndarray, " N"],
        dtype: torch.dtype,
        found: Readings,
    ) -> bool:
        """Whether the first of some networks come out as they were found, run as a batch."""
        few = slice(TRIED)
        own = {n: p[few] for n, p in stacked.items()}
        try:
            pairs = zip(found, self._read_stack(stack, own.pop, x[few], t[few], dtype), strict=True)
            return all(_equal(None if a is None else a[few], b) for a, b in pairs)
        except Exception:  # the reason does not matter: `vmap` is always right
            return False

    def _read_stack(
        self,
        stack: Stack,
        ask: Ask,
        x: Float[Tensor, "N ..."],
        t: Int[np.ndarray, " N"],
        dtype: torch.dtype,
    ) -> Readings:
        def own(name: str) -> Tensor:
            return placed(ask(name), self.device, dtype)

        steps = placed(torch.from_numpy(t), self.device)
        with _without_graph(self.template):
            return Readings(*stack.read(own, placed(x, self.device, dtype), steps))

    def read(
        self,
        stacked: Mapping[str, Tensor],
        x: Float[Tensor, "N ..."],
        t: Int[np.ndarray, " N"],
        dtype: torch.dtype,
    ) -> Readings:
        """What is read of the networks with the given parameters."""
        member = self._member(dtype)

        def one(own: dict[str, Tensor], x_one: Tensor, t_one: Tensor) -> tuple[Tensor, ...]:
            every = own | member.constants
            parts = functional_call(member.module, every, (x_one[None], t_one[None]))
            return tuple(part[0] for part in parts)

        own = {n: placed(p, self.device, dtype) for n, p in stacked.items()}
        steps = placed(torch.from_numpy(t), self.device)
        with _without_graph(self.template), _PlainAttention():
            return Readings(*vmap(one)(own, placed(x, self.device, dtype), steps))


class BuiltEnsemble:
    """Fresh modules from the family's factory, one at a time.

    Args:
        family: the family.
        device: where to evaluate.
        reader: what is read of each network.
        size: bytes of one network's parameters.
    """

    def __init__(
        self,
        family: ScoreFamily,
        device: torch.device,
        reader: Callable[[nn.Module], Reader] = Outputs,
        size: int = 0,
    ):
        self.family = family
        self.device = device
        self.reader = reader
        self.chunk: int = _chunk(size, LARGEST_BUILT_CHUNK)

    def build(self, seed: int) -> nn.Module:
        """One member; the global random state is as before afterwards."""
        return self.family.member(seed).eval().requires_grad_(False).to(self.device)

    def evaluate(
        self,
        x: Float[Tensor, "N ..."],
        t: Int[np.ndarray, " N"],
        rng: np.random.Generator,
        dtype: torch.dtype,
    ) -> Readings:
        """What is read of N fresh networks at (x_i, t_i)."""
        each = []
        x, steps = placed(x, self.device, dtype), placed(torch.from_numpy(t), self.device)
        for i, seed in enumerate(rng.integers(2**62, size=len(t))):
            module = self.reader(cast(self.build(int(seed)), dtype))
            module.renew(rng)
            try:
                with global_state_kept(), _without_graph(module):
                    each.append(module(x[i : i + 1], steps[i : i + 1]))
            except SadsError:
                raise
            except Exception as error:
                if is_memory_error(error):
                    raise
                raise NetworkError(
                    f"{self.family.name} failed at timestep {int(t[i])}: {brief(error)}"
                ) from error
        return Readings(*(torch.cat(parts) for parts in zip(*each, strict=True)))


def _without_idle_factors(reader: nn.Module, constants: Mapping[str, Distribution]) -> set[str]:
    """Take factors of one and shifts of zero out of the norms of our networks; their names.

    All members start with them. Leaving them out saves two passes over every activation and
    changes no bit. Other people's modules may ask their norms for them.
    """
    if not isinstance(reader.get_submodule("network"), ScoreNetwork):
        return set()
    idle: set[str] = set()
    for place, norm in reader.named_modules():
        own = [f"{place}.weight", f"{place}.bias"]
        plain = isinstance(norm, (nn.GroupNorm, nn.LayerNorm)) and norm.weight is not None
        if plain and [constants.get(name) for name in own] == [Constant(1.0), Constant(0.0)]:
            norm.register_parameter("weight", None)
            norm.register_parameter("bias", None)
            idle |= set(own)
    return idle


def _equal(a: Tensor | None, b: Tensor | None) -> bool:
    """Whether two tensors have the same values, or both are missing."""
    if a is None or b is None:
        return a is b
    return a.dtype == b.dtype and torch.equal(a, b)


def _without_graph(reader: Reader) -> AbstractContextManager[object]:
    """No graph is kept; forward derivatives do not go together with inference mode."""
    return torch.no_grad() if reader.differentiates else torch.inference_mode()


def _chunk(size: int, largest: int) -> int:
    """Networks evaluated together: a power of two whose parameters fit."""
    fit = max(1, min(largest, PARAMETER_BYTES // max(1, size)))
    return 1 << (fit.bit_length() - 1)


Ensemble = DrawnEnsemble | BuiltEnsemble
