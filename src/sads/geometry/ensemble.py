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
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.func import functional_call, vmap

from ..devices import is_memory_error
from ..errors import NetworkError, SadsError, brief
from ..inspection.reader_modules import Outputs, Reader, Readings
from ..inspection.torch_modes import Arguments, FunctionMode, Keywords
from ..networks import ScoreFamily, ScoreNetwork
from ..networks.casting import cast
from ..networks.initialisation import Constant, Distribution
from ..networks.isolation import global_state_kept

PARAMETER_BYTES = 64 * 2**20  # of one chunk of stacked parameters
LARGEST_CHUNK = 64
LARGEST_BUILT_CHUNK = 16


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

    def _member(self, dtype: torch.dtype) -> tuple[nn.Module, dict[str, Tensor]]:
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
            cache[dtype] = (module, constants)
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
        return self.read(self.draw(len(t), rng), x, t, dtype)

    def read(
        self,
        stacked: Mapping[str, Tensor],
        x: Float[Tensor, "N ..."],
        t: Int[np.ndarray, " N"],
        dtype: torch.dtype,
    ) -> Readings:
        """What is read of the networks with the given parameters."""
        module, constants = self._member(dtype)

        def one(own: dict[str, Tensor], x_one: Tensor, t_one: Tensor) -> tuple[Tensor, ...]:
            parts = functional_call(module, own | constants, (x_one[None], t_one[None]))
            return tuple(part[0] for part in parts)

        own = {n: p.to(self.device, dtype) for n, p in stacked.items()}
        steps = torch.from_numpy(t).to(self.device)
        with _without_graph(self.template), _PlainAttention():
            return Readings(*vmap(one)(own, x.to(self.device, dtype), steps))


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
        for i, seed in enumerate(rng.integers(2**62, size=len(t))):
            module = self.reader(cast(self.build(int(seed)), dtype))
            module.renew(rng)
            step = torch.tensor([int(t[i])], device=self.device)
            try:
                with global_state_kept(), _without_graph(module):
                    each.append(module(x[i : i + 1].to(self.device, dtype), step))
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


def _without_graph(reader: Reader) -> AbstractContextManager[object]:
    """No graph is kept; forward derivatives do not go together with inference mode."""
    return torch.no_grad() if reader.differentiates else torch.inference_mode()


def _chunk(size: int, largest: int) -> int:
    """Networks evaluated together: a power of two whose parameters fit."""
    fit = max(1, min(largest, PARAMETER_BYTES // max(1, size)))
    return 1 << (fit.bit_length() - 1)


Ensemble = DrawnEnsemble | BuiltEnsemble
