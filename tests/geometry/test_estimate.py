"""The estimator: stopping, reproducibility, resuming, precision, symmetries."""

import gc

import numpy as np
import pytest
import torch
from torch import nn

import sads.geometry.run as run_module
from sads.errors import ArtefactError, InputError, NetworkError
from sads.geometry import (
    Gaussian,
    Geometry,
    Point,
    Zero,
    estimate_geometry,
    load_geometry,
    running_estimates,
)
from sads.geometry.running_sums import State
from sads.inspection.readout import Convolution
from sads.networks import ScoreFamily, UNet, preset_family

from .families import FAMILIES, SHORT, Scaled

UNET = FAMILIES["unet"]


def test_stops_at_the_number_of_networks():
    geometry = estimate_geometry(UNET, networks=1000)
    assert geometry.networks == 1000
    assert geometry.state.finished


def test_stops_at_the_tolerance():
    geometry = estimate_geometry(UNET, tolerance=0.05)
    assert 0.03 < geometry.whitened_error <= 0.05


def test_the_error_is_honest():
    """Against a reference of 16 times the networks the whitened distance is the stated error."""
    from sads.directions.whitening import whitened_distance

    reference = estimate_geometry(UNET, networks=12288, seed=99).factor
    ratios = []
    for seed in range(4):
        geometry = estimate_geometry(UNET, networks=768, seed=seed)
        distance = whitened_distance(geometry.factor, reference, reference)
        ratios.append(distance / geometry.whitened_error)
    assert np.mean(ratios) == pytest.approx(1, abs=0.15)


def test_too_few_networks_have_no_error():
    geometry = estimate_geometry(UNET, networks=24, estimator="naive")
    assert geometry.whitened_error is None


def test_running_estimates_improve_and_end_with_the_result():
    items = list(running_estimates(UNET, tolerance=0.03))
    counts = [geometry.networks for geometry in items]
    assert counts == sorted(set(counts))
    assert len(items) > 1
    assert items[-1].whitened_error <= 0.03 < items[0].whitened_error
    whole = estimate_geometry(UNET, tolerance=0.03)
    assert np.array_equal(whole.factor, items[-1].factor)


def test_estimates_on_the_way_are_not_kept():
    alive = []

    def count(progress):
        alive.append(sum(type(one) is Geometry for one in gc.get_objects()))

    gc.freeze()  # what is there before is not looked through fifty times
    try:
        estimate_geometry(UNET, networks=3200, on_progress=count)
    finally:
        gc.unfreeze()
    assert len(alive) > 10
    assert max(alive) == 1


def test_result_depends_on_the_seed_alone():
    state = torch.get_rng_state()
    first = estimate_geometry(UNET, networks=200, seed=7)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(1)
    np.random.seed(1)  # noqa: NPY002 - the legacy global state must not matter
    assert np.array_equal(estimate_geometry(UNET, networks=200, seed=7).factor, first.factor)
    assert not np.array_equal(estimate_geometry(UNET, networks=200, seed=8).factor, first.factor)


def test_more_threads_change_nothing_that_can_be_seen():
    one = estimate_geometry(UNET, networks=400)
    torch.set_num_threads(2)
    try:
        two = estimate_geometry(UNET, networks=400)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
    np.testing.assert_allclose(one.factor, two.factor, rtol=1e-6)


class StopError(Exception):
    pass


@pytest.mark.parametrize("goal", [{"networks": 700}, {"tolerance": 0.06}])
@pytest.mark.parametrize("moment", [1, 5, 11])
def test_an_interrupted_run_continues_bit_for_bit(tmp_path, monkeypatch, goal, moment):
    monkeypatch.setattr(run_module, "CHECKPOINT_SECONDS", 0.0)
    whole = estimate_geometry(UNET, **goal)
    calls = 0

    def stop(progress):
        nonlocal calls
        calls += 1
        if calls == moment:
            raise StopError

    with pytest.raises(StopError):
        estimate_geometry(UNET, out=tmp_path, on_progress=stop, **goal)
    resumed = estimate_geometry(UNET, out=tmp_path, **goal)
    assert np.array_equal(resumed.state.sums, whole.state.sums)
    assert np.array_equal(resumed.state.counts, whole.state.counts)
    assert np.array_equal(load_geometry(tmp_path).factor, whole.factor)


def test_a_finished_run_is_loaded_not_repeated(tmp_path):
    first = estimate_geometry(UNET, networks=300, out=tmp_path)
    seen = []
    again = estimate_geometry(UNET, networks=300, out=tmp_path, on_progress=seen.append)
    assert [one for one in seen if not one.stage] == []
    assert np.array_equal(again.factor, first.factor)


