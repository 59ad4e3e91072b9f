"""One suite that every network passes, and facts about single ones."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sads.errors import InputError
from sads.networks import CNN, MLP, PRESETS, SSM, DiT, Linear, UNet, ViT, preset_family
from sads.networks.initialisation import Constant, Uniform, default_distributions
from sads.networks.layers import Downsample, GroupNorm, Upsample
from sads.specs.coercion import as_family

NETWORKS = {
    "unet": lambda: UNet((1, 8, 8), channels=8, groups=4, mults=(1, 2)),
    "unet-area": lambda: UNet((2, 8, 8), channels=8, groups=4, mults=(1, 1), resampling="area"),
    "unet-1d": lambda: UNet((2, 16), channels=8, groups=8, mults=(1, 1, 1)),
    "unet-scale-shift": lambda: UNet(
        (1, 4, 4), channels=8, groups=8, mults=(1,), embedding="scale-shift"
    ),
    "unet-bypass": lambda: UNet((1, 4, 4), channels=8, groups=8, mults=(1,), norm_bypass=True),
    "unet-timeless": lambda: UNet((1, 4, 4), channels=8, groups=4, mults=(1,), embedding="none"),
    "dit-1": lambda: DiT((1, 4, 4), patch=1, width=16, depth=2),
    "dit-2": lambda: DiT((3, 8, 4), patch=2, width=16, depth=2),
    "mlp": lambda: MLP((1, 4, 4), width=16),
    "mlp-flat": lambda: MLP((7,), width=16),
    "cnn": lambda: CNN((3, 6, 6), width=8),
    "cnn-1d": lambda: CNN((1, 10), width=8),
    "vit": lambda: ViT((3, 8, 4), patch=2, width=16, depth=2),
    "vit-sincos": lambda: ViT((1, 6, 6), patch=3, width=16, depth=2, positions="sincos"),
    "ssm": lambda: SSM((2, 13), width=16, depth=2, states=8),
    "ssm-causal": lambda: SSM((1, 10), width=16, depth=2, states=8, bidirectional=False),
    "ssm-image": lambda: SSM((3, 4, 5), width=16, depth=2, states=8),
    "linear": lambda: Linear((5,), rotation=3),
}


@pytest.fixture(params=NETWORKS)
def network(request) -> nn.Module:
    return NETWORKS[request.param]().eval()


def test_output_has_the_shape_of_the_input_and_is_repeatable(network):
    x, t = torch.randn(3, *network.shape), torch.tensor([0, 500, 999])
    with torch.no_grad():
        first = network(x, t)
        assert first.shape == x.shape
        assert torch.isfinite(first).all()
        assert torch.equal(first, network(x, t))
        # Samples do not see each other.
        torch.testing.assert_close(network(x[1:2], t[1:2]), first[1:2], rtol=1e-4, atol=1e-5)


def test_every_parameter_has_a_declared_distribution_that_it_follows(network):
    declared = network.distributions()
    assert set(declared) == {name for name, _ in network.named_parameters()}
    network.reset(seed=1)
    for name, parameter in network.named_parameters():
        expected = declared[name]
        if isinstance(expected, Constant):
            assert torch.all(parameter == expected.value), name
            continue
        if isinstance(expected, Uniform):
            assert parameter.abs().max() <= expected.bound, name
        if parameter.numel() >= 256:  # relative spread of a variance of n uniforms: 0.9/sqrt(n)
            spread = 5 / math.sqrt(parameter.numel())
            assert parameter.var().item() == pytest.approx(expected.variance, rel=spread), name


def test_reset_is_a_function_of_the_seed(network):
    def values() -> torch.Tensor:
        return torch.cat([p.detach().flatten() for p in network.parameters()])

    network.reset(seed=5)
    first = values()
    network.reset(seed=6)
    other = values()
    network.reset(seed=5)
    assert torch.equal(values(), first)
    assert not torch.equal(other, first)


@pytest.mark.parametrize("layer", [nn.Linear(7, 3), nn.Conv2d(4, 3, 3), nn.Conv1d(2, 5, 1)])
def test_default_distribution_is_pytorchs(layer):
    """The bound is attained: among 20,000 fresh parameters the largest is within 1 % of it."""
    declared = default_distributions(layer)
    for name, parameter in layer.named_parameters():
        draws = []
        while sum(d.numel() for d in draws) < 20_000:
            layer.reset_parameters()
            draws.append(parameter.detach().clone().flatten())
        largest = torch.cat(draws).abs().max().item()
        assert 0.99 * declared[name].bound <= largest <= declared[name].bound


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("iddpm-16", 381_121),
        ("iddpm-mnist", 551_713),
        ("iddpm-celeba", 718_049),
        ("iddpm-cifar10", 719_203),
    ],
)
def test_parameter_counts_of_the_paper(name, count):
    assert sum(p.numel() for p in preset_family(name).factory().parameters()) == count


@pytest.mark.parametrize(
    "fields", [{}, {"mults": (1, 1), "zero_init": False}, {"resampling": "area", "groups": 8}]
)
def test_names_can_be_read_again(fields):
    name = preset_family("iddpm-16", **fields).name
    assert as_family(name).name == name


def test_fingerprints_tell_what_parameters_do_not():
    def print_of(**fields) -> str:
        return preset_family("iddpm-16", **fields).fingerprint

    assert print_of() == print_of()
    assert (
        len({print_of(), print_of(resampling="area"), print_of(heads=2), print_of(groups=8)}) == 4
    )


def test_presets_leave_the_global_state_alone():
    state = torch.get_rng_state()
    preset_family("iddpm-16")
    preset_family("dit-2")
    assert torch.equal(torch.get_rng_state(), state)


def test_presets_train_as_table_1_says():
    assert PRESETS["iddpm-cifar10"].training.iterations == 200_000
    assert PRESETS["dit-4"].training.iterations == 2 * PRESETS["dit-2"].training.iterations
    assert PRESETS["iddpm-16"].training.learning_rate == 1e-4
    assert PRESETS["dit-4"].fields["patch"] == 4


@pytest.mark.parametrize("groups", [1, 4, 8])
def test_group_norm_is_torchs(groups):
    ours, theirs = GroupNorm(groups, 8).double(), nn.GroupNorm(groups, 8).double()
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 8, 5, 3, dtype=torch.float64)
    torch.testing.assert_close(ours(x), theirs(x))


@pytest.mark.parametrize("spatial", [(5,), (3, 4)])
def test_a_bypass_adds_the_mean_of_each_channel(spatial):
    norm, x = GroupNorm(2, 6, bypass=True), torch.randn(4, 6, *spatial)
    means = x.mean(dim=tuple(range(2, x.ndim)), keepdim=True)
    torch.testing.assert_close(norm(x), F.group_norm(x, 2) + means)


def changes(**fields) -> tuple[float, float]:
    """How much a U-Net's output changes with the time, and how much with the mean of its input.

    All parameters are moved, as training would, so that what is found cannot be learned away. The
    image wraps around, since zero padding would show the mean at its borders.
    """
    torch.manual_seed(0)
    network = UNet((1, 8, 8), channels=8, mults=(1, 1), **fields).double()
    for parameter in network.parameters():
        parameter.data += 0.3 * torch.randn_like(parameter)
    for module in network.modules():
        if isinstance(module, nn.Conv2d) and module.kernel_size == (3, 3):
            module.padding_mode = "circular"
            module._reversed_padding_repeated_twice = [1, 1, 1, 1]
    x = torch.randn(3, 1, 8, 8).double()
    early, late = torch.tensor([10.0] * 3), torch.tensor([900.0] * 3)
    with torch.no_grad():
        output = network(x, early)
        moved = [network(x, late) - output, network(x + 1, early) - output]
        return tuple(float(change.norm() / output.norm()) for change in moved)


@pytest.mark.parametrize(
    ("fields", "sees_time"),
    [
        ({"groups": 8}, False),  # the paper's: one channel a group
        ({"groups": 8, "norm_bypass": True, "embedding": "none"}, False),
        ({"groups": 2, "embedding": "none"}, False),
        ({"groups": 8, "embedding": "scale-shift"}, True),
        ({"groups": 8, "norm_bypass": True}, True),
        ({"groups": 2}, True),
    ],
)
def test_which_unet_sees_the_time(fields, sees_time):
    change = changes(**fields)[0]
    assert change > 0.1 if sees_time else change < 1e-12


def test_what_lets_a_unet_see_the_mean():
    """One channel a group leaves only the pairs after each concatenation, which see it faintly."""
    plain = changes(groups=8, embedding="none")[1]
    bypass = changes(groups=8, norm_bypass=True, embedding="none")[1]
    wide = changes(groups=2, embedding="none")[1]
    assert 0.01 < plain < 0.25 * min(bypass, wide)


@pytest.mark.parametrize("field", ["embedding=scale-shift", "embedding=none", "norm_bypass=true"])
def test_the_grammar_knows_the_fields_of_the_unet(field):
    family = as_family(f"iddpm-16,{field}", shape="1x8x8")
    assert family.name == f"iddpm-16,{field}"
    assert family.fingerprint != as_family("iddpm-16", shape="1x8x8").fingerprint


def test_scale_shift_is_what_it_says():
    block = UNet((1, 4, 4), channels=8, groups=4, mults=(1,), embedding="scale-shift").middle_in
    x, embedding = torch.randn(2, 8, 4, 4), torch.randn(2, 32)
    scale, shift = block.time(F.silu(embedding))[..., None, None].chunk(2, dim=1)
    inner = block.norm_out(block.conv_in(F.silu(block.norm_in(x)))) * (1 + scale) + shift
    torch.testing.assert_close(block(x, embedding), x + block.conv_out(F.silu(inner)))


def test_group_norm_is_exact_on_constant_groups_where_torchs_is_not():
    x = torch.full((1, 4, 7, 7), 0.1) * torch.tensor([1.0, 3.3, -0.7, 1e3]).view(1, 4, 1, 1)
    assert torch.all(GroupNorm(4, 4)(x) == 0)
    assert torch.any(nn.GroupNorm(4, 4)(x) != 0)


def test_float32_unet_agrees_with_float64_at_zero():
    """Two blocks a level: with torch's own norm the two precisions differ by more than 100 %."""
    network = preset_family("iddpm-mnist").factory().eval()
    x, t = torch.zeros(1, 1, 28, 28), torch.tensor([3.0])
    with torch.no_grad():
        single, double = network(x, t), network.double()(x.double(), t.double())
    assert (single - double).norm() / double.norm() < 1e-3


