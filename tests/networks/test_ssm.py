"""The state-space layer against its recurrence, and the symmetries of the network."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import cont2discrete

from sads.directions.reflections import Reflection
from sads.directions.symmetry import symmetry_p_value
from sads.geometry import estimate_geometry
from sads.networks import SSM, ScoreFamily
from sads.networks.initialisation import initialise
from sads.networks.ssm import LONGEST, MEAN_LOG_STEP, SHORTEST, DiagonalStateSpace
from sads.path import Schedule


def layer(seed: int, *, states: int = 3, directions: int = 2) -> DiagonalStateSpace:
    """A layer away from its start, so that no parameter is idle."""
    made = DiagonalStateSpace(4, states=states, directions=directions)
    initialise(made, dict(made.initial), np.random.default_rng(seed))
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in (made.decay, made.frequency):
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    return made.double()


def by_recurrence(made: DiagonalStateSpace, u: np.ndarray, direction: int) -> np.ndarray:
    """x[k] = Abar x[k-1] + Bbar u[k], y[k] = 2 Re(C x[k]), for u (L, W); SciPy discretises."""
    values = {n: p.detach().numpy() for n, p in made.named_parameters()}
    states = values["decay"].shape[1]
    a = -np.exp(values["decay"]) / 2 + 1j * (math.pi * np.arange(states) + values["frequency"])
    c = values["read"][0, direction] + 1j * values["read"][1, direction]
    y = np.zeros(u.shape)
    for w in range(u.shape[1]):
        step = float(np.exp(MEAN_LOG_STEP + values["step"][w, 0]))
        one, zero = np.ones((states, 1)), np.zeros((1, 1))
        system = (np.diag(a[w]), one, one.T, zero)
        transition, drive, *_ = cont2discrete(system, step, method="zoh")
        x = np.zeros(states, dtype=complex)
        for k, value in enumerate(u[:, w]):
            x = transition @ x + drive[:, 0] * value
            y[k, w] = 2 * (c[w] @ x).real
    return y


@settings(max_examples=25, deadline=None)
@given(
    length=st.integers(1, 30),
    states=st.integers(1, 5),
    directions=st.integers(1, 2),
    seed=st.integers(0, 1000),
)
def test_the_filter_is_the_recurrence(length, states, directions, seed):
    made = layer(seed, states=states, directions=directions)
    u = np.random.default_rng(seed).standard_normal((length, 4))
    expected = u * made.skip.detach().numpy() + by_recurrence(made, u, 0)
    if directions == 2:
        expected += by_recurrence(made, u[::-1], 1)[::-1]
    filtered = made(torch.from_numpy(u)[None]).detach().numpy()[0]
    np.testing.assert_allclose(filtered, expected, atol=1e-9)


def test_the_start_is_s4d_lin():
    made = DiagonalStateSpace(2000, states=4, directions=1)
    initialise(made, dict(made.initial), np.random.default_rng(0))
    assert torch.all(made.decay == 0)  # Re A = -1/2
    assert torch.all(made.frequency == 0)  # Im A = pi n
    steps = (MEAN_LOG_STEP + made.step).exp()
    assert SHORTEST <= steps.min() < 1.01 * SHORTEST
    assert 0.99 * LONGEST < steps.max() <= LONGEST
    power = made.read.square().sum(0).mean().item()  # E|C|^2 over 8,000 draws
    assert power == pytest.approx(1, abs=5 / math.sqrt(8000))


def test_a_causal_network_does_not_look_ahead():
    network = SSM((2, 12), width=8, depth=2, states=4, bidirectional=False).double().eval()
    x = torch.randn(1, 2, 12, generator=torch.Generator().manual_seed(0)).double()
    later = x.clone()
    later[..., 7:] += 1
    t = torch.tensor([5])
    with torch.no_grad():
        difference = (network(x, t) - network(later, t)).abs().amax((0, 1))
    assert difference[:7].max() < 1e-12
    assert difference[7:].min() > 1e-6
    assert network.symmetries == ()


def test_two_directions_can_be_swapped():
    """Exchanging both kernels, which are as likely, flips the network; so `flip` is declared."""
    network = SSM((2, 12), width=8, depth=2, states=4).double().eval()
    x = torch.randn(1, 2, 12, generator=torch.Generator().manual_seed(0)).double()
    t = torch.tensor([5])
    with torch.no_grad():
        expected = network(x, t).flip(-1)
        for block in network.blocks:
            block.filter.read.copy_(block.filter.read.flip(1))
        torch.testing.assert_close(network(x.flip(-1), t), expected)
    assert network.symmetries == ("flip",)


@pytest.mark.parametrize(
    ("shape", "bidirectional", "axis"), [((1, 12), False, 0), ((1, 5, 5), True, 1)]
)
def test_what_is_not_symmetric_is_not_declared(shape, bidirectional, axis):
    """A causal filter and a scan by rows break flips; the data would veto them (1 in 1,000)."""
    fields = {"width": 8, "depth": 2, "states": 4, "bidirectional": bidirectional}
    family = ScoreFamily(lambda: SSM(shape, **fields), shape, Schedule("linear", 50))
    assert family.factory().symmetries == ()
    # So many networks see the causal filter with five seeds of eight, the scan with every one.
    folds = estimate_geometry(family, networks=1536, seed=1).folds
    index = np.arange(math.prod(shape)).reshape(shape[1:])
    assert symmetry_p_value(folds, Reflection(np.flip(index, axis).reshape(-1))) < 0.001


def test_images_are_scanned_row_by_row():
    image = SSM((1, 3, 4), width=8, depth=1, states=4)
    signal = SSM((1, 12), width=8, depth=1, states=4)
    state = image.state_dict()
    state["head.weight"] = state["head.weight"].flatten(2)
    signal.load_state_dict(state)
    x = torch.randn(2, 1, 3, 4, generator=torch.Generator().manual_seed(0))
    t = torch.tensor([1, 2])
    with torch.no_grad():
        torch.testing.assert_close(image(x, t).flatten(2), signal(x.flatten(2), t))
