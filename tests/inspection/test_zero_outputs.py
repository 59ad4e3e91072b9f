"""Silent networks: who is to blame, and what redrawing does."""

import pytest
import torch
from torch import nn

from sads.inspection.initial_distributions import recorded
from sads.inspection.zero_outputs import redrawing, silence_of, zero_layers
from sads.networks import DiT, UNet
from sads.networks.adapters import adapt
from sads.networks.initialisation import Constant, Uniform
from sads.path import Schedule
from tests.networks.zoo import ADM, AdaLNZero, Conv, Gained, Preconditioned, TwoInARow, ZeroConvs
from tests.zoo.modules import Checkpointed


class ReZero(Conv):
    """A zero factor whose name tells nothing."""

    def __init__(self):
        super().__init__()
        self.rezero = nn.Parameter(torch.zeros(1))

    def forward(self, x, t):
        return self.rezero * super().forward(x, t)


class ZeroWeight(Conv):
    """The last layer's weight starts at zero, its bias does not (CSDI, DiffWave)."""

    def __init__(self):
        super().__init__()
        nn.init.zeros_(self.out.weight)


class ZeroNorm(Conv):
    """A last norm whose gain starts at zero: the last layer's bias is left."""

    def __init__(self):
        super().__init__()
        self.norm = nn.GroupNorm(2, 8)
        nn.init.zeros_(self.norm.weight)

    def forward(self, x, t):
        return self.out(self.norm(self.trunk(x, t)))


class ShapedBias(Conv):
    """A zero last layer, and a bias with axes of its own beside it."""

    def __init__(self):
        super().__init__()
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)
        self.offset = nn.Parameter(torch.randn(1, 2, 1, 1))

    def forward(self, x, t):
        return super().forward(x, t) + self.offset


# A network whose biases are left differs from others, and still no weight reaches its output.
BIASED = {
    "zero weight": (ZeroWeight, (2, 6, 6), ("out",), ("out",)),
    "zero norm": (ZeroNorm, (2, 6, 6), ("norm",), ("norm",)),
    "zero convolution before a bias": (
        redrawing(ZeroConvs, ("out",)), (2, 6, 6), ("zero",), ("zero",),
    ),
    "a shaped bias": (ShapedBias, (2, 6, 6), ("out",), ("out",)),
}  # fmt: skip


CASES = {
    "adaLN-zero": (AdaLNZero, (1, 8, 8), ("final",), ("adaLN", "final")),
    "adm": (ADM, (2, 6, 6), ("out",), ("out", "branch")),
    "edm2": (Gained, (2, 6, 6), ("out_gain",), ("out_gain",)),
    "edm2-preconditioned": (
        lambda: Preconditioned(Gained()),
        (2, 6, 6),
        ("model.out_gain",),
        ("model.out_gain",),
    ),
    "a factor": (ReZero, (2, 6, 6), ("rezero",), ("rezero",)),
    "zero convolution": (ZeroConvs, (2, 6, 6), ("zero",), ("zero",)),
    "checkpointed": (Checkpointed, (2, 4, 4), ("head",), ("head", "branch")),
    "two in a row": (TwoInARow, (2, 6, 6), (), ("out", "zero")),
    "our U-Net": (
        lambda: UNet((1, 8, 8), channels=8, groups=4, mults=(1,), zero_init=True),
        (1, 8, 8),
        ("head",),
        None,
    ),
    "our DiT": (
        lambda: DiT((1, 8, 8), width=8, depth=1, heads=2, zero_init=True),
        (1, 8, 8),
        ("head",),
        ("blocks.0.modulation", "modulation", "head"),
    ),
} | BIASED


def output(network: nn.Module, shape) -> torch.Tensor:
    x = torch.randn(1, *shape, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        return network.eval()(x, torch.tensor([5]))


@pytest.mark.parametrize("case", CASES)
def test_the_layer_that_zeroes_the_output_is_found(case):
    make, shape, layers, zeros = CASES[case]
    network = adapt(make(), case, Schedule())
    x = torch.randn(1, *shape)
    silence = silence_of(network, x, torch.tensor([5]))
    assert silence is not None
    assert silence.layers == layers
    if zeros is not None:
        assert set(silence.zeros) == set(zeros)


@pytest.mark.parametrize("case", CASES)
def test_biases_that_are_left_are_told(case):
    make, shape, _, _ = CASES[case]
    silence = silence_of(adapt(make(), case, Schedule()), torch.randn(1, *shape), torch.tensor([5]))
    assert silence is not None
    assert silence.biased == (case in BIASED)


def test_a_bias_that_is_left_is_kept_when_its_layer_is_redrawn():
    def make():
        network = ZeroWeight()
        nn.init.constant_(network.out.bias, 7.0)
        return network

    network, known = recorded(redrawing(make, ("out",)))
    assert bool((network.out.bias == 7).all())
    assert bool(network.out.weight.any())
    # Looking at the bias has not made its distribution unknown.
    assert known["out.bias"] == Constant(7.0)
    assert known["out.weight"] == Uniform(pytest.approx(1 / (8 * 9) ** 0.5))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("policy", ["last", "all"])
def test_redrawing_wakes_the_output(case, policy):
    make, shape, layers, _ = CASES[case]
    network = make()
    silence = silence_of(
        adapt(network, case, Schedule()), torch.randn(1, *shape), torch.tensor([5])
    )
    names = layers if policy == "last" else silence.zeros
    if not names:
        pytest.skip("no single layer is to blame")
    first, second = (adapt(redrawing(make, names)(), case, Schedule()) for _ in range(2))
    assert not torch.equal(output(first, shape), output(second, shape))
    if policy == "all":
        assert zero_layers(redrawing(make, names)()) == ()


def test_redrawn_layers_have_their_own_default_and_gains_are_one():
    network = redrawing(ADM, ("out",))()
    bound = 1 / (8 * 9) ** 0.5
    assert 0.9 * bound < network.out.weight.abs().max() <= bound
    assert torch.all(network.branch.weight == 0)
    assert redrawing(Gained, ("out_gain",))().out_gain == 1


def test_a_network_that_speaks_is_not_blamed():
    network = Conv()
    assert zero_layers(network) == ()
    assert silence_of(network, torch.randn(1, 2, 6, 6), torch.tensor([5])) is None


def test_gradients_are_as_before_afterwards():
    network = ADM().requires_grad_(False)
    silence_of(network, torch.randn(1, 2, 6, 6), torch.tensor([5]))
    assert not any(p.requires_grad for p in network.parameters())
