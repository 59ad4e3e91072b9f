"""Foreign networks: the exact integration, and drawn parameters, against the paper's estimator."""

from functools import partial

import numpy as np
import pytest
import torch
from scipy.stats import t as student
from torch import nn

from sads.directions import FOLDS
from sads.errors import NetworkError
from sads.geometry import Gaussian, Geometry, Point, Zero, estimate_geometry
from sads.inspection.foreign import RANDOM_LAYERS
from sads.networks import DiT, ScoreFamily, UNet
from tests.networks.zoo import ADM, AdaLNZero, Conv, Flat, Gained, Labelled, Preconditioned, Sampled

from .families import SHORT
from .test_agreement import ERROR_RATE, SPAN, forms

TINY = {
    "UNet2DModel": {
        "block_out_channels": (8, 8),
        "layers_per_block": 1,
        "norm_num_groups": 4,
        "down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
        "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
    },
    "UNet2DConditionModel": {
        "block_out_channels": (8, 8),
        "layers_per_block": 1,
        "norm_num_groups": 4,
        "cross_attention_dim": 8,
        "attention_head_dim": 2,
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
        "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
    },
    "DiTTransformer2DModel": {
        "num_attention_heads": 2,
        "attention_head_dim": 4,
        "out_channels": 4,
        "num_layers": 1,
        "num_embeds_ada_norm": 3,
    },
    "Transformer2DModel": {
        "num_attention_heads": 2,
        "attention_head_dim": 4,
        "num_layers": 1,
        "patch_size": 2,
        "norm_type": "ada_norm_zero",
        "norm_elementwise_affine": False,
        "num_embeds_ada_norm": 3,
    },
}


def diffusers(name: str) -> ScoreFamily:
    import diffusers as library

    kind = getattr(library, name)
    channels = {"in_channels": 2, "out_channels": 2, "sample_size": 4}
    factory = partial(kind, **(channels | TINY[name]))
    return ScoreFamily(factory, (2, 4, 4), SHORT, name)


def foreign(make, shape=(2, 4, 4), prediction=None) -> ScoreFamily:
    return ScoreFamily(make, shape, SHORT, "foreign", prediction=prediction)


def assert_agrees(fast: Geometry, slow: Geometry) -> None:
    """Quadratic forms along the eigenvectors and the trace agree; fails by chance in 1 of 10^4."""
    vectors = fast.spectrum().eigenvectors
    vectors = np.hstack([vectors, np.ones((len(vectors), 1)) / np.sqrt(len(vectors))])
    (a, a_error), (b, b_error) = forms(fast, vectors), forms(slow, vectors)
    z = np.abs(a - b) / np.maximum(np.hypot(a_error, b_error), 1e-6 * a.max())
    assert z.max() < student.ppf(1 - ERROR_RATE / (4 * len(z)), FOLDS - 1)
    traces = slow.folds.trace(axis1=1, axis2=2)
    ours = fast.folds.trace(axis1=1, axis2=2) * fast.structure.copies
    error = np.hypot(traces.std(ddof=1), ours.std(ddof=1)) / np.sqrt(FOLDS)
    assert abs(traces.mean() - ours.mean()) / error < student.ppf(1 - ERROR_RATE / 4, FOLDS - 1)


def compare(family: ScoreFamily, probe, networks: int = 960, **options) -> Geometry:
    options = {"probe": probe, "timesteps": SPAN, **options}
    fast = estimate_geometry(family, networks=networks, seed=1, **options)
    slow = estimate_geometry(family, networks=networks, seed=2, estimator="naive", **options)
    assert slow.structure.kind == "dense"
    assert not slow.plan.drawn
    assert_agrees(fast, slow)
    return fast


@pytest.mark.parametrize("name", TINY)
def test_diffusers_classes_agree_with_naive(name):
    geometry = compare(diffusers(name), Gaussian(1.0), networks=360)
    expected = "convolution" if name.startswith("UNet") else "tokens"
    assert geometry.plan.readout.kind == expected
    assert geometry.plan.drawn
    assert geometry.plan.note == ""