@pytest.mark.parametrize("dims", [1, 2])
def test_area_resampling_is_torchs_interpolation(dims):
    x = torch.randn(2, 3, *(8,) * dims)
    down = Downsample(3, dims=dims, resampling="area")
    expected = F.interpolate(down.conv(x), scale_factor=0.5, mode="area")
    torch.testing.assert_close(down(x), expected)
    up = Upsample(3, dims=dims)
    for mode in ("area", "nearest"):
        torch.testing.assert_close(up(x), up.conv(F.interpolate(x, scale_factor=2, mode=mode)))


def test_zero_init_makes_the_output_zero():
    x, t = torch.randn(1, 1, 8, 8), torch.tensor([5])
    with torch.no_grad():
        unet = UNet((1, 8, 8), channels=8, groups=4, mults=(1, 1), zero_init=True)
        assert torch.all(unet(x, t) == 0)
        assert torch.all(DiT((1, 8, 8), width=16, depth=1, zero_init=True)(x, t) == 0)


def test_dit_blocks_are_the_identity_at_initialisation():
    network = DiT((1, 8, 8), patch=2, width=16, depth=3)
    tokens, condition = torch.randn(2, 16, 16), torch.randn(2, 16)
    with torch.no_grad():
        for block in network.blocks:
            assert torch.equal(block(tokens, condition), tokens)


