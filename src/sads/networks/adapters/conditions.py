"""What a module gets besides the noisy input and the time: a value for each further argument.

A condition knows the name of its argument, makes the value that is passed for N inputs, and
describes it in words (for results) and in code (for the lines that a message proposes). The name
may have a dot: `added_cond_kwargs.text_embeds` is the entry `text_embeds` of a dictionary that is
passed as `added_cond_kwargs`. The module `null_conditions` decides whether a network needs a
condition, or the user states it, see `stated_calls`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Condition:
    """One value that is passed; a base class.

    Attributes:
        name: the name of the argument, or `argument.key` for an entry of a dictionary.
        meaning: what it stands for, in words; may be empty.
    """

    name: str
    meaning: str = ""

    def value(self, x: Tensor) -> Any:
        """The value that is passed with inputs x (N, *shape)."""
        raise NotImplementedError

    @property
    def words(self) -> str:
        """The value in words."""
        raise NotImplementedError

    @property
    def code(self) -> str:
        """The Python expression of x that makes the value."""
        raise NotImplementedError


@dataclass(frozen=True)
class Filled(Condition):
    """A tensor with one value in all its entries.

    Attributes:
        sizes: the sizes of the tensor for one input.
        fill: the value.
        kind: `float` (the precision of the input), `int` or `bool`.
        batched: whether there is one for each input; otherwise one for all of them.
    """

    sizes: tuple[int, ...] = ()
    fill: float = 0.0
    kind: str = "float"
    batched: bool = True

    def value(self, x: Tensor) -> Tensor:
        sizes = (len(x), *self.sizes) if self.batched else self.sizes
        kinds = {"float": x.dtype, "int": torch.long, "bool": torch.bool}
        fill = self.fill if self.kind == "float" else int(self.fill)
        return torch.full(sizes, fill, dtype=kinds[self.kind], device=x.device)

    @property
    def words(self) -> str:
        text = {0.0: "zeros", 1.0: "ones"}.get(self.fill, f"{self.fill:g}")
        if not self.sizes:
            text = f"{self.fill:g}"
        elif len(self.sizes) == 2 and self.sizes[0] == 1 and text == "zeros":
            text = f"zeros of width {self.sizes[1]}"
        else:
            text += f" of {'x'.join(map(str, self.sizes))}"
        return text + (f" ({self.meaning})" if self.meaning else "")

    @property
    def code(self) -> str:
        batch = ["len(x)"] if self.batched else []
        sizes = ", ".join([*batch, *map(str, self.sizes)])
        if self.kind == "float":
            if not self.fill:
                return f"x.new_zeros({sizes})"
            return f"x.new_full(({sizes},), {self.fill:g})"
        if self.kind == "bool":
            return f"torch.{'ones' if self.fill else 'zeros'}({sizes}, dtype=torch.bool)"
        return f"torch.full(({sizes},), {int(self.fill)})"


@dataclass(frozen=True)
class Several(Condition):
    """A list of conditions that is passed as one argument, for example the states of encoders.

    Attributes:
        parts: its entries.
    """

    parts: tuple[Condition, ...] = ()

    def value(self, x: Tensor) -> list[Any]:
        return [part.value(x) for part in self.parts]

    @property
    def words(self) -> str:
        return f"a list of {len(self.parts)}: " + ", ".join(part.words for part in self.parts)

    @property
    def code(self) -> str:
        return f"[{', '.join(part.code for part in self.parts)}]"


@dataclass(frozen=True)
class OneHot(Condition):
    """A vector with a one at the place of a class.

    Attributes:
        width: entries of the vector.
        label: the class.
    """

    width: int = 1
    label: int = 0

    def value(self, x: Tensor) -> Tensor:
        row = torch.zeros(self.width, dtype=x.dtype, device=x.device)
        row[self.label] = 1
        return row.expand(len(x), -1)

    @property
    def words(self) -> str:
        return self.meaning

    @property
    def code(self) -> str:
        return f"torch.eye({self.width})[{self.label}].expand(len(x), -1)"


@dataclass(frozen=True)
class Like(Condition):
    """Zeros of the shape of the input, for self-conditioning or an image to start from."""

    def value(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)

    @property
    def words(self) -> str:
        return "zeros like the input"

    @property
    def code(self) -> str:
        return "torch.zeros_like(x)"


@dataclass(frozen=True)
class Computed(Condition):
    """A value that depends on the sizes of the input: positions of tokens, rotary embeddings.

    Attributes:
        make: a function from the input to the value.
    """

    make: Callable[[Tensor], Any] = lambda x: None

    def value(self, x: Tensor) -> Any:
        return self.make(x)

    @property
    def words(self) -> str:
        return self.meaning

    @property
    def code(self) -> str:
        return "..."


def passed(conditions: Iterable[Condition], x: Tensor) -> dict[str, Any]:
    """The values that are passed with inputs x, by the name of the argument.

    >>> text = Filled("added_cond_kwargs.text_embeds", sizes=(2,))
    >>> passed([text, Filled("y", fill=3, kind="int")], torch.zeros(1, 4))
    {'added_cond_kwargs': {'text_embeds': tensor([[0., 0.]])}, 'y': tensor([3])}
    """
    named: dict[str, Any] = {}
    for one in conditions:
        argument, _, key = one.name.partition(".")
        if key:
            named.setdefault(argument, {})[key] = one.value(x)
        else:
            named[argument] = one.value(x)
    return named


def code_of(conditions: Iterable[Condition]) -> dict[str, str]:
    """The expressions of the values that are passed, by the name of the argument."""
    written: dict[str, Any] = {}
    for one in conditions:
        argument, _, key = one.name.partition(".")
        if key:
            written.setdefault(argument, {})[key] = one.code
        else:
            written[argument] = one.code
    return {
        name: code
        if isinstance(code, str)
        else "{" + ", ".join(f'"{key}": {part}' for key, part in code.items()) + "}"
        for name, code in written.items()
    }