POINT = Point(np.random.default_rng(5).standard_normal((2, 4, 4)))
# network, its shape and prediction, probe, read-out, structure, whether a a^T is accumulated
CASES = {
    "plain": (Conv, (2, 4, 4), None, Zero(), "convolution", "channels", False),
    "output object": (Sampled, (2, 4, 4), None, Gaussian(1.0), "convolution", "channels", False),
    "labels": (Labelled, (2, 4, 4), None, Zero(), "convolution", "channels", False),
    "variances": (partial(Conv, out=4), (2, 4, 4), None, Zero(), "convolution", "channels", False),
    "one dimension": (
        partial(Conv, dims=1), (2, 8), None, Gaussian(1.0), "convolution", "channels", False,
    ),
    "flat": (Flat, (12,), None, Gaussian(1.0), "dense", "isotropic", False),
    "tokens": (
        partial(AdaLNZero, (1, 4, 4), zero=False), (1, 4, 4), None, Zero(), "tokens", "tokens",
        False,
    ),
    "v at zero": (Conv, (2, 4, 4), "v", Zero(), "convolution", "channels", False),
    "v": (Conv, (2, 4, 4), "v", Gaussian(1.0), "convolution", "channels", False),
    "x0": (Conv, (2, 4, 4), "x0", Gaussian(0.5), "convolution", "channels", False),
    "x0 at a point": (Conv, (2, 4, 4), "x0", POINT, "convolution", "dense", True),
    "v, tokens, at a point": (
        partial(AdaLNZero, (2, 4, 4), zero=False), (2, 4, 4), "v", POINT, "tokens", "dense", True,
    ),
    "preconditioned at zero": (
        Preconditioned, (2, 4, 4), None, Zero(), "convolution", "channels", False,
    ),
    "preconditioned": (
        Preconditioned, (2, 4, 4), None, Gaussian(1.0), "convolution", "channels", False,
    ),
    "residual": (
        partial(Conv, "residual"), (2, 4, 4), None, Gaussian(1.0), "convolution", "channels", False,
    ),
    "residual at a point": (
        partial(Conv, "residual"), (2, 4, 4), None, POINT, "convolution", "dense", True,
    ),
    "scaled by time": (
        partial(Conv, "scaled"), (2, 4, 4), None, Zero(), "convolution", "channels", False,
    ),
    "nonlinear output": (
        partial(Conv, "tanh"), (2, 4, 4), None, Zero(), "sampled", "dense", False,
    ),
    "mixed output": (partial(Conv, "smooth"), (2, 4, 4), None, Zero(), "sampled", "dense", False),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_foreign_networks_agree_with_naive(case):
    make, shape, prediction, probe, kind, structure, constant = CASES[case]
    geometry = compare(foreign(make, shape, prediction), probe)
    readout = geometry.plan.readout
    assert (readout.kind, geometry.structure.kind, readout.constant) == (
        kind,
        structure,
        constant,
    )
    assert (geometry.plan.note != "") == (kind == "sampled")


class Shuffled(nn.Module):
    """Last layers that land in the sample in an unusual way."""

    def __init__(self, how: str):
        super().__init__()
        self.how = how
        self.inner = Conv()
        if how == "dilated":
            self.inner.out = nn.Conv2d(8, 2, 3, padding=2, dilation=2)
        if how == "along rows":
            self.rows = nn.Linear(4, 4)
        if how == "shuffled pixels":
            self.inner.out = nn.Conv2d(8, 8, 3, padding=1)
        if how == "transposed":
            self.up = nn.ConvTranspose2d(8, 2, 2, stride=2)

    def forward(self, x, t):
        if self.how == "along rows":
            return self.rows(self.inner(x, t))
        if self.how == "circular":
            h = torch.cat([h := self.inner.trunk(x, t), h[..., :2]], dim=-1)
            return nn.functional.conv2d(
                h, self.inner.out.weight, self.inner.out.bias, padding=(1, 0)
            )
        if self.how == "transposed":
            return self.up(nn.functional.avg_pool2d(self.inner.trunk(x, t), 2))
        if self.how == "shuffled pixels":
            small = nn.functional.avg_pool2d(x, 2)
            return nn.functional.pixel_shuffle(self.inner(small, t), 2)
        return self.inner(x, t)


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        pytest.param("dilated", "random", marks=pytest.mark.slow),
        pytest.param("along rows", "random", marks=pytest.mark.slow),
        pytest.param("circular", "random", marks=pytest.mark.slow),
        ("transposed", "random"),
        ("shuffled pixels", "convolution"),
    ],
)
def test_unusual_last_layers_agree_with_naive(how, kind):
    geometry = compare(foreign(partial(Shuffled, how)), Gaussian(1.0))
    assert geometry.plan.readout.kind == kind
    if kind == "random":
        assert geometry.plan.readout.rank == min(32, RANDOM_LAYERS)
        assert "unusual" in geometry.plan.note
    else:
        assert geometry.structure.kind == "tokens"


