"""Every prediction is an affine map of the noise, and the maps are inverses."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sads.diffusion.noising import Noising
from sads.networks.adapters import adapt, own_output, own_prediction
from sads.path import PREDICTIONS, prediction_named

from .cases import PAIRS, PATHS, STEPS, VARIANCES, Exact, mixed

NUMBERS = st.floats(-5, 5)


@given(
    path=st.sampled_from(sorted(PATHS)),
    prediction=st.sampled_from(sorted(PREDICTIONS)),
    other=st.sampled_from(sorted(PREDICTIONS)),
    reverse=st.booleans(),
    t=st.integers(0, STEPS - 1),
    clean=NUMBERS,
    eps=NUMBERS,
)
def test_conversions_are_inverses(path, prediction, other, reverse, t, clean, eps):
    """From any prediction to noise, on to any other, and back: what was there before."""
    grid = PATHS[path]
    x = grid.signal[t] * clean + grid.noise[t] * eps
    output = mixed(prediction, grid, clean, eps, t, reverse=reverse)
    constant, scale = prediction_named(prediction, reverse=reverse).conversion(grid)
    noise = constant[t] * x + scale[t] * output
    size = 1 + abs(scale[t] * output) + abs(constant[t] * x)
    assert noise == pytest.approx(eps, abs=1e-12 * size)
    there, factor = prediction_named(other, reverse=reverse).conversion(grid)
    as_other = (noise - there[t] * x) / factor[t]
    expected = mixed(other, grid, clean, eps, t, reverse=reverse)
    assert as_other == pytest.approx(expected, abs=1e-11 * size / abs(factor[t]))
    assert there[t] * x + factor[t] * as_other == pytest.approx(noise, abs=1e-12 * size)


@pytest.mark.parametrize(("path", "prediction"), PAIRS)
def test_the_general_formula(path: str, prediction: str):
    """The c and s written out for each prediction are -p and a over (a q - b p)."""
    grid = PATHS[path]
    p, q = PREDICTIONS[prediction].mix(grid)
    total = grid.signal * q - grid.noise * p
    constant, scale = PREDICTIONS[prediction].conversion(grid)
    np.testing.assert_allclose(constant, -p / total, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scale, grid.signal / total, rtol=1e-9)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("path", "prediction"), PAIRS)
def test_an_adapted_closed_form_predicts_the_optimal_noise(path, prediction, reverse):
    """Float32 tables: the error is of the size of their rounding times what cancels."""
    grid = PATHS[path]
    network = Exact(grid, prediction, reverse=reverse)
    told = _Turned(network) if reverse else network
    member = adapt(told, "exact", grid, prediction, time="index", reverse=reverse)
    t = torch.arange(STEPS)
    x = torch.randn(STEPS, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    a, b = (torch.from_numpy(table)[:, None] for table in (grid.signal, grid.noise))
    optimum = b * x / (a**2 * torch.from_numpy(VARIANCES) + b**2)
    with torch.no_grad():
        predicted = member.double()(x, t)
        own = own_output(member)(x, t)
    constant, scale = (np.abs(v)[:, None] for v in own_prediction(member).conversion(grid))
    size = 1 + constant * x.abs().numpy() + scale * own.abs().numpy()
    assert (np.abs((predicted - optimum).numpy()) < 3e-7 * size).all()


class _Turned(torch.nn.Module):
    """A module that counts levels from the noise."""

    def __init__(self, inner: Exact):
        super().__init__()
        self.inner = inner

    def forward(self, x, t):
        return self.inner(x, STEPS - 1 - t)


@pytest.mark.parametrize(("path", "prediction"), PAIRS)
def test_the_target_of_training_is_what_is_predicted(path: str, prediction: str):
    grid = PATHS[path]
    generator = torch.Generator().manual_seed(1)
    clean, eps = (torch.randn(STEPS, 3, generator=generator) for _ in range(2))
    noising = Noising.of(grid, PREDICTIONS[prediction])
    t = torch.arange(STEPS)
    target, noisy = noising.target(clean, eps, t).double(), noising.noisy(clean, eps, t).double()
    a, b = (torch.from_numpy(table)[:, None] for table in (grid.signal, grid.noise))
    expected = {
        "eps": eps,
        "v": a * eps - b * clean,
        "x0": clean,
        "flow": eps - clean,
        "score": -eps / b,
    }[prediction].double()
    torch.testing.assert_close(target, expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(noisy, a * clean + b * eps, rtol=1e-5, atol=1e-5)


def test_own_output_shares_the_parameters():
    member = adapt(Exact(PATHS["flow"], "flow"), "exact", PATHS["flow"], "flow", time="index")
    own = own_output(member)
    assert own is not member
    assert [id(p) for p in own.parameters()] == [id(p) for p in member.parameters()]
    plain = adapt(Exact(PATHS["flow"], "eps"), "exact", PATHS["flow"], "eps", time="index")
    assert own_output(plain) is plain
