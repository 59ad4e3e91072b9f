"""Every pattern of the zoo: the estimate is its known geometry, within the errors it states."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from scipy.stats import binom
from scipy.stats import t as student

from sads.comparison import compare
from sads.directions import FOLDS
from sads.errors import NetworkError
from sads.geometry import Gaussian, Geometry, estimate_geometry
from sads.inspection.last_layer import find_last_layer
from tests.zoo import PATTERNS, Pattern
from tests.zoo.modules import Plain, drawn_scale, followed_by
from tests.zoo.truth import STEPS, closed_form

from .test_agreement import forms

ERROR_RATE = 1e-5  # of each pattern, shared among its directions
NETWORKS = 480
ids = [pattern.name for pattern in PATTERNS]


def estimate(pattern: Pattern, networks: int = NETWORKS, seed: int = 0) -> Geometry:
    return estimate_geometry(
        pattern.family,
        networks=networks,
        probe=pattern.probe,
        seed=seed,
        zero_output=pattern.zero_output,
    )


@pytest.mark.parametrize("pattern", PATTERNS, ids=ids)
def test_the_estimate_is_the_known_geometry(pattern):
    geometry, truth = estimate(pattern), pattern.truth()
    vectors = np.linalg.eigh(truth)[1]
    expected = np.einsum("ij,ik,kj->j", vectors, truth, vectors)
    values, errors = forms(geometry, vectors)
    z = np.abs(values - expected) / np.maximum(errors, 1e-4 * expected.max())
    assert z.max() < student.ppf(1 - ERROR_RATE / (2 * len(z)), FOLDS - 1)
    assert (geometry.plan.readout.kind != "sampled") == pattern.exact, geometry.plan.note


def test_three_quarters_are_read_exactly():
    assert len(PATTERNS) >= 20
    assert sum(pattern.exact for pattern in PATTERNS) >= 0.75 * len(PATTERNS)


def named(name: str) -> Pattern:
    return next(pattern for pattern in PATTERNS if pattern.name == name)


@dataclass(frozen=True)
class Spread:
    """Standard deviation over seeds and root mean square of the reported errors, leading values."""

    between_seeds: np.ndarray
    reported: np.ndarray

    @property
    def ratio(self) -> float:
        return float(self.reported.sum() / self.between_seeds.sum())


def spread(pattern: Pattern, seeds: range, networks: int = 120) -> Spread:
    """Of the four leading eigenvalues of the factor."""
    spectra = [estimate(pattern, networks, seed).spectrum() for seed in seeds]
    step = spectra[0].structure.copies
    values = np.array([spectrum.eigenvalues[::step][:4] for spectrum in spectra])
    errors = np.array([spectrum.eigenvalue_errors[::step][:4] for spectrum in spectra])
    return Spread(values.std(axis=0, ddof=1), np.sqrt(np.square(errors).mean(axis=0)))


# One of each kind of reading, those with unknown variances among them.
SHORTENED = (
    "factor",
    "weight normalisation",
    "random scale of all layers",
    "EDM, bias added afterwards",
)


def test_stated_errors_are_the_spread_between_seeds_roughly():
    """Logarithms of the ratios, 12 seeds each, have a standard deviation of about 0.25.

    So one of them exceeds one, or their mean 0.45, in less than one of a thousand runs; leading
    eigenvalues rise and fall together, so that four are hardly better than one.
    """
    logs = [
        np.log(spread(named(name), range(100 * number, 100 * number + 12), networks=48).ratio)
        for number, name in enumerate(SHORTENED)
    ]
    assert np.abs(logs).max() < 1.0, logs
    assert abs(np.mean(logs)) < 0.45, logs


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(PATTERNS)), ids=ids)
def test_stated_errors_are_the_spread_between_seeds(number, request):
    """Within 15 %, of which 4 % are the error of 400 seeds: one run in a hundred fails by chance.

    Every pattern has seeds of its own, so that they do not fail together.
    """
    if PATTERNS[number].name == "random factor for each channel":
        reason = (
            "its channels have equal eigenvalues, unknown to a sampled reading; the larger "
            "of two equal ones scatters less than either: 1.15 with 120 networks, 1.11 with 960"
        )
        request.applymarker(pytest.mark.xfail(reason=reason, strict=False))
    first = 100_000 * (number + 1)
    measured_spread = spread(PATTERNS[number], range(first, first + 400))
    assert abs(measured_spread.ratio - 1) < 0.15, measured_spread


EQUAL = ("weight normalisation", "random scale", "random parameter")


def told_apart(name: str, pairs: int, level: float) -> int:
    """Pairs of equal families that a comparison tells apart."""
    return sum(
        compare(
            *(estimate(named(name), 120, 2 * k + part) for part in (0, 1)), level=level
        ).different
        for k in range(pairs)
    )


@pytest.mark.parametrize("name", EQUAL[:1])
def test_equal_networks_are_told_apart_at_the_level(name):
    """Of 8 pairs at the level 0.05 four or more in less than one of 1,000 runs."""
    assert told_apart(name, 8, 0.05) <= binom.isf(1e-3, 8, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", EQUAL)
def test_equal_networks_are_told_apart_at_the_level_in_many_pairs(name):
    assert told_apart(name, 200, 0.05) <= binom.isf(1e-3, 200, 0.05)


@pytest.mark.parametrize(
    ("name", "layer"),
    [("zero weight, random bias", "head"), ("zero gain before the last layer", "gamma")],
)
def test_an_output_of_nothing_but_biases_is_explained(name, layer):
    family = named(name).family
    with pytest.raises(NetworkError, match=rf"only its biases.*: {layer} is initialised to zero"):
        estimate_geometry(family, networks=24)
    for policy in ("last", "all"):
        geometry = estimate_geometry(family, networks=24, zero_output=policy)
        assert geometry.plan.redrawn == (layer,)


def test_a_scale_that_only_a_later_timestep_shows_is_measured():
    """A gain that is three at one timestep in fifty, which a look at a few of them may miss."""

    def step(x, t, z):
        return z * (1 + 2 * (t == 20).to(z.dtype)).view(-1, 1, 1, 1)

    truth = closed_form(scale=1 + 2.0 * (STEPS == 20))
    pattern = Pattern("one timestep", followed_by(step), lambda: truth)
    for seed in range(3):  # whichever timesteps are looked at
        geometry = estimate(pattern, 960, seed)
        traces = geometry.folds.trace(axis1=1, axis2=2) * geometry.structure.copies
        error = traces.std(ddof=1) / np.sqrt(FOLDS)
        assert abs(traces.mean() - np.trace(truth)) < student.ppf(1 - 1e-4, FOLDS - 1) * error


class SometimesSkipping(Plain):
    """Adds its input in one network of a hundred."""

    def __init__(self):
        super().__init__()
        self.skips = drawn_scale(1.0) > 10**0.98
        float(self.stem.weight.detach().sum())  # so that the factory makes every network

    def after(self, x, t, z):
        return x + z if self.skips else z


def test_what_is_added_only_in_some_networks_is_noticed():
    """Not in the eight that are looked at (92 % of seeds), but among 480 (99 %)."""
    pattern = Pattern("sometimes", SometimesSkipping, closed_form, probe=Gaussian(1.0))
    with pytest.raises(NetworkError, match=r"sometimes: something is added .* only sometimes"):
        estimate(pattern)


@pytest.mark.parametrize("name", ["EDM, bias added afterwards", "EDM, labels"])
@pytest.mark.parametrize("level", [0.0, 0.5, 0.9, 1.0])
def test_preconditioned_networks_are_read_at_every_noise_level(name, level):
    """At the noisiest levels the last layer's effect is a thousandth of what the output passes on.

    There rounding made one reading in sixty a sampled one, for a reason that was not true.
    """
    family = named(name).family
    t = round(level * (family.schedule.steps - 2))
    members = [family.member(seed).eval().requires_grad_(False) for seed in range(3)]
    for seed in range(20):
        x = torch.randn(2, *family.shape, generator=torch.Generator().manual_seed(seed))
        layer = find_last_layer(members, x, torch.tensor([t, t + 1]))
        assert layer.selection is not None
        assert layer.gains is None