class Unusual(Conv):
    """A dilated last layer, and the input beside it."""

    def __init__(self):
        super().__init__("residual")
        self.out = nn.Conv2d(8, 2, 3, padding=2, dilation=2)


def test_a_constant_part_beside_random_last_layers_agrees_with_naive():
    geometry = compare(foreign(Unusual), Point(0.2 * POINT.x), networks=240)
    assert geometry.plan.readout.kind == "random"
    assert geometry.plan.readout.constant


class Hidden(Conv):
    """Something besides the parameters differs between networks."""

    def __init__(self):
        super().__init__()
        self.offset = float(torch.randn(()))

    def forward(self, x, t):
        return super().forward(x + self.offset, t)


class Truncated(Conv):
    """An initial distribution that is not recognised."""

    def __init__(self):
        super().__init__(width=32)
        nn.init.trunc_normal_(self.trunk.mix.weight, std=0.1, a=-0.1, b=0.1)


@pytest.mark.parametrize("make", [Hidden, Truncated])
def test_networks_are_built_where_drawing_would_be_wrong(make):
    geometry = compare(foreign(make), Zero(), networks=480)
    assert not geometry.plan.drawn
    assert geometry.plan.readout.kind == "convolution"


class Spectral(nn.Module):
    """Filters a signal in frequency space with purely imaginary parameters, then reads it."""

    def __init__(self):
        super().__init__()
        self.filter = nn.Parameter(1j * torch.randn(2, 5))
        self.out = nn.Conv1d(2, 2, 1)

    def forward(self, x, t):
        spectrum = torch.fft.rfft(x + 1 + torch.arange(8).to(x))
        return self.out(torch.fft.irfft(torch.einsum("ncf,cf->ncf", spectrum, self.filter), n=8))


def test_complex_parameters_stay_complex():
    """G of E[h h^T] = the filtered signal's, in closed form: only the bias would be left of it."""
    geometry = estimate_geometry(foreign(Spectral, (2, 8)), networks=1920, timesteps=SPAN)
    assert not geometry.plan.drawn
    modes = np.fft.rfft(1 + np.arange(8))
    eye = np.eye(5)
    waves = np.array([np.fft.irfft(1j * modes * eye[k], n=8) for k in range(5)])
    variance = 1 / (3 * 2)  # of U(-b, b) with b = 1/sqrt(2), for weights and biases
    scale = geometry.plan.scale
    expected = scale * variance * (2 * waves.T @ waves + 1)
    assert np.linalg.norm(geometry.factor - expected) < 0.1 * np.linalg.norm(expected)


def test_drawn_and_built_networks_have_one_geometry():
    """The same estimator on networks drawn in stacks and on networks made by the factory."""

    def built_only():
        network = Conv()
        float(network.trunk.mix.weight.detach().sum())  # values that were read are not drawn
        return network

    drawn = estimate_geometry(foreign(Conv), networks=1920, seed=1, timesteps=SPAN)
    built = estimate_geometry(foreign(built_only), networks=1920, seed=2, timesteps=SPAN)
    assert drawn.plan.drawn
    assert not built.plan.drawn
    a, b = (g.folds.reshape(FOLDS, -1) for g in (drawn, built))
    error = np.hypot(a.std(0, ddof=1), b.std(0, ddof=1)) / np.sqrt(FOLDS)
    z = np.abs(a.mean(0) - b.mean(0)) / error
    assert z.max() < student.ppf(1 - ERROR_RATE / (2 * len(z)), FOLDS - 1)