def test_a_finished_run_can_be_continued_to_a_smaller_tolerance(tmp_path):
    coarse = estimate_geometry(UNET, tolerance=0.1, out=tmp_path)
    fine = estimate_geometry(UNET, tolerance=0.03, out=tmp_path)
    assert fine.networks > coarse.networks
    assert fine.whitened_error <= 0.03


def test_another_geometry_is_not_overwritten(tmp_path):
    estimate_geometry(UNET, networks=100, out=tmp_path)
    before = (tmp_path / "geometry.safetensors").read_bytes()
    with pytest.raises(ArtefactError, match="probe was 'zero', now 'gaussian:1'"):
        estimate_geometry(UNET, networks=100, out=tmp_path, probe=Gaussian(1.0))
    other = ScoreFamily(
        lambda: UNet((1, 8, 8), channels=8, groups=4, mults=(1, 1, 1)), (1, 8, 8), SHORT, "unet"
    )
    with pytest.raises(ArtefactError, match="fingerprint"):
        estimate_geometry(other, networks=100, out=tmp_path)
    assert (tmp_path / "geometry.safetensors").read_bytes() == before


def test_symmetries_are_declared_by_network_and_probe():
    assert estimate_geometry(UNET, networks=480).symmetries == ("transpose",)
    area = estimate_geometry(FAMILIES["unet-area"], networks=480)
    assert area.symmetries == ("flip", "transpose")
    matrix = area.matrix().reshape(8, 8, 8, 8)
    np.testing.assert_allclose(matrix, matrix[::-1, :, ::-1, :], rtol=1e-9)
    point = estimate_geometry(UNET, networks=480, probe=Point(np.ones((1, 8, 8))))
    assert point.symmetries == ()
    assert estimate_geometry(UNET, networks=480, estimator="naive").symmetries == ()


class FalselyDeclared(UNet):
    """Stride-2 convolutions break flips; declaring them anyway must be found out."""

    @property
    def symmetries(self) -> tuple[str, ...]:
        return ("flip", "transpose")


def test_a_false_symmetry_is_vetoed_and_the_tolerance_still_met():
    family = ScoreFamily(
        lambda: FalselyDeclared((1, 16, 16), channels=8, groups=8), (1, 16, 16), SHORT
    )
    geometry = estimate_geometry(family, tolerance=0.06)
    assert geometry.symmetries == ("transpose",)
    assert geometry.whitened_error <= 0.06


class Fragile(UNet):
    """A network that float32 gets wrong: it amplifies rounding."""

    def features(self, x, t):
        h = super().features(x, t)
        return h + ((h + 1e6) - 1e6 - h)


def test_float64_is_used_where_float32_is_wrong():
    fields = {"channels": 8, "groups": 4, "mults": (1, 1)}
    family = ScoreFamily(lambda: Fragile((1, 8, 8), **fields), (1, 8, 8), SHORT)
    fragile = estimate_geometry(family, networks=120)
    assert fragile.plan.precision.features == "float64"
    assert fragile.plan.precision.difference > fragile.plan.precision.allowed
    sound = estimate_geometry(UNET, networks=120)
    assert sound.plan.precision.features == "float32"
    np.testing.assert_allclose(fragile.factor, sound.factor, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["iddpm-mnist", "iddpm-cifar10", "vit", "ssm"])
def test_deep_presets_pass_the_float64_check(name):
    precision = estimate_geometry(preset_family(name), networks=12).plan.precision
    assert precision.features == "float32"
    assert precision.difference < 1e-3


def test_a_foreign_factory_is_read_like_ours():
    family = ScoreFamily(Scaled, (1, 4, 4), SHORT, "foreign")
    geometry = estimate_geometry(family, networks=600, probe=Gaussian(1.0))
    # A dense last layer: G is a multiple of the identity.
    assert geometry.structure.kind == "isotropic"
    state = torch.get_rng_state()
    again = estimate_geometry(family, networks=600, probe=Gaussian(1.0))
    assert torch.equal(torch.get_rng_state(), state)
    assert np.array_equal(again.factor, geometry.factor)


def scaled_head():
    network = UNET.factory()
    with torch.no_grad():
        network.head.weight *= 10
        network.head.bias *= 10
    return network


def without_bias():
    network = UNET.factory()
    nn.init.zeros_(network.stem.bias)
    return network


