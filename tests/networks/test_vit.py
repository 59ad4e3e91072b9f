"""What the plain transformer does and which symmetries it has."""

import numpy as np
import pytest
import torch

from sads.directions.reflections import Reflection
from sads.directions.symmetry import symmetry_p_value
from sads.geometry import Gaussian, Zero, estimate_geometry
from sads.networks import ScoreFamily, ViT
from sads.path import Schedule

FIELDS = {"patch": 2, "width": 16, "depth": 2}


def vit(**fields) -> ViT:
    network = ViT((1, 8, 8), **{**FIELDS, **fields})
    network.reset(seed=1)
    return network.double().eval()


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(2, 1, 8, 8, generator=torch.Generator().manual_seed(0)).double()
    return x, torch.tensor([3, 700])


@torch.no_grad()
def within_patches(network: ViT, reflect) -> None:
    """Reflect the pixels inside each patch, at both ends of the network."""
    network.embed.weight.copy_(reflect(network.embed.weight.clone()))
    for name in ("weight", "bias"):
        parameter = network.get_parameter(f"head.{name}")
        pixels = parameter.clone().reshape(2, 2, 1, -1)
        reflected = reflect(pixels.permute(3, 2, 0, 1)).permute(2, 3, 1, 0)
        parameter.copy_(reflected.reshape(parameter.shape))


@pytest.mark.parametrize(
    "reflect",
    [lambda z: z.flip(-1), lambda z: z.flip(-2), lambda z: z.transpose(-1, -2)],
    ids=["left-right", "up-down", "transpose"],
)
def test_learned_positions_allow_every_reflection(reflect):
    """Reflected parameters, which are as likely, give the reflected output."""
    network, (x, t) = vit(), inputs()
    with torch.no_grad():
        expected = reflect(network(x, t))
        grid = network.positions.clone().view(4, 4, 16).permute(2, 0, 1)
        network.positions.copy_(reflect(grid).permute(1, 2, 0).reshape(16, 16))
        within_patches(network, reflect)
        torch.testing.assert_close(network(reflect(x), t), expected)


@torch.no_grad()
def swap_halves(network: ViT) -> None:
    """Exchange the halves of the hidden channels, which hold column and row of `sincos`."""

    def swap(weight: torch.Tensor, axis: int) -> None:
        weight.copy_(torch.roll(weight, 8, axis))

    for weight in (network.embed.weight, network.time[2].weight, network.time[2].bias):
        swap(weight, 0)
    for block in network.blocks:
        for layer in (block.qkv, block.mlp_in):
            swap(layer.weight, 1)
        for layer in (block.proj, block.mlp_out):
            swap(layer.weight, 0)
    swap(network.head.weight, 1)


def test_fixed_positions_allow_the_transpose():
    network, (x, t) = vit(positions="sincos"), inputs()
    with torch.no_grad():
        expected = network(x, t).transpose(-1, -2)
        within_patches(network, lambda z: z.transpose(-1, -2))
        swap_halves(network)
        torch.testing.assert_close(network(x.transpose(-1, -2), t), expected)
    assert network.symmetries == ("transpose",)


def test_fixed_positions_break_flips():
    """So they are not declared: the data would veto them (false alarms: 1 in 1,000)."""
    family = ScoreFamily(
        lambda: ViT((1, 8, 8), **FIELDS, positions="sincos"), (1, 8, 8), Schedule("linear", 50)
    )
    geometry = estimate_geometry(family, networks=1536)
    flip = Reflection(np.arange(16).reshape(4, 4)[:, ::-1].reshape(-1))
    assert symmetry_p_value(geometry.folds, flip) < 0.001
    transpose = Reflection(np.arange(16).reshape(4, 4).T.reshape(-1))
    assert symmetry_p_value(geometry.folds, transpose) >= 0.001


def patches(x: torch.Tensor) -> torch.Tensor:
    """(N, 1, 8, 8) to (N, 16, 2, 2)."""
    return x.unfold(2, 2, 2).unfold(3, 2, 2).reshape(-1, 16, 2, 2)


def test_tokens_with_learned_positions_are_exchangeable():
    """Positions in another order, which is as likely, move the patches of the output along."""
    network, (x, t) = vit(), inputs()
    order = torch.randperm(16, generator=torch.Generator().manual_seed(2))
    moved = patches(x)[:, order].view(-1, 4, 4, 2, 2).transpose(2, 3).reshape(-1, 1, 8, 8)
    with torch.no_grad():
        expected = patches(network(x, t))[:, order]
        network.positions.copy_(network.positions[order])
        torch.testing.assert_close(patches(network(moved, t)), expected)


@pytest.mark.parametrize("probe", [Zero(), Gaussian(1.0)], ids=["zero", "gaussian"])
def test_learned_positions_leave_two_eigenvalues(probe):
    """The factor goes to alpha I + beta 1 1^T: by a factor of 4 nearer with 16 times the networks.

    Seen orthogonally to the constant, which would outweigh the rest, and without averaging over
    symmetries: over its 119 entries the ratio of the distances has a standard error of 9 %.
    """
    family = ScoreFamily(lambda: ViT((1, 8, 8), **FIELDS), (1, 8, 8), Schedule("linear", 50))
    centring = np.eye(16) - 1 / 16
    distances = []
    for networks in (384, 6144):
        folds = estimate_geometry(family, probe=probe, networks=networks).folds
        factor = centring @ np.mean(folds, axis=0) @ centring
        level = np.trace(factor) / 15 * centring
        distances.append(np.linalg.norm(factor - level) / np.linalg.norm(factor))
    assert distances[0] / distances[1] == pytest.approx(4, rel=0.35)


def test_time_matters_at_initialisation():
    network, (x, _) = vit(), inputs()
    with torch.no_grad():
        early, late = (network(x, torch.full((2,), t)) for t in (5, 900))
    assert (early - late).norm() > 0.01 * early.norm()