def test_timesteps_are_drawn_as_the_prediction_asks():
    """With the constant part zero, the scale is E_t of abar/(1-abar) and abar/(1-abar)^2."""
    abar = SHORT.abar
    for prediction, weights in {"v": abar / (1 - abar), "x0": abar / (1 - abar) ** 2}.items():
        geometry = estimate_geometry(foreign(Conv, prediction=prediction), networks=48)
        assert geometry.plan.scale == pytest.approx(weights.mean(), rel=1e-5)


ZERO = {
    "adaLN-zero": (partial(AdaLNZero, (1, 4, 4)), (1, 4, 4), "final", "tokens"),
    "adm": (ADM, (2, 4, 4), "out", "convolution"),
    "edm2": (Gained, (2, 4, 4), "out_gain", "convolution"),
    "edm2, preconditioned": (
        lambda: Preconditioned(Gained()), (2, 4, 4), "model.out_gain", "convolution",
    ),
    "our U-Net": (
        partial(UNet, (1, 4, 4), channels=8, groups=4, mults=(1,), zero_init=True),
        (1, 4, 4), "head", "convolution",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ZERO)
@pytest.mark.parametrize("policy", ["last", "all"])
def test_silent_networks_are_explained_and_woken(case, policy):
    make, shape, name, kind = ZERO[case]
    with pytest.raises(NetworkError, match=f"{name}.* initialised to zero.*zero_output='last'"):
        estimate_geometry(foreign(make, shape), networks=24)
    geometry = compare(foreign(make, shape), Zero(), networks=480, zero_output=policy)
    assert geometry.plan.readout.kind == kind
    assert name in geometry.plan.redrawn
    assert geometry.plan.zero_output == policy


def test_the_vanishing_scale_limit_is_the_same_up_to_a_constant():
    """A last layer of scale 1e-3 has the geometry of the redrawn one, times 1e-6."""

    def small():
        network = ADM()
        network.out.reset_parameters()
        with torch.no_grad():
            network.out.weight *= 1e-3
            network.out.bias *= 1e-3
        return network

    redrawn = estimate_geometry(foreign(ADM), networks=480, zero_output="last")
    limit = estimate_geometry(foreign(small), networks=480)
    np.testing.assert_allclose(limit.factor * 1e6, redrawn.factor, rtol=1e-4)


def test_zero_output_policies_change_nothing_where_there_is_no_zero():
    plain = estimate_geometry(foreign(Conv), networks=48)
    asked = estimate_geometry(foreign(Conv), networks=48, zero_output="last")
    assert np.array_equal(plain.factor, asked.factor)
    assert asked.plan.differences(plain.plan) == []


def test_our_dit_read_as_a_foreign_network_has_its_closed_form():
    """Independent truth for the tracing: LN(P) LN(P)^T, found without declarations."""

    class Disguised(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = DiT((1, 8, 8), patch=2, width=16, depth=1)

        def forward(self, x, t):
            return self.inner(x, t)

    family = ScoreFamily(partial(DiT, (1, 8, 8), patch=2, width=16, depth=1), (1, 8, 8), SHORT)
    exact = estimate_geometry(family)
    assert exact.exact
    geometry = estimate_geometry(foreign(Disguised, (1, 8, 8)), networks=24)
    assert geometry.plan.readout.kind == "tokens"
    ratio = geometry.trace / exact.trace
    # Only the variance of the last layer is measured, on thousands of entries.
    assert ratio == pytest.approx(1, abs=0.05)
    np.testing.assert_allclose(geometry.factor / ratio, exact.factor, rtol=1e-4, atol=1e-3)


class BatchForChannels(nn.Module):
    """Samples of two axes leave none for the batch: torch reads (1, 1, 8) as one image."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(1, 1, 3, padding=1)

    def forward(self, x, t):
        return self.layer(x)


def test_a_convolution_with_an_axis_more_than_the_sample_is_not_integrated_as_one():
    geometry = estimate_geometry(ScoreFamily(BatchForChannels, (1, 8)), networks=24)
    assert geometry.spectrum().null_directions == 7
