"""The tangent flow and pilots against closed forms of networks that are linear in parameters."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch import Tensor, nn

from sads.api import network
from sads.data.laws import Normal
from sads.directions.sets import ChannelMeans, Cosines, Entries, MeansAndBands
from sads.errors import InputError
from sads.learning import Optimum, Recipe, Scene, forecast_training
from sads.learning.pilot import Pilot, follow_training
from sads.learning.projections import group_parts
from sads.learning.tangent_flow import TangentFlow
from sads.networks import ScoreFamily
from sads.randomness import stream

SIZE = 4
SHAPE = (2, 4, 4)
SPEEDS = np.array([4.0, 2.0, 1.0, 0.5])


class _Gains(nn.Module):
    """f_i(x, t) = s_i theta_i x_i sqrt(1 - abar_t): the optimum of white data is at s theta = 1."""

    def __init__(self) -> None:
        super().__init__()
        self.theta = nn.Parameter(torch.zeros(SIZE))
        beta = np.linspace(1e-4, 2e-2, 1000)
        self.noise = torch.from_numpy(np.sqrt(1 - np.cumprod(1 - beta))).float()
        self.speeds = torch.from_numpy(SPEEDS).float()

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return self.speeds * self.theta * x * self.noise[t][:, None]


def _scene(recipe: Recipe) -> Scene:
    law = Normal.white(SIZE)
    family = ScoreFamily(_Gains, (SIZE,))
    return Scene(family, Optimum(law), law, Entries((SIZE,)), recipe)


def _half(rates: np.ndarray) -> np.ndarray:
    """Gains 1 - (1 - r_i)^n at the n, not whole, at which their mean is 1/2, as interpolated."""
    gains = np.zeros(SIZE)
    while True:
        after = gains + rates * (1 - gains)
        if after.mean() >= 0.5:
            weight = (0.5 - gains.mean()) / (after.mean() - gains.mean())
            return (1 - weight) * gains + weight * after
        gains = after


def test_the_flow_of_sgd_is_its_closed_form() -> None:
    """Each gain goes to one by 2 eta s_i^2 E[x_i^2 (1 - abar)] / D a step."""
    rate = 0.02
    scene = _scene(Recipe("sgd", rate, clip=None))
    forecast = forecast_training(scene, TangentFlow(steps=10_000, points=400), networks=16)
    s = 1 - scene.family.schedule.abar
    truth = _half(2 * rate * SPEEDS**2 * s.mean() / SIZE)
    assert np.abs(forecast.drift - truth).max() < 0.03
    assert (np.diff(forecast.drift) < 0).all()


def test_the_flow_of_adam_is_what_training_then_does() -> None:
    """Adam with small batches divides by the noise of its gradients."""
    scene = _scene(Recipe("adam", 0.01, batch_size=8, clip=None))
    moments = [0, 5, 10, 15, 20, 25, 30, 40, 50, 60, 80, 100]
    trainings = [follow_training(scene, seed=seed, moments=moments) for seed in range(24)]
    shares = np.mean([training.shares for training in trainings], axis=0)
    after = int(np.flatnonzero(shares.mean(axis=1) >= 0.5)[0])
    means = shares.mean(axis=1)
    weight = (0.5 - means[after - 1]) / (means[after] - means[after - 1])
    truth = (1 - weight) * shares[after - 1] + weight * shares[after]
    forecast = forecast_training(scene, TangentFlow(steps=200, points=400), networks=16)
    assert np.abs(forecast.drift - truth).max() < 0.1
    assert spearmanr(forecast.drift, truth).statistic == 1.0


def test_a_loss_that_leaves_noisy_levels_out_teaches_nothing_there() -> None:
    """Weights of zero on the upper half of the timesteps leave its gains to the lower half's."""
    weights = np.repeat([1.0, 0.0], 500)
    plain, lower = (
        forecast_training(
            _scene(Recipe("sgd", 0.01, clip=None, loss_weights=w)),
            TangentFlow(steps=1, points=400),
            networks=8,
        ).drift
        for w in (None, weights)
    )
    s = 1 - _scene(Recipe()).family.schedule.abar
    # The gain does not depend on t here, so only the size of the gradient changes.
    expected = (s * weights).mean() / s.mean()
    np.testing.assert_allclose(lower / plain, expected, rtol=0.15)


