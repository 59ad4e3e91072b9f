"""One calling convention for all modules: `forward(x, t)` predicts the noise in x at level t.

With x = a x_0 + b eps, every prediction is an affine map of the noise (`sads.path.predictions`),

    eps = c_t x + s_t output(x, time_t),

and the module is given the time that it expects (`sads.path.times`): the number of the level, a
number in [0, 1] or [0, 1000], or the noise level itself. A module that takes `sigma` (EDM) sees the
variance-exploding process, the input x / a at sigma = b / a. It is assumed to return x_0 unless
another prediction is given.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...errors import InputError
from ...path import DiffusionPath, Prediction, prediction_named, time_values
from .arrangements import FramesFirst, Packed
from .conditions import Condition, passed
from .convention import Convention, arguments_of
from .guidance import by_features, by_outputs, last_layer_of
from .null_conditions import LABELS, class_condition
from .outputs import Located, prediction_in
from .stated_calls import Calling

SIGMA = "sigma"  # the time that makes an input one of the variance-exploding process


class Adapted(nn.Module):
    """A module that is called by the convention of this package.

    Args:
        network: the module.
        convention: how it is called.
        prediction: what it predicts, one of `sads.path.PREDICTIONS`.
        path: the path from data to noise, which converts predictions and times.
        calling: what its user states about the call.
        time: the form of time that it is given, one of `sads.path.TIMES`.
        reverse: whether time runs from noise to data.
        converted: whether to return noise; otherwise what the module itself predicts.
        guided_at: the layer before which guidance combines features; None to combine outputs.
    """

    def __init__(
        self,
        network: nn.Module,
        convention: Convention,
        prediction: str,
        path: DiffusionPath,
        calling: Calling | None = None,
        *,
        time: str = "index",
        reverse: bool = False,
        converted: bool = True,
        guided_at: str | None = None,
    ):
        super().__init__()
        self.guided_at = guided_at
        self.network = network
        self.convention = convention
        self.calling: Calling = calling or Calling()
        self.condition: tuple[Condition, ...] = self._class()
        self.prediction = prediction
        self.path = path
        self.time = time
        self.reverse = reverse
        self.converted = converted
        tables: dict[str, np.ndarray] = {}
        if converted:
            constant, scale = prediction_named(prediction, reverse=reverse).conversion(path)
            tables = {"constant": constant, "scale": scale}
        if time != "index" or reverse:
            tables["times"] = time_values(time, path, reverse=reverse)
        if time == SIGMA:
            tables["input_scale"] = 1 / path.signal
        for name, table in tables.items():
            values = torch.from_numpy(table)
            values = values.float() if values.is_floating_point() else values
            self.register_buffer(name, values, persistent=False)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        """Predicted noise (N, *shape) for x (N, *shape) at levels t (N,)."""
        unguided = self.calling.guidance is None
        output = self.prediction_of(self.call(x, t), x).value if unguided else self.guided(x, t)
        if self.prediction == "eps" or not isinstance(output, Tensor) or output.shape != x.shape:
            return output  # the caller reports an output of another shape
        if not self.converted:
            return output
        return self._at("constant", t, x) * x + self._at("scale", t, x) * output

    def guided(self, x: Tensor, t: Tensor) -> Tensor:
        """The prediction under guidance for x (N, *shape) at levels t (N,)."""
        calls, scale = self._calls(x, t), float(self.calling.guidance or 0)
        if self.guided_at is None:
            return by_outputs(*calls, scale)
        return by_features(*calls, scale, self.network.get_submodule(self.guided_at))

    def layer_of_guidance(self, x: Tensor, t: Tensor) -> str | None:
        """The layer before which guidance can combine features, determined by a try at x and t.

        Raises:
            InputError: if nothing is passed that guidance could compare with the null condition.
        """
        given = {*self.calling.given(*self.seen(x, t)), *(one.name for one in self.condition)}
        known = {one.name.partition(".")[0] for one in self.convention.conditions}
        if given.isdisjoint(known):
            raise InputError(
                f"guidance compares a condition with the null condition, and "
                f"{type(self.network).__name__} gets none: write class=K as well, or state one "
                "in `inputs(x, t)`"
            )
        return last_layer_of(self.network, *self._calls(x, t), float(self.calling.guidance or 0))

    def _calls(self, x: Tensor, t: Tensor) -> tuple[Any, Any]:
        """A call with or without the null condition, and how its output is read."""
        return (
            lambda null: self.call(x, t, null=null),
            lambda output: self.prediction_of(output, x).value,
        )

    def _class(self) -> tuple[Condition, ...]:
        """The class that is asked for, as the condition that replaces the null condition."""
        label, how = self.calling.label, self.convention
        if label is None:
            return ()
        taking = [p for p in arguments_of(self.network) if p.name in LABELS and p.name != how.time]
        if not taking:
            raise InputError(
                f"class={label}: {type(self.network).__name__} takes no labels of classes "
                f"({', '.join(LABELS)}); a condition of another name is stated in `inputs(x, t)`"
            )
        return (class_condition(self.network, taking[0], label),)

    def call(self, x: Tensor, t: Tensor, *, null: bool = False) -> Any:
        """What the module itself returns for x (N, *shape) at levels t (N,).

        With `null` the null condition takes the place of the class and of what is stated.
        """
        how, (x, t) = self.convention, self.seen(x, t)
        usual, stated = passed(how.conditions, x), self.calling.given(x, t)
        named = stated | usual if null else usual | stated | passed(self.condition, x)
        laid_out = how.input in named
        given = named.pop(how.input, how.arrangement.lay_out(x)) if how.input else x
        time = named.pop(how.time, t) if how.time else t
        if how.alone and laid_out:  # one dictionary, with everything in it
            return self.network(given, **named)
        if how.input_by_keyword:
            named[str(how.input)] = given
            return self.network(**{str(how.time): time}, **named)
        if how.by_keyword:
            return self.network(given, **{str(how.time): time}, **named)
        order = (time, given) if how.time_first else (given, time)
        return self.network(*order, **named)

    def seen(self, x: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        """Input and time in the units of the module, at levels t (N,)."""
        scaled = self._at("input_scale", t, x) * x if self.time == SIGMA else x
        return scaled, self.times_at(t, x)

    def times_at(self, t: Tensor, x: Tensor) -> Tensor:
        """The times that the module is given with inputs x at levels t (N,)."""
        plain = self.time == "index" and not self.reverse
        times = t if plain else self.get_buffer("times")[t]
        return times if self.convention.whole else times.to(x.dtype)

    def prediction_of(self, output: Any, x: Tensor) -> Located:
        """The prediction in the module's output, with its place in words."""
        if (own := self.calling.unpatchify) is not None:
            source = self.calling.source
            return Located(own(output, x), f"`unpatchify`{f' in {source}' if source else ''}")
        arrangement = self.convention.arrangement
        if not isinstance(arrangement, (Packed, FramesFirst)):
            return prediction_in(output, x)
        located = prediction_in(output, arrangement.lay_out(x))
        return Located(arrangement.lay_back(located.value, x), located.where)

    def _at(self, table: str, t: Tensor, x: Tensor) -> Tensor:
        return self.get_buffer(table)[t].view(-1, *(1,) * (x.ndim - 1))


def own_output(network: nn.Module) -> nn.Module:
    """The same network, sharing all parameters, that returns what it itself predicts.

    Raises:
        InputError: under guidance, since networks are trained without it.
    """
    if isinstance(network, Adapted) and network.calling.guidance is not None:
        raise InputError(
            "guidance belongs to sampling: networks are trained without it, so leave guidance= out"
        )
    if not isinstance(network, Adapted) or network.prediction == "eps":
        return network
    return Adapted(
        network.network,
        network.convention,
        network.prediction,
        network.path,
        network.calling,
        time=network.time,
        reverse=network.reverse,
        converted=False,
    )


def own_prediction(network: nn.Module) -> Prediction:
    """What a network itself predicts."""
    if not isinstance(network, Adapted):
        return prediction_named("eps")
    return prediction_named(network.prediction, reverse=network.reverse)


def module_inside(network: nn.Module) -> nn.Module:
    """The module that a factory made, whose layers have their author's names."""
    return network.network if isinstance(network, Adapted) else network
