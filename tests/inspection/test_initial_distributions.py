"""Initial distributions told by watching a factory, and networks drawn from them."""

import math

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from sads.inspection.initial_distributions import agreed, recorded
from sads.networks.initialisation import Constant, Normal, Uniform
from sads.networks.isolation import seeded
from tests.networks.zoo import ADM, Conv, Flat, Gained


def made(fill) -> nn.Module:
    layer = nn.Linear(8, 6)
    with torch.no_grad():
        result = fill(layer.weight)
    if isinstance(result, nn.Parameter) and result is not layer.weight:
        layer.weight = result
    return layer


KNOWN = {
    "default": (lambda w: None, Uniform(1 / math.sqrt(8))),
    "xavier": (nn.init.xavier_uniform_, Uniform(math.sqrt(6 / 14))),
    "normal": (lambda w: nn.init.normal_(w, std=0.02), Normal(0.02)),
    "zero": (nn.init.zeros_, Constant(0.0)),
    "zero by detach": (lambda w: w.detach().zero_(), Constant(0.0)),
    "ones": (nn.init.ones_, Constant(1.0)),
    "scaled": (lambda w: w.mul_(0.5), Uniform(0.5 / math.sqrt(8))),
    "divided": (lambda w: w.div_(-2), Uniform(0.5 / math.sqrt(8))),
    "zero, then drawn": (lambda w: nn.init.normal_(w.zero_()), Normal(1.0)),
    "made of noise": (lambda w: nn.Parameter(torch.randn(6, 8) * 0.1), Normal(0.1)),
    "divided noise": (lambda w: nn.Parameter(torch.randn(6, 8) / 4), Normal(0.25)),
    "centred noise": (lambda w: nn.Parameter(0.3 * (torch.rand(6, 8) * 2 - 1)), Uniform(0.3)),
    "times zero": (lambda w: nn.Parameter(torch.randn(6, 8) * 0), Constant(0.0)),
    "centred in place": (lambda w: w.uniform_(0, 1).sub_(0.5), Uniform(0.5)),
    "full": (lambda w: nn.Parameter(torch.full((6, 8), 0.3)), Constant(0.3)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_distributions(name):
    fill, expected = KNOWN[name]
    _, distributions = recorded(lambda: made(fill))
    weight = distributions["weight"]
    assert type(weight) is type(expected)
    value = {Uniform: "bound", Normal: "std", Constant: "value"}[type(expected)]
    assert getattr(weight, value) == pytest.approx(getattr(expected, value))
    assert distributions["bias"] == Uniform(pytest.approx(1 / math.sqrt(8)))


UNKNOWN = {
    "truncated": lambda w: nn.init.trunc_normal_(w, std=0.02),
    "orthogonal": nn.init.orthogonal_,
    "positive": lambda w: w.uniform_(0, 1),
    "shifted": lambda w: w.add_(1),
    "shifted noise": lambda w: w.normal_().add_(1),
    "shifted twice": lambda w: w.uniform_(-1, 2).add_(-0.25, alpha=2),
    "in part": lambda w: w[:3].zero_(),
    "in parts": lambda w: [nn.init.normal_(part) for part in w.chunk(2)],
    "copied": lambda w: w.copy_(torch.randn(6, 8)),
    "from numpy": lambda w: nn.Parameter(torch.from_numpy(np.ones((6, 8), np.float32))),
    "one entry": lambda w: w.view(-1)[3].fill_(2.0),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_distributions(name):
    _, distributions = recorded(lambda: made(UNKNOWN[name]))
    assert distributions["weight"] is None


def test_two_parameters_in_one_storage_are_unknown():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            both = torch.randn(2, 4)
            self.a, self.b = nn.Parameter(both[0]), nn.Parameter(both[1])

    assert set(recorded(Shared)[1].values()) == {None}


def test_networks_must_agree_on_a_distribution():
    """The scale of a layer, or which distribution it is, may be drawn by the factory."""

    def drawn_scale(w):
        nn.init.normal_(w, std=10 ** float(np.random.default_rng(next(seeds)).uniform(-2, 2)))

    seeds = iter(range(100))
    records = [recorded(lambda: made(drawn_scale))[1] for _ in range(3)]
    assert all(isinstance(record["weight"], Normal) for record in records)
    distributions = agreed(records)
    assert distributions["weight"] is None
    assert distributions["bias"] == Uniform(pytest.approx(1 / math.sqrt(8)))
    two_kinds = [recorded(lambda fill=f: made(fill))[1] for f in (nn.init.zeros_, nn.init.ones_)]
    assert agreed(two_kinds)["weight"] is None


@pytest.mark.parametrize("kind", [Conv, Flat, Gained, ADM])
def test_drawn_and_constructed_parameters_have_one_distribution(kind):
    """Kolmogorov-Smirnov test of each parameter; all together fail by chance once in 10^4 runs."""
    _, known = recorded(kind)
    rng = np.random.default_rng(0)
    networks = [seeded(kind, seed, "test") for seed in range(60)]
    p_values = []
    for name, distribution in known.items():
        built = torch.stack([n.get_parameter(name).detach() for n in networks])
        drawn = distribution.draw(tuple(built.shape), rng)
        if isinstance(distribution, Constant):
            assert torch.equal(drawn, built), name
            continue
        p_values.append(stats.ks_2samp(drawn.flatten(), built.flatten()).pvalue)
        spread = 6 / math.sqrt(2 * built.numel())
        assert drawn.std().item() == pytest.approx(built.std().item(), rel=spread)
    assert min(p_values) > 1e-4 / len(p_values)


def test_the_comparison_has_power():
    """A standard deviation that is 15 % off is seen in a layer of this size."""
    built = torch.stack([nn.Conv2d(8, 8, 3).weight.detach() for _ in range(60)])
    wrong = Uniform(1.15 / math.sqrt(72)).draw(tuple(built.shape), np.random.default_rng(0))
    assert stats.ks_2samp(wrong.flatten(), built.flatten()).pvalue < 1e-8
