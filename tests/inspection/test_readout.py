"""The exact integration of the last layer against unfolding and against drawing it many times."""

import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from sads.inspection.readout import Convolution, readout_of, sum_over_offsets
from tests.geometry.families import FAMILIES


@given(
    height=st.integers(1, 5),
    width=st.integers(1, 5),
    kernel=st.sampled_from([1, 3, 5]),
    seed=st.integers(0, 100),
)
def test_offsets_commute_with_the_mean(height: int, width: int, kernel: int, seed: int):
    h = torch.randn(2, 3, height, width, generator=torch.Generator().manual_seed(seed)).double()
    unfolded = F.unfold(h, kernel, padding=kernel // 2)  # (N, C k k, L)
    expected = torch.einsum("nul,num->lm", unfolded, unfolded).numpy()
    readout = Convolution((1, height, width), 3, 0.5, 0.25, (kernel, kernel))
    factor = readout.factor(readout.moment(h).numpy())
    np.testing.assert_allclose(factor, 0.5 * expected + 0.25, atol=1e-12)


def test_offsets_in_one_dimension():
    h = np.random.default_rng(0).standard_normal((4, 6))
    padded = np.pad(h, ((0, 0), (1, 1)))
    expected = sum(padded[:, d : d + 6].T @ padded[:, d : d + 6] for d in range(3))
    np.testing.assert_allclose(sum_over_offsets(h.T @ h, (6,), (3,)), expected)


@pytest.mark.parametrize(
    ("spatial", "kernel"), [((4, 5), (3, 5)), ((2, 3, 2), (5, 1, 3)), ((3, 3), (1, 1))]
)
def test_offsets_of_all_axes_are_summed(spatial, kernel):
    size = math.prod(spatial)
    k = np.random.default_rng(0).standard_normal((size, size))
    expected = np.zeros((size, size))
    places = list(itertools.product(*map(range, spatial)))
    number = {place: index for index, place in enumerate(places)}
    for offset in itertools.product(*(range(-(n // 2), n // 2 + 1) for n in kernel)):
        moved = [number.get(tuple(np.add(place, offset))) for place in places]
        for (p, from_p), (q, from_q) in itertools.product(enumerate(moved), repeat=2):
            if from_p is not None and from_q is not None:
                expected[p, q] += k[from_p, from_q]
    np.testing.assert_allclose(sum_over_offsets(k, spatial, kernel), expected, atol=1e-12)


@pytest.mark.parametrize(
    "name",
    ["unet", "unet-rgb", "unet-1d", "dit", "mlp", "cnn", "vit", "vit-sincos", "ssm", "ssm-image"],
)
def test_conditional_moment_is_that_of_fresh_last_layers(name: str):
    """E[z z^T | h] for one h, against 40,000 draws of the last layer; entries within 6 sigma."""
    network = FAMILIES[name].factory().eval()
    readout = readout_of(network)
    declared = network.distributions()
    rng = np.random.default_rng(3)
    x = torch.randn(1, *network.shape, generator=torch.Generator().manual_seed(1))
    outputs = []
    with torch.no_grad():
        h = network.features(x, torch.tensor([7.0]))
        for _ in range(2):
            for part in ("weight", "bias"):
                network.get_parameter(f"head.{part}")
            stacked = {
                part: declared[f"head.{part}"].draw(
                    (20_000, *network.get_parameter(f"head.{part}").shape), rng
                )
                for part in ("weight", "bias")
            }
            run = torch.func.vmap(
                lambda weight, bias: network.arrange(
                    torch.func.functional_call(network.head, {"weight": weight, "bias": bias}, (h,))
                )
            )
            outputs.append(run(stacked["weight"], stacked["bias"]).flatten(1))
    z = torch.cat(outputs).double().numpy()
    expanded = readout.structure.expand(readout.factor(readout.moment(h).numpy()))
    sampled = z.T @ z / len(z)
    spread = np.sqrt(np.outer(np.diag(expanded), np.diag(expanded)) * 2 / len(z))
    assert np.max(np.abs(expanded - sampled) / spread) < 6
