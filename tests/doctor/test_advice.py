"""Advice names only what the network at hand has."""

import re
from pathlib import Path

import pytest

import sads
from sads.doctor import diagnose
from sads.doctor.findings.advice import on_zeros_in_a_row
from sads.doctor.findings.blindness import on_time
from sads.doctor.findings.borders import on_flips, on_padding
from sads.doctor.findings.training import on_zero_output
from sads.inspection.zero_outputs import POLICIES
from sads.networks import ScoreFamily
from sads.networks.presets import PRESETS
from tests.doctor.well_known import FACTORIES, well_known

VARIANTS = ("iddpm-16,channels=14,heads=2,groups=14", "iddpm-1d,zero_init=true")


def all_advice(family: ScoreFamily) -> list[str]:
    """Everything that could be said to a network, whether or not it is found."""
    member = family.member(0)
    module = getattr(member, "network", member)
    said = [on_zero_output(module), on_flips(module), on_padding(module)]
    return [*said, on_time(module, ()), on_zeros_in_a_row(("some.layer",))]


def options(text: str) -> dict[str, str]:
    """What a text names as name=value."""
    return dict(re.findall(r"(\w+)='?([\w.]+)'?", text))


def policy_is_known(named: dict[str, str]) -> bool:
    """Take out the one option that a geometry of every network has."""
    return named.pop("zero_output", "last") in POLICIES


@pytest.mark.parametrize("name", [*PRESETS, *VARIANTS])
def test_every_field_that_is_named_exists(name):
    for said in all_advice(sads.network(name)):
        named = options(said)
        assert policy_is_known(named)
        for option in named.items():
            preset, *fields = name.split(",")
            changed = dict([*(field.split("=") for field in fields), option])
            sads.network(",".join([preset, *("=".join(pair) for pair in changed.items())]))


def test_fields_are_named_where_they_help():
    unet = "; ".join(all_advice(sads.network("iddpm-16")))
    assert options(unet) == {
        "zero_output": "last",
        "zero_init": "false",
        "resampling": "area",
        "groups": "8",
    }


@pytest.mark.parametrize("name", FACTORIES)
def test_other_peoples_networks_are_told_no_fields_of_ours(name):
    for said in all_advice(well_known(name, Path())):
        named = options(said)
        assert policy_is_known(named)
        assert named == {}


def test_a_strided_convolution_is_named():
    """One that cuts into patches treats both sides alike and is not blamed."""
    member = well_known("DDPM", Path()).member(0)
    assert "down" in on_flips(member.network)
    assert "embed" not in on_flips(well_known("DiT", Path()).member(0).network)


def test_probes_that_are_named_can_be_read(tmp_path):
    findings = diagnose(well_known("UNet2DModel", tmp_path), networks=96).findings
    said = " ".join(one.suggestion for one in findings)
    assert "resampling=area" not in said
    probes = re.findall(r"gaussian:[\d.]+", said)
    assert probes
    for probe in probes:
        sads.estimate_geometry("mlp,width=8", shape=(1, 2, 2), probe=probe, networks=12)
