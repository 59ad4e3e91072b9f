"""Well-known networks are healthy, and what the doctor says of blindness is true after training."""

import pytest
import torch
from torch import Tensor, nn

import sads
from sads.doctor import diagnose
from sads.networks import ScoreFamily
from tests.doctor.well_known import (
    CONFIGURATIONS,
    DEFECTIVE,
    FACTORIES,
    SILENT,
    defective,
    well_known,
)

NAMES = [*FACTORIES, *CONFIGURATIONS]


def said_of(family: ScoreFamily) -> dict[str, str]:
    """Severity of each finding, by its code."""
    return {one.code: one.severity for one in diagnose(family, networks=24).findings}


@pytest.mark.parametrize("name", NAMES)
def test_nothing_above_a_note_is_said_of_a_well_known_network(name, tmp_path):
    said = said_of(well_known(name, tmp_path))
    assert set(said.values()) <= {"note"}
    assert ("zero-output" in said) == (name in SILENT)


@pytest.mark.parametrize("defect", DEFECTIVE)
def test_a_defect_that_no_training_mends_is_found(defect):
    expected = DEFECTIVE[defect]
    said = said_of(defective(defect))
    assert {code: said.get(code) for code in expected} == expected


def trained(family: ScoreFamily, steps: int = 8) -> nn.Module:
    """A network after some steps of torch's own Adam on the denoising loss of Gaussian data."""
    network = family.member(5).double() if _takes_doubles(family) else family.member(5)
    kind = next(network.parameters()).dtype
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(11)
    for _ in range(steps):
        t = torch.randint(family.schedule.steps, (8,), generator=generator)
        x, eps = torch.randn(2, 8, *family.shape, generator=generator, dtype=kind)
        abar = torch.from_numpy(family.schedule.abar)[t].to(kind).view(-1, *(1,) * (x.ndim - 1))
        loss = (network(abar.sqrt() * x + (1 - abar).sqrt() * eps, t) - eps).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return network.eval()


def _takes_doubles(family: ScoreFamily) -> bool:
    try:
        with torch.no_grad():
            family.member(5).double()(torch.zeros(1, *family.shape).double(), torch.tensor([3]))
    except RuntimeError:
        return False
    return True


def blindness(family: ScoreFamily) -> set[str]:
    """What a trained network does not depend on, by changing one thing at a time."""
    network = trained(family)
    kind = next(network.parameters()).dtype
    x, other = torch.randn(2, 2, *family.shape, dtype=kind, generator=torch.Generator())

    def output(x: Tensor, t: int) -> Tensor:
        with torch.no_grad():
            return network(x.clone(), torch.full((2,), t))

    base = output(x, 500)
    rounding = 1e-9 if kind == torch.float64 else 1e-5
    changes = {"input-blind": output(other, 500), "time-blind": output(x, 900)}
    return {
        what
        for what, changed in changes.items()
        if float((changed - base).norm()) < rounding * float(base.norm())
    }


@pytest.mark.parametrize("name", NAMES)
def test_well_known_networks_see_input_and_time_after_training(name, tmp_path):
    assert blindness(well_known(name, tmp_path)) == set()


@pytest.mark.parametrize("defect", DEFECTIVE)
def test_defective_networks_are_blind_after_training(defect):
    said = {code for code in DEFECTIVE[defect] if code.endswith("blind")}
    assert blindness(defective(defect)) == said


def test_the_papers_u_net_is_blind_to_time_after_training():
    assert blindness(sads.network("iddpm-16", shape=(1, 8, 8))) == {"time-blind"}