@pytest.mark.parametrize("factory", [scaled_head, without_bias])
def test_a_factory_that_changes_the_initialisation_is_believed(factory):
    changed = ScoreFamily(factory, (1, 8, 8), SHORT, "changed")
    geometry = estimate_geometry(changed, networks=240, weighting="noise")
    assert geometry.structure.kind == "channels"
    assert geometry.symmetries == ()
    plain = estimate_geometry(UNET, networks=240, weighting="noise")
    ratio = geometry.trace / plain.trace
    assert ratio == pytest.approx(100, rel=0.3) if factory is scaled_head else ratio < 2
    # An unchanged factory of ours has the symmetries that it declares.
    assert plain.plan.symmetries == ("transpose",)


def test_an_unfinished_run_has_no_spectrum_yet(tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "CHECKPOINT_SECONDS", 0.0)

    def stop(progress):
        if progress.networks > 200:
            raise StopError

    with pytest.raises(StopError):
        estimate_geometry(UNET, networks=1000, out=tmp_path, on_progress=stop)
    unfinished = load_geometry(tmp_path)
    assert not unfinished.state.finished
    with pytest.raises(ArtefactError, match="too few"):
        unfinished.spectrum()


def test_a_finer_tolerance_than_float32_allows_is_refused(tmp_path):
    estimate_geometry(UNET, tolerance=0.1, out=tmp_path)
    with pytest.raises(ArtefactError, match="float32"):
        estimate_geometry(UNET, tolerance=1e-6, out=tmp_path)


class FailsSometimes(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(1, 1, 1)

    def forward(self, x, t):
        if self.layer.bias > 0.9:
            raise IndexError("out of luck")
        return self.layer(x)


def test_a_failure_in_a_later_network_is_reported():
    family = ScoreFamily(FailsSometimes, (1, 4, 4), SHORT, "sometimes")
    with pytest.raises(NetworkError, match="IndexError: out of luck"):
        estimate_geometry(family, networks=480, probe=Gaussian(1.0))


def test_a_factor_larger_than_the_machine_is_refused():
    with pytest.raises(InputError, match="GiB"):
        State.empty(Convolution((1, 1024, 1024), 2, 1.0, 1.0, (3, 3)))


class Broken(nn.Module):
    def __init__(self, how: str):
        super().__init__()
        self.how = how
        self.layer = nn.Conv2d(1, 1, 1)

    def forward(self, x, t):
        if self.how == "nan":
            return self.layer(x) * float("nan")
        if self.how == "random":
            return self.layer(x) + torch.randn_like(x)
        if self.how == "shape":
            return self.layer(x)[..., 1:]
        if self.how == "tuple":
            return (self.layer,)
        if self.how == "zero":
            return 0 * self.layer(x)
        raise RuntimeError("not today\nsecond line")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("nan", "NaN or infinite"),
        ("random", "two different outputs"),
        ("shape", "shape of its input"),
        ("tuple", "tried: the tensor itself, the parts of objects"),
        ("zero", "does not depend on its parameters"),
        ("raise", "RuntimeError: not today"),
    ],
)
def test_networks_without_a_geometry_are_explained(tmp_path, how, message):
    family = ScoreFamily(lambda: Broken(how), (1, 4, 4), SHORT, "broken")
    with pytest.raises(NetworkError, match=message) as caught:
        estimate_geometry(family, networks=24, out=tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out" / "geometry.safetensors").exists()


def test_zero_output_at_the_probe_only_has_another_remedy():
    with pytest.raises(NetworkError, match="choose another probe"):
        estimate_geometry(FAMILIES["linear"], probe=Zero())


class NanSometimes(nn.Module):
    """Fails for one network in ten, after the first look."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(1, 1, 1)

    def forward(self, x, t):
        return self.layer(x) / (self.layer.bias > -0.8).view(1, 1, 1, 1).to(x.dtype)


def test_nan_in_a_later_network_is_reported():
    family = ScoreFamily(NanSometimes, (1, 4, 4), SHORT, "sometimes")
    with pytest.raises(NetworkError, match="NaN or inf"):
        estimate_geometry(family, networks=480, probe=Gaussian(1.0))


@pytest.mark.parametrize(
    "options",
    [
        {"networks": 5},
        {"networks": 100, "tolerance": 0.1},
        {"tolerance": 0.0},
        {"tolerance": 2.0},
        {"estimator": "clever"},
        {"weighting": "flat"},
        {"timesteps": (5, 5)},
        {"timesteps": (0, 51)},
        {"seed": -1},
        {"device": "cuda:77"},
        {"device": "abacus"},
        {"probe": Point(np.zeros((1, 4, 4)))},
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(InputError):
        estimate_geometry(UNET, **options)
