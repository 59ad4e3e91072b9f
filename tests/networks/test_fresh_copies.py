"""Fresh networks like one that is built already."""

import pytest
import torch
from torch import nn

from sads.errors import NetworkError
from sads.networks.fresh_copies import fresh_networks
from sads.networks.isolation import seeded


class Kept(nn.Module):
    def __init__(self, width: int, act: str = "silu"):
        super().__init__()
        self.width, self.act = width, act
        self.inner = nn.Linear(4, width)

    def forward(self, x, t):
        return self.inner(x)


class Forgetful(nn.Module):
    """Does not keep its width; has constants, normal and uniform parameters."""

    def __init__(self, width: int):
        super().__init__()
        self.inner = nn.Linear(64, width)
        self.normal = nn.Parameter(0.3 * torch.randn(width, 64))
        self.norm = nn.LayerNorm(width)
        self.zero = nn.Parameter(torch.zeros(width))
        self.register_buffer("table", torch.arange(width).float())

    def forward(self, x, t):
        return x


class Resets(Forgetful):
    def reset_parameters(self):
        nn.init.constant_(self.normal, 7.0)


class Configured(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.inner = nn.Linear(4, config["width"])

    @classmethod
    def from_config(cls, config):
        return cls(config)


class Misleading(nn.Module):
    """Its attribute is not the argument it was made with."""

    def __init__(self, width: int):
        super().__init__()
        self.width = 2 * width
        self.inner = nn.Linear(4, width)


@pytest.mark.parametrize(
    ("module", "origin"),
    [
        (Kept(8), "arguments"),
        (Kept(8, act="relu"), "arguments"),
        (nn.Conv2d(1, 2, 3, padding=1, bias=False), "arguments"),
        (Configured({"width": 6}), "configuration"),
        (Resets(32), "reset"),
        (Forgetful(32), "measured"),
        (Misleading(5), "measured"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_class_is_asked_first(module, origin):
    fresh = fresh_networks(module)
    assert fresh.origin == origin
    one, other = (seeded(fresh.factory, seed, "a test of fresh networks") for seed in (0, 1))
    shapes = {name: p.shape for name, p in module.named_parameters()}
    assert {name: p.shape for name, p in one.named_parameters()} == shapes
    if origin != "reset":
        assert any(
            not torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True)
        )
    if isinstance(module, Kept):
        assert one.act == module.act


def test_measured_distributions_are_redrawn():
    torch.manual_seed(3)
    module = Forgetful(96)
    made = seeded(fresh_networks(module).factory, 0, "a test of fresh networks")
    made.requires_grad_(False)
    bound = 1 / 8
    assert made.inner.weight.abs().max() <= bound * 1.05  # uniform stays bounded
    assert made.inner.weight.std() == pytest.approx(bound / 3**0.5, rel=0.05)
    assert made.normal.std() == pytest.approx(0.3, rel=0.05)
    assert made.normal.abs().max() > 0.9  # and normal does not
    assert torch.equal(made.norm.weight, torch.ones(96))
    assert torch.equal(made.zero, torch.zeros(96))
    assert torch.equal(made.table, module.table)
    assert not torch.equal(made.inner.weight, module.inner.weight)


def test_the_built_module_is_left_alone():
    module = Forgetful(16)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    seeded(fresh_networks(module).factory, 0, "a test of fresh networks")
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())


def test_a_module_that_cannot_be_copied_says_what_to_do():
    class Stubborn(Forgetful):
        def __deepcopy__(self, memo):
            raise RuntimeError("no copies")

    with pytest.raises(NetworkError, match="give a function that makes"):
        fresh_networks(Stubborn(4))
