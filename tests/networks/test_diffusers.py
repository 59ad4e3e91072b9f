"""Every configuration of `examples/diffusers` is estimated and examined, and the record is true."""

import json
import re

import numpy as np
import pytest
import torch

import sads
from benchmarks import diffusers_classes as record
from sads.errors import InputError
from sads.networks.adapters.diffusers import CLASSES, diffusers_family
from sads.networks.adapters.null_conditions import configuration

pytest.importorskip("diffusers")
EXAMINED = ("unet1d", "sana", "ltx", "wan", "uvit")  # the others take a minute together


def marks_of(name):
    return () if name in EXAMINED else pytest.mark.slow


@pytest.mark.parametrize("name", record.names())
def test_a_configuration_is_estimated_as_recorded(name):
    geometry = record.estimated(name, networks=record.FEW)
    row = record.read_record()[name]
    facts = record.facts(name, geometry)
    assert {key: row[key] for key in facts} == facts
    assert row.get("error", 0.0) <= record.TOLERANCE
    assert np.isfinite(geometry.factor).all()
    assert geometry.trace > 0


@pytest.mark.parametrize("name", [pytest.param(n, marks=marks_of(n)) for n in record.names()])
def test_a_configuration_is_examined_without_alarm(name):
    source = f"diffusers:{record.CONFIGURATIONS / name}.json"
    diagnosis = sads.diagnose(source, networks=record.FEW)
    assert {finding.severity for finding in diagnosis.findings} <= {"note"}


def test_every_class_is_recorded():
    rows = record.read_record()
    assert set(rows) == set(record.names())
    assert {row["class"] for row in rows.values()} == set(CLASSES)


def test_the_table_in_the_docs_is_that_of_the_record():
    page = record.PAGE.read_text()
    assert record.page_with(record.table(record.read_record()), page) == page


def without_conditions(network, x, t):
    """The forward pass of SD3 as its documentation has it."""
    config = configuration(network)
    return network(
        hidden_states=x,
        encoder_hidden_states=torch.zeros(len(x), 1, config["joint_attention_dim"]),
        pooled_projections=torch.zeros(len(x), config["pooled_projection_dim"]),
        timestep=t,
        return_dict=False,
    )[0]


def test_what_is_passed_is_what_the_documentation_asks_for():
    family = diffusers_family(record.CONFIGURATIONS / "sd3.json")
    member = family.member(3).eval()
    x, t = torch.randn(2, *family.shape), torch.tensor([4, 700])
    with torch.no_grad():
        assert torch.equal(member(x, t), without_conditions(member.network, x, t))


def test_positions_reach_tokens():
    """Without its positions Flux would not tell patches apart: equal patches, equal outputs."""
    family = diffusers_family(record.CONFIGURATIONS / "flux.json")
    member = family.member(3).eval()
    x = torch.randn(1, 16, 2, 2).repeat(1, 1, 16, 16)
    x[:, :, :2, :2] += 1.0  # one patch differs, seen from elsewhere by its position alone
    with torch.no_grad():
        out = member(x, torch.tensor([500]))
    patches = out.reshape(16, 16, 2, 16, 2).transpose(2, 3).reshape(16, 256, 4)
    assert float((patches[:, 200] - patches[:, 10]).abs().max()) > 1e-6


def test_tokens_of_a_codebook_have_no_score(tmp_path):
    path = tmp_path / "amused.json"
    path.write_text(json.dumps({"_class_name": "UVit2DModel", "sample_size": 8}))
    with pytest.raises(InputError, match=re.escape("predicts tokens of a codebook")):
        diffusers_family(path)
    path.write_text(json.dumps({"_class_name": "AutoencoderKL"}))
    with pytest.raises(InputError, match="expected one of"):
        diffusers_family(path)


def test_channels_that_condition_are_not_part_of_the_sample():
    family = diffusers_family(record.CONFIGURATIONS / "inpainting.json")
    assert family.shape == (4, 32, 32)
    member = family.member(0)
    seen = []
    member.network.conv_in.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    member(torch.ones(1, 4, 32, 32), torch.tensor([3]))
    assert seen[0].shape == (1, 9, 32, 32)
    assert seen[0].sum() == 4 * 32 * 32
