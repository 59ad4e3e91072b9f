"""Every finding about geometries, with the defect planted and without it."""

from functools import cache

import numpy as np
import pytest
import torch
from scipy.fft import dctn
from torch import nn

import sads
from sads.doctor import diagnose
from sads.doctor.finding import NotChecked
from sads.doctor.findings.borders import asymmetric
from sads.doctor.findings.probe_sensitivity import probe_sensitive
from sads.doctor.findings.spectrum import (
    ill_conditioned,
    low_frequency_heavy,
    low_frequency_share,
    null_share,
    null_space,
)
from sads.doctor.patient import Examined, admit
from sads.errors import NetworkError
from sads.geometry.estimate import running_estimates
from sads.geometry.subspace_choice import UpTo
from sads.inspection.subspaces import LowFrequencies
from sads.networks import ScoreFamily
from tests.alignment.geometries import geometry_with
from tests.doctor.patients import SHAPE, family


@cache
def geometry(defect: str = "", probe: str = "zero", networks: int = 192):
    return sads.estimate_geometry(family(defect), probe=probe, networks=networks)


@cache
def patient(defect: str = ""):
    return admit(family(defect))


def examined(zero, gaussian=None, who=None):
    """A patient with these geometries."""
    return Examined(**vars(who or patient()), zero=zero, gaussian=gaussian or zero)


def codes_of(check, zero, gaussian=None, who=None) -> list[str]:
    return [f.code for f in check(examined(zero, gaussian, who))]


def test_flips():
    assert codes_of(asymmetric, geometry("lopsided"), who=patient("lopsided")) == ["asymmetric"]
    assert codes_of(asymmetric, geometry()) == []
    for name, codes in (("iddpm-16", ["asymmetric"]), ("iddpm-16,resampling=area", [])):
        unet = sads.estimate_geometry(name, networks=480)
        assert codes_of(asymmetric, unet, who=admit(sads.network(name))) == codes


def test_null_space():
    (one,) = null_space(examined(geometry("narrow"), who=patient("narrow")))
    assert (one.code, one.severity) == ("null-space", "warning")
    assert one.evidence.startswith("60 of 64")
    assert codes_of(null_space, geometry()) == []


def test_a_null_space_at_zero_alone_is_a_note():
    """At x = 0 a DiT outputs LN(P) times its last weight: few directions, but all elsewhere."""
    dit = sads.network("dit-2,depth=1", shape=(1, 16, 16))
    (one,) = null_space(examined(sads.estimate_geometry(dit, networks=24), who=admit(dit)))
    assert (one.code, one.severity) == ("null-space", "note")


def test_a_faint_way_around_a_bottleneck_is_no_warning():
    """A millionth of the energy is little, but training can make it more."""
    faint = "narrow with a faint way around"
    (one,) = null_space(examined(geometry(faint), who=patient(faint)))
    assert (one.code, one.severity) == ("null-space", "note")


def test_the_share_of_outputs_in_a_null_space():
    """Against the projection written out with whole eigenvectors."""
    narrow = geometry("narrow")
    outputs = np.random.default_rng(0).standard_normal((3, *SHAPE))
    null = narrow.spectrum().eigenvectors[:, 4:]
    expected = np.square(outputs.reshape(3, -1) @ null).sum() / np.square(outputs).sum()
    assert null_share(narrow, outputs) == pytest.approx(expected)


def test_low_frequencies():
    assert codes_of(low_frequency_heavy, geometry("smooth")) == ["low-frequency-heavy"]
    assert codes_of(low_frequency_heavy, geometry_with(np.eye(64), SHAPE)) == []


@pytest.mark.parametrize("kind", ["dense", "channels"])
def test_low_frequency_share_is_the_energy_on_the_lowest_frequencies(kind):
    """256 draws: the estimate's relative error is about 5 %, the bound is four of these."""
    rng = np.random.default_rng(0)
    vectors = np.linalg.qr(rng.normal(size=(36, 36)))[0]
    factor = (vectors * np.exp(-3 * rng.random(36))) @ vectors.T
    basis = dctn(np.eye(36).reshape(36, 6, 6), axes=(1, 2), norm="ortho").reshape(36, 36)
    energy = np.einsum("ik,ij,jk->k", basis, factor, basis)
    rows, columns = np.divmod(np.arange(36), 6)
    order = np.argsort(np.hypot(rows / 6, columns / 6), kind="stable")
    expected = energy[order[:4]].sum() / energy.sum()
    assert low_frequency_share(geometry_with(factor, (1, 6, 6), kind))[0] == pytest.approx(
        expected, rel=0.2
    )


