"""Lines for the user of a module whose call failed, found by trying.

No value that is found here is passed automatically: after a change of the module another value
might make the call succeed. It is proposed, and the user who writes it down confirms it.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import Any

import torch
from torch import Tensor, nn

from ..isolation import global_state_kept
from .calls import Adapted
from .conditions import Condition, Filled, Like, Several, code_of
from .convention import INPUTS, TIMES, arguments_of
from .null_conditions import GUIDANCE, LABELS
from .stated_calls import Calling

MOST_TRIALS, SECONDS = 400, 10.0
IMAGES = ("image", "img", "low_res", "hint", "control", "depth", "cond_x")
WORDS = ("embed", "text", "txt", "prompt", "context", "states")
PATCHES = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Proposal:
    """What makes a call work.

    Attributes:
        given: expressions in x and t, by the name of the argument.
        back: the expression in `output` and x that puts the output together; may be empty.
    """

    given: Mapping[str, str]
    back: str = ""

    @property
    def returned(self) -> str:
        """The dictionary that `inputs` returns."""
        return "{" + ", ".join(f'"{name}": {code}' for name, code in self.given.items()) + "}"

    @property
    def lines(self) -> list[str]:
        """The lines to write."""
        stated = ["def inputs(x, t):", f"    return {self.returned}"]
        return stated + (
            ["def unpatchify(output, x):", f"    return {self.back}"] * bool(self.back)
        )


@dataclass(frozen=True)
class _Variant:
    """Another way to pass an input or a time, and to put the output together."""

    code: str
    make: Callable[[Tensor, Tensor], Any]
    back_code: str = ""
    back: Callable[[Any, Tensor], Tensor] | None = None


def values_for(member: Adapted, missing: Sequence[str], x: Tensor, t: Tensor) -> Proposal | None:
    """Values for missing arguments with which a module takes x (N, *shape) at levels t (N,)."""
    more = (*missing, *_guessed(member))
    rounds = (missing, _with_keys(member, missing, x, t), more)
    for names in dict.fromkeys(tuple(one) for one in rounds):
        if names and (proposal := _fitting(member, names, x, t)):
            return proposal
    return None


def _fitting(member: Adapted, names: Sequence[str], x: Tensor, t: Tensor) -> Proposal | None:
    """Values for arguments, or entries of dictionaries (`argument.key`), that make a call work."""
    arguments = {name.partition(".")[0] for name in names}
    kept = [one for one in member.calling.conditions if one.name not in arguments]
    choices = product(*(list(_candidates(member.network, name, x)) for name in names))
    for conditions in _in_time(choices):
        calling = replace(member.calling, conditions=(*kept, *conditions))
        if _works(member, calling, x, t):
            return Proposal(code_of(conditions))
    return None


def _guessed(member: Adapted) -> list[str]:
    """Arguments whose value, filled or left at None, no configuration confirms."""
    labels = [one.name for one in member.convention.conditions if one.name in LABELS]
    optional = [p.name for p in arguments_of(member.network) if p.default is None]
    return [*labels, *(name for name in optional if name in GUIDANCE)]


def _with_keys(member: Adapted, missing: Sequence[str], x: Tensor, t: Tensor) -> list[str]:
    """The missing arguments, as `argument.key` if the module reads them as dictionaries."""
    named = []
    for name in missing:
        asked = _Asked(lambda key: _Anything())
        given = {other: _Anything() for other in missing} | {name: asked}

        def stated(x: Tensor, t: Tensor, given: Any = given) -> dict[str, Any]:
            return given

        _works(member, replace(member.calling, inputs=stated), x, t)
        named += [f"{name}.{key}" for key in asked.asked] or [name]
    return named


class _Anything:
    """A stand-in for a tensor: functions of torch and operators return it again.

    So a module runs to its end without a value, and shows which keys it reads on the way.
    """

    @classmethod
    def __torch_function__(cls, *_: Any, **__: Any) -> "_Anything":
        return cls()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self

    def __iter__(self) -> Any:
        raise TypeError("this stand-in for a tensor has no entries")

    def __call__(self, *_: Any, **__: Any) -> "_Anything":
        return self

    __getitem__ = __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = __call__
    __truediv__ = __rtruediv__ = __matmul__ = __rmatmul__ = __neg__ = __pow__ = __call__


def other_layouts(member: Adapted, x: Tensor, t: Tensor) -> Proposal | None:
    """Another layout of the time or the input, with which a module takes x at levels t (N,)."""
    how = member.convention
    seen, times = member.seen(x, t)
    ways = [(how.time, way) for way in _times(times, x)] if how.time else []
    ways += [(how.input, way) for way in _inputs(seen, member.network)] if how.input else []
    for name, way in _in_time(ways):

        def stated(x: Tensor, t: Tensor, name: Any = name, way: _Variant = way) -> dict[str, Any]:
            return {name: way.make(x, t)}

        if _works(member, replace(member.calling, inputs=stated, unpatchify=way.back), x, t):
            return Proposal({str(name): way.code}, way.back_code)
    return None


def dictionary_for(member: Adapted, x: Tensor, t: Tensor) -> Proposal | None:
    """The dictionary that a module with a single argument needs, from the keys that it reads."""
    name = member.convention.input
    seen, times = member.seen(x, t)
    asked = _Asked(lambda key: times if _value(key) == "t" else seen)
    # Even if the call fails, the keys that were read are known.
    with torch.no_grad(), global_state_kept(), suppress(Exception):
        member.network(asked)
    if not asked.asked or not name:
        return None
    entries = ", ".join(f'"{key}": {_value(key)}' for key in asked.asked)
    return Proposal({name: f"{{{entries}}}"})


class _Asked(dict[Any, Any]):
    """A dictionary that has every key, and notes those that were read."""

    def __init__(self, value: Callable[[str], Any]):
        super().__init__()
        self.value = value
        self.asked: list[str] = []

    def __missing__(self, key: Any) -> Any:
        if key not in self.asked:
            self.asked.append(str(key))
        return self.value(str(key))


def _value(key: str) -> str:
    return "t" if key in TIMES or (key not in INPUTS and "time" in str(key)) else "x"


def _works(member: Adapted, calling: Calling, x: Tensor, t: Tensor) -> bool:
    """Whether a call succeeds and gives an output of the shape of x."""
    before, member.calling = member.calling, calling
    try:
        with torch.no_grad(), global_state_kept():
            output = member.prediction_of(member.call(x, t), x).value
        return isinstance(output, Tensor) and output.shape == x.shape
    except Exception:  # whatever other people's code raises
        return False
    finally:
        member.calling = before


def _in_time(trials: Any) -> Iterator[Any]:
    begun = time.monotonic()
    for one in islice(trials, MOST_TRIALS):
        if time.monotonic() - begun > SECONDS:
            return
        yield one


def _widths(network: nn.Module, x: Tensor) -> list[int]:
    """The input widths of the layers of a module."""
    widths = [m.in_features for m in network.modules() if isinstance(m, nn.Linear)]
    return list(dict.fromkeys([*widths, x.shape[1]]))


def _candidates(network: nn.Module, name: str, x: Tensor) -> Iterator[Condition]:
    """Values that an argument may take; those that its name makes likely come first."""
    widths, word = _widths(network, x), name.rpartition(".")[2]
    image = (Like(name), Filled(name, "", (1, *x.shape[2:])))
    vectors = [Filled(name, "", (n,)) for n in widths]
    tokens = [Filled(name, "", (1, n)) for n in widths]
    label, scale = Filled(name, "", (), 0, "int"), Filled(name, "", (), 1.0)
    if "mask" in word:
        yield from (image[1], Filled(name, "", (1,), 1, "int"), image[0])
    elif any(part in word for part in IMAGES):
        yield from image
    elif any(part in word for part in WORDS):
        yield from (*tokens, *_lists(network, name))
    elif word in GUIDANCE:
        yield scale
    elif word in LABELS:
        yield label
    yield from (*vectors, *tokens, label, *image, scale, *_lists(network, name))


def _lists(network: nn.Module, name: str) -> Iterator[Condition]:
    """A list of tokens for each list of linear layers, or row of them such as `embed0, embed1`."""
    for module in network.modules():
        if isinstance(module, nn.Sequential):
            continue
        rows: dict[str, list[int]] = {}
        for key, part in module.named_children():
            if isinstance(part, nn.Linear):
                rows.setdefault(key.rstrip("0123456789"), []).append(part.in_features)
        for widths in rows.values():
            if len(widths) > 1:
                yield Several(name, "", tuple(Filled("", "", (1, n)) for n in widths))


def _times(t: Tensor, x: Tensor) -> Iterator[_Variant]:
    """Other layouts of the time."""
    yield _Variant("t.to(x.dtype)", lambda x, t: t.to(x.dtype))
    yield _Variant("t[:, None]", lambda x, t: t[:, None])
    ones = ", 1" * (x.ndim - 1)
    yield _Variant(f"t.view(-1{ones})", lambda x, t: t.view(-1, *(1,) * (x.ndim - 1)))
    sides = x.shape[2:]
    for patch in PATCHES:
        if sides and all(n % patch == 0 for n in sides):
            tokens = math.prod(n // patch for n in sides)
            yield _Variant(
                f"t[:, None].expand(-1, {tokens})", lambda x, t, k=tokens: t[:, None].expand(-1, k)
            )


def _more_channels(x: Tensor, network: nn.Module) -> Iterator[_Variant]:
    """The input with the channels of an image or mask behind its own, which are zero."""
    convolutions = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
    widths = [m.in_channels for m in network.modules() if isinstance(m, convolutions)]
    for width in dict.fromkeys(widths):
        if width > x.shape[1]:
            k = width - x.shape[1]
            yield _Variant(
                f"torch.cat([x, x.new_zeros(len(x), {k}, *x.shape[2:])], dim=1)",
                lambda x, t, k=k: torch.cat([x, x.new_zeros(len(x), k, *x.shape[2:])], dim=1),
            )


def _inputs(x: Tensor, network: nn.Module) -> Iterator[_Variant]:
    """Other layouts of the input, with what undoes them."""
    if x.ndim > 2:
        yield from _more_channels(x, network)
    yield _Variant("x.movedim(1, -1)", lambda x, t: x.movedim(1, -1))
    yield _Variant("list(x)", lambda x, t: list(x))
    if x.ndim > 2:
        yield _Variant(
            "x.flatten(1)",
            lambda x, t: x.flatten(1),
            "output.reshape(x.shape)",
            lambda output, x: output.reshape(x.shape),
        )
        yield _Variant(
            "x.flatten(2).transpose(1, 2)",
            lambda x, t: x.flatten(2).transpose(1, 2),
            "output.transpose(1, 2).reshape(x.shape)",
            lambda output, x: output.transpose(1, 2).reshape(x.shape),
        )
    if x.ndim == 5:
        yield _Variant(
            "x.transpose(1, 2)",
            lambda x, t: x.transpose(1, 2),
            "output.transpose(1, 2)",
            lambda output, x: output.transpose(1, 2),
        )


def patches_together(output: Any, x: Tensor) -> str:
    """The expression that puts tokens of square patches together; empty for other outputs."""
    if not isinstance(output, Tensor) or output.ndim != 3 or x.ndim != 4 or len(output) != len(x):
        return ""
    channels, height, width = x.shape[1:]
    for p in PATCHES[1:]:
        fits = height % p == 0 and width % p == 0
        if fits and output.shape[1:] == (height * width // p**2, channels * p**2):
            cut = f"(len(x), {height // p}, {width // p}, {p}, {p}, {channels})"
            return f"output.reshape{cut}.permute(0, 5, 1, 3, 2, 4).reshape(x.shape)"
    return ""
