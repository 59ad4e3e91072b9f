"""The closed form of the linear network against real trainings of the preset, by autograd."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from sads.figures.linear_network import LinearTraining
from sads.networks import Linear
from sads.path import Schedule
from sads.statistics.ranks import rank_correlation

TRAINING = LinearTraining((6.0, 4.0, 2.0, 1.0, 0.5), rate=0.05, batch=4)
STEPS = np.array([0, 5, 20, 60, 200])


def followed(chains: int) -> np.ndarray:
    """The risk of the preset `linear` by torch's own SGD, measured by its definition."""
    schedule, size = Schedule(), TRAINING.size
    generator = torch.Generator().manual_seed(0)
    abar = torch.from_numpy(np.asarray(schedule.abar))
    risks = np.empty((chains, size, len(STEPS)))
    for chain in range(chains):
        network = Linear((size,), eigenvalues=TRAINING.eigenvalues, rotation=2).double()
        network.reset(chain)
        u = network.phi / torch.tensor(TRAINING.eigenvalues).sqrt()
        optimiser = torch.optim.SGD(network.parameters(), lr=TRAINING.rate)
        for step in range(STEPS[-1] + 1):
            if step in STEPS:
                with torch.no_grad():  # eps* = s_t x, x ~ N(0, I): E over x is a squared norm
                    whole = network.phi @ network.head.weight
                    levels = (1 - abar).sqrt()[:, None, None]
                    error = u.T @ (whole - levels * torch.eye(size))
                    slot = list(STEPS).index(step)
                    risks[chain, :, slot] = error.square().sum(-1).mean(0).numpy()
            t = torch.randint(schedule.steps, (TRAINING.batch,), generator=generator)
            clean, eps = torch.randn(2, TRAINING.batch, size, generator=generator).double()
            level = abar[t][:, None]
            x = level.sqrt() * clean + (1 - level).sqrt() * eps
            optimiser.zero_grad()
            F.mse_loss(network(x, t), eps).backward()
            optimiser.step()
    return risks


def test_the_closed_form_is_what_trainings_come_to():
    expected = TRAINING.risk(STEPS)
    for risks in (followed(80), TRAINING.trained(STEPS, 2_000)):
        error = risks.std(axis=0, ddof=1) / np.sqrt(len(risks))
        assert (np.abs(risks.mean(axis=0) - expected) < 4.5 * error).all()


def test_the_order_is_reversed_first_and_the_conjectures_in_the_end():
    early, late = TRAINING.risk(np.array([20, 100_000])).T
    values = np.array(TRAINING.eigenvalues)
    assert rank_correlation(values, early) == pytest.approx(-1.0)
    assert rank_correlation(values, late) == pytest.approx(1.0)


def test_the_end_is_the_stationary_noise_for_small_rates():
    slow = LinearTraining((3.0, 1.0), rate=1e-4, batch=8)
    _, spread, signal = slow.moments
    g = 2 * slow.rate * np.array(slow.eigenvalues) / 2
    expected = g * (4 * spread + 2 * signal) / 16 + spread
    assert slow.risk(np.array([10**8]))[:, 0] == pytest.approx(expected, rel=1e-3)