def test_probes():
    assert codes_of(probe_sensitive, geometry(), geometry(networks=193)) == []
    assert codes_of(probe_sensitive, geometry("padded"), geometry("padded", "gaussian:1")) == [
        "probe-sensitive"
    ]
    few = sads.estimate_geometry(family(), networks=12, estimator="naive")
    with pytest.raises(NotChecked, match="it takes at least 64 networks"):
        codes_of(probe_sensitive, few)


class Stack(nn.Module):
    """Norms of a constant, one behind the other; at x = 0 each multiplies rounding by 316."""

    def __init__(self, norms: int):
        super().__init__()
        self.convs = nn.ModuleList(
            nn.Conv2d(1 if i == 0 else 8, 8, 3, padding=1, padding_mode="circular")
            for i in range(norms + 1)
        )
        self.norms = nn.ModuleList(nn.GroupNorm(8, 8) for _ in range(norms))
        self.place = nn.Parameter(1e-9 * torch.randn(8, 8, 8))
        self.head = nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        h = self.convs[0](x) + self.place.to(x)
        for conv, norm in zip(self.convs[1:], self.norms, strict=True):
            h = torch.nn.functional.silu(conv(norm(h)))
        return self.head(h)


def test_rounding_at_the_probe():
    bad = sads.estimate_geometry(ScoreFamily(lambda: Stack(5), SHAPE, name="stack"), networks=48)
    assert codes_of(ill_conditioned, bad) == ["ill-conditioned-probe"]
    assert codes_of(ill_conditioned, geometry(networks=48)) == []


def test_all_together_most_severe_first():
    one = diagnose(family("zero head"), networks=120)
    assert [f.severity for f in one.findings if f.code == "zero-output"] == ["note"]
    order = [("error", "warning", "note").index(f.severity) for f in one.findings]
    assert order == sorted(order)
    assert all(f.evidence and f.meaning and f.suggestion for f in one.findings)
    assert one.networks == 120


class Unbiased(nn.Module):
    """Nothing at x = 0."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Conv2d(1, 1, 3, padding=1, bias=False)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        return self.head(x) * (1 + t.to(x.dtype).view(-1, 1, 1, 1))


def test_a_network_that_is_silent_at_zero_is_examined_elsewhere():
    one = diagnose(ScoreFamily(Unbiased, SHAPE, name="unbiased"), networks=120)
    assert any("x = 0" in what for what in one.skipped)


def test_a_network_that_fails_is_an_error():
    class Broken(nn.Module):
        def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
            raise RuntimeError("broken on purpose")

    with pytest.raises(NetworkError, match=r"broken on purpose"):
        diagnose(ScoreFamily(Broken, SHAPE, name="broken"))


def test_large_images_are_examined_on_their_low_frequencies(monkeypatch):
    """Both geometries are of the subspace, and the findings are those of the whole."""
    convolutions, seen = sads.network("cnn", shape="1x8x8"), []

    def noted(*arguments, **options):
        for geometry in running_estimates(*arguments, **options):
            seen.append(geometry.subspace)
            yield geometry

    usual = {"padding-only", "low-frequency-heavy"}
    assert usual <= {one.code for one in diagnose(convolutions, networks=24).findings}
    monkeypatch.setattr("sads.doctor.diagnosis.running_estimates", noted)
    monkeypatch.setattr("sads.doctor.diagnosis.QUICK", UpTo(63))
    monkeypatch.setattr("sads.geometry.subspace_choice.MOST_FREQUENCIES", 4)
    assert usual <= {one.code for one in diagnose(convolutions, networks=24).findings}
    assert set(seen) == {LowFrequencies(4)}
