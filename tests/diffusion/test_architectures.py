"""Networks that are not the paper's train as well, all of their parameters."""

import pytest
import torch

from sads.diffusion import Settings, train
from sads.networks import preset_family


@pytest.mark.parametrize(
    ("name", "shape"),
    [("vit", (1, 4, 4)), ("ssm", (1, 16)), ("ssm", (1, 4, 4))],
    ids=["vit", "ssm", "ssm-image"],
)
def test_the_loss_falls(name, shape):
    family = preset_family(name, shape=shape, width=16, depth=2)
    samples = torch.ones(64, *shape)
    trained = train(family, samples, Settings(iterations=60, batch_size=32, learning_rate=1e-2))
    # A network that ignores its input has a loss of one; half of that needs input and time.
    assert trained.losses[-10:].mean() < 0.5 < trained.losses[:5].mean()


@pytest.mark.parametrize("name", ["vit", "ssm"])
def test_every_parameter_learns(name):
    network = preset_family(name, width=16, depth=2).factory()
    x = torch.randn(2, *network.shape, generator=torch.Generator().manual_seed(0))
    network(x, torch.tensor([3, 400])).square().mean().backward()
    idle = [n for n, p in network.named_parameters() if p.grad is None or not p.grad.any()]
    assert idle == []