def test_a_pilot_is_a_training_cut_short() -> None:
    scene = _scene(Recipe("adam", 0.01))
    forecast = forecast_training(scene, Pilot(steps=32), networks=8)
    followed = follow_training(scene, seed=scene.network_seed(0), moments=[8, 32])
    np.testing.assert_allclose(forecast.rows[0, 0], followed.taken[0])
    np.testing.assert_allclose(forecast.rows[0, 2], followed.risk[1])


def test_followed_trainings_are_those_of_torch() -> None:
    """AdamW with a warm-up, written out."""
    scene = _scene(Recipe("adamw", 0.05, batch_size=16, clip=0.1, weight_decay=0.2, warm_up=4))
    followed = follow_training(scene, seed=3, moments=[0, 10])
    member = scene.family.member(3)
    optimiser = torch.optim.AdamW(member.parameters(), lr=0.05, weight_decay=0.2)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda s: min(1, (s + 1) / 4))
    batches = stream(3, "batches of a followed training")
    for _ in range(10):
        batch = scene.batch(batches)
        optimiser.zero_grad()
        eps = torch.from_numpy(batch.eps).float()
        nn.functional.mse_loss(member(batch.x, batch.t), eps).backward()
        nn.utils.clip_grad_norm_(member.parameters(), 0.1)
        optimiser.step()
        schedule.step()
    (theta,) = (parameter.detach().numpy() for parameter in member.parameters())
    np.testing.assert_allclose(followed.shares[1], SPEEDS * theta, rtol=1e-4)
    assert (followed.shares[0] == 0).all()


def test_the_law_of_timesteps_decides_the_batches() -> None:
    law = np.zeros(1000)
    law[[10, 20]] = 1, 3
    batch = _scene(Recipe(timestep_law=law, batch_size=4000)).batch(np.random.default_rng(0))
    assert set(batch.t.tolist()) == {10, 20}
    assert abs((batch.t == 20).double().mean().item() - 0.75) < 0.03


@pytest.mark.parametrize(
    "directions",
    [
        Entries((2, 4, 4)),
        Cosines((2, 4, 4), 3),
        ChannelMeans((2, 4, 4)),
        MeansAndBands((2, 4, 4), 3),
    ],
)
def test_parts_in_groups_have_the_groups_energies(directions) -> None:
    x = np.random.default_rng(0).standard_normal((3, 32))
    energies = directions.products(x, x)
    for number, part in enumerate(group_parts(directions, x)):
        np.testing.assert_allclose(np.square(part).sum(axis=1), energies[:, number])
        np.testing.assert_allclose((part * x).sum(axis=1), energies[:, number])


def test_all_methods_agree_on_a_small_network() -> None:
    family, law = network("cnn,width=8,depth=2", shape="1x4x4"), Normal.white(16)
    scene = Scene(family, Optimum(law), law, Cosines((1, 4, 4), 6), Recipe())
    drifts = [
        forecast_training(scene, method, networks=32).drift
        for method in (None, TangentFlow(steps=400), Pilot(steps=64))
    ]
    assert spearmanr(drifts[0], drifts[1]).statistic > 0.8
    assert spearmanr(drifts[0], drifts[2]).statistic > 0.8


@pytest.mark.parametrize("make", [lambda: TangentFlow(steps=0), lambda: Pilot(steps=0)])
def test_no_steps_are_refused(make) -> None:
    with pytest.raises(InputError, match="at least one step"):
        make()
