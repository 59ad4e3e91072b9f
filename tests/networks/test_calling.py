"""How modules are called, what is said about it, and what is said when it fails."""

import pytest
import torch
from torch import nn

from sads.networks.adapters import adapt
from sads.networks.adapters.convention import convention_of
from sads.schedule import Schedule

from .zoo import Conv

SCHEDULE = Schedule()
X = torch.randn(3, 2, 6, 6, generator=torch.Generator().manual_seed(0))
T = torch.tensor([1, 5, 900])


class Recording(nn.Module):
    """Keeps what it was called with, by the names of its own signature."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(2, 2, 1)
        self.seen = {}

    def note(self, x, **given):
        self.seen = given
        return self.layer(x)


class Labels(Recording):  # score_sde's DDPM
    def forward(self, x, labels):
        return self.note(x, time=labels)


class Cond(Recording):
    def forward(self, x, cond):
        return self.note(x, time=cond)


class OnlyY(Recording):  # NCSN
    def forward(self, x, y):
        return self.note(x, time=y)


class Late(Recording):
    def forward(self, x, y, t):
        return self.note(x, time=t, label=y)


class Usual(Recording):
    def forward(self, x, t, y):
        return self.note(x, time=t, label=y)


class Elucidated(Recording):  # the U-Nets of EDM
    def forward(self, x, noise_labels, class_labels, augment_labels=None):
        return self.note(x, time=noise_labels, label=class_labels)


class Imputing(Recording):  # DiffWave's name, behind another optional argument
    def forward(self, x, mask=None, diffusion_step=None):
        return self.note(x, time=diffusion_step)


class OptionalTime(Recording):
    def forward(self, x, labels=None):
        return self.note(x, time=labels)


class KeywordOnly(Recording):
    def forward(self, x, *, moment):
        return self.note(x, time=moment)


class PositionOnly(Recording):
    def forward(self, x, timesteps, /):
        return self.note(x, time=timesteps)


class TimeFirst(Recording):  # torchdiffeq, torchcfm
    def forward(self, t, x, y=None):
        return self.note(x, time=t)


class Starred(Recording):
    def forward(self, *args):
        return self.note(args[0], time=args[1])


CALLED = [Labels, Cond, OnlyY, Late, Usual, Elucidated, Imputing, OptionalTime]
CALLED += [KeywordOnly, PositionOnly, TimeFirst, Starred]


@pytest.mark.parametrize("kind", CALLED)
def test_the_time_reaches_the_argument_that_takes_it(kind):
    network = kind()
    output = adapt(network, "mine", SCHEDULE)(X, T)
    assert torch.equal(network.seen.pop("time"), T)
    for label in network.seen.values():
        assert label.tolist() == [0, 0, 0]
    torch.testing.assert_close(output, network.layer(X))
