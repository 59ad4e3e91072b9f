"""Factories of tiny networks as other people write them, found by name: `tests.zoo.foreign:tuples`.

Each is special in one way and takes samples of 1x4x4 unless `SUBJECTS` says otherwise.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import nn

import sads
from sads.networks import CNN, ScoreFamily
from tests.networks.zoo import Conv, Flat, Keyword, Labelled, Pair, Preconditioned, Sampled
from tests.networks.zoo import zero_module as zeroed

WIDTH = 4


@dataclass(frozen=True)
class Subject:
    """A network that is taken through every verb.

    Attributes:
        factory: name of a function of this module.
        shape: of one sample.
        expected: what it must be taken to predict.
        prediction: what it is said to predict; None where nobody says it.
        options: more of the grammar, which tell its path and time.
        zero_output: the policy under which it has a geometry.
    """

    factory: str
    shape: tuple[int, ...] = (1, 4, 4)
    expected: str = "eps"
    prediction: str | None = None
    options: str = ""
    zero_output: str = "explain"

    @property
    def name(self) -> str:
        """The network in the grammar."""
        told = "" if self.prediction is None else f",prediction={self.prediction}"
        return f"{__name__}:{self.factory}{told}{self.options}"

    @cached_property
    def family(self) -> ScoreFamily:
        return sads.network(self.name, shape=self.shape)


def tensors() -> nn.Module:
    return Conv(channels=1, width=WIDTH)


def objects() -> nn.Module:
    return Sampled(channels=1, width=WIDTH)


def tuples() -> nn.Module:
    return Pair(channels=1, width=WIDTH)


def dictionaries() -> nn.Module:
    class Mapped(Conv):
        def forward(self, x, t):
            return {"sample": super().forward(x, t), "mask": None}

    return Mapped(channels=1, width=WIDTH)


def keywords() -> nn.Module:
    return Keyword(channels=1, width=WIDTH)


def time_first() -> nn.Module:
    class Field(Conv):
        def forward(self, t, x):
            return super().forward(x, t)

    return Field(channels=1, width=WIDTH)


def sigmas() -> nn.Module:
    return Preconditioned(Conv(channels=1, width=WIDTH))


def labels() -> nn.Module:
    return Labelled()


def variances() -> nn.Module:
    return Conv(channels=1, width=WIDTH, out=2)


def velocities() -> nn.Module:
    return Conv(channels=1, width=WIDTH)


def signals() -> nn.Module:
    return Conv(channels=1, width=WIDTH, dims=1)


def vectors() -> nn.Module:
    return Flat(size=6, width=WIDTH)


def zeros() -> nn.Module:
    network = Conv(channels=1, width=WIDTH)
    zeroed(network.out)
    return network


def cosines() -> nn.Module:
    return Conv(channels=1, width=WIDTH)


def flows() -> nn.Module:
    return Conv(channels=1, width=WIDTH)


def turned() -> nn.Module:
    return CNN((1, 4, 4), width=WIDTH, depth=1)


def dropouts() -> nn.Module:
    class Dropping(Conv):
        def forward(self, x, t):
            return super().forward(torch.dropout(x, 0.1, self.training), t)

    return Dropping(channels=1, width=WIDTH)


def stated() -> nn.Module:
    """Needs what its file states: a depth, a time for each row, patches put together."""

    class Deep(Conv):
        def forward(self, x, times, depth):
            out = super().forward(x + depth, times[:, 0])
            return out.unfold(2, 2, 2).unfold(3, 2, 2).flatten(4).flatten(1, 3)

    return Deep(channels=1, width=WIDTH)


def stated_inputs(x, t):
    return {"times": t[:, None].expand(-1, 4), "depth": torch.zeros_like(x)}


def stated_unpatchify(output, x):
    return output.view(-1, 2, 2, 2, 2).transpose(2, 3).reshape(x.shape)


def videos() -> nn.Module:
    class Video(Conv):
        def forward(self, x, t):
            flat = x.transpose(1, 2).flatten(0, 1)
            each = super().forward(flat, t.repeat_interleave(x.shape[2]))
            return {"video": each.view(x.transpose(1, 2).shape).movedim(2, -1)[..., 0][:, None]}

    return Video(channels=1, width=WIDTH)


def ours() -> nn.Module:
    return CNN((1, 4, 4), width=WIDTH, depth=1)


SUBJECTS = [
    Subject("tensors"),
    Subject("objects"),
    Subject("tuples"),
    Subject("dictionaries"),
    Subject("keywords"),
    Subject("time_first"),
    Subject("sigmas", expected="x0"),
    Subject("labels", shape=(2, 4, 4)),
    Subject("variances"),
    Subject("velocities", prediction="v", expected="v"),
    Subject("signals", shape=(1, 16)),
    Subject("vectors", shape=(6,)),
    Subject("zeros", zero_output="last"),
    Subject("cosines", options=",path=cosine,levels=500"),
    Subject("flows", prediction="flow", expected="flow"),
    Subject("turned", prediction="flow", expected="flow", options=",time=thousand,reverse"),
    Subject("dropouts"),
    Subject("stated"),
    Subject("videos", shape=(1, 2, 4, 4)),
    Subject("ours"),
]