def test_unpatchify_inverts_patchify():
    network = DiT((2, 6, 4), patch=2, width=16, depth=1)
    x = torch.arange(48.0).view(1, 2, 6, 4)
    patches = x.unfold(2, 2, 2).unfold(3, 2, 2)  # (1, C, rows, columns, p, q)
    tokens = patches.permute(0, 2, 3, 4, 5, 1).reshape(1, 6, 8)
    assert torch.equal(network.arrange(tokens), x)


def test_linear_network_has_the_asked_eigenvalues():
    phi = Linear((4,), eigenvalues=(8, 5, 3, 2), rotation=1).phi.double().numpy()
    np.testing.assert_allclose(np.linalg.eigvalsh(phi @ phi.T), [2, 3, 5, 8], rtol=1e-5)


@pytest.mark.parametrize(
    "build",
    [
        lambda: UNet((1, 13, 13)),
        lambda: UNet((1, 16, 16), groups=5),
        lambda: UNet((1, 16, 16), resampling="bilinear"),
        lambda: UNet((1, 16, 16), embedding="multiplied"),
        lambda: UNet((16,)),
        lambda: UNet((1, 16, 16), depth=0),
        lambda: DiT((1, 15, 16), patch=2),
        lambda: DiT((1, 16), patch=2),
        lambda: DiT((1, 16, 16), width=30),
        lambda: DiT((1, 16, 16), patch=0),
        lambda: DiT((1, 16, 16), heads=0),
        lambda: DiT((1, 16, 16), depth=-1),
        lambda: ViT((1, 15, 16), patch=2),
        lambda: ViT((1, 16), patch=2),
        lambda: ViT((1, 16, 16), width=30),
        lambda: ViT((1, 16, 16), heads=5),
        lambda: ViT((1, 16, 16), depth=0),
        lambda: ViT((1, 16, 16), positions="rotary"),
        lambda: SSM((5,)),
        lambda: SSM((1, 16), width=7),
        lambda: SSM((1, 16), states=0),
        lambda: SSM((1, 16), depth=0),
        lambda: MLP((4,), depth=0),
        lambda: CNN((1, 4, 4), depth=0),
        lambda: Linear((3,), rotation=-1),
        lambda: preset_family("mlp", width=10**9),
        lambda: CNN((5,)),
        lambda: Linear((3,), eigenvalues=(1, 2)),
        lambda: preset_family("iddpm-17"),
        lambda: preset_family("iddpm-16", grups=8),
    ],
)
def test_what_a_network_cannot_take_is_refused(build):
    with pytest.raises(InputError):
        build()
