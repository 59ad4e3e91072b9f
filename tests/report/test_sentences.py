"""The answer in words, against geometries whose answer is known."""

import numpy as np
import pytest
import torch
from torch import nn

import sads
from sads.doctor import Diagnosis, Finding
from sads.geometry import load_geometry
from sads.presentation.alignment import rotating_is_worth_it, rotation_advice
from sads.report.sentences import answer, preferred
from sads.report.subjects import Named, Subject


class Fixed(nn.Module):
    """Outputs a random amount of one pattern, and a little noise from its own parameters."""

    def __init__(self, pattern, level):
        super().__init__()
        self.pattern, self.level = pattern, level
        self.amount = nn.Parameter(torch.randn(1))
        self.noise = nn.Parameter(torch.randn(8, 8))

    def forward(self, x, t):
        z = self.amount * self.pattern + self.level * self.noise
        return z.expand(x.shape[0], 1, 8, 8)


def _geometry(pattern):
    made = torch.tensor(pattern, dtype=torch.float32)
    return sads.estimate_geometry(
        lambda: Fixed(made, 0.02), shape=(1, 8, 8), networks=1024, estimator="naive"
    )


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        (np.ones((8, 8)), "coarse patterns most"),
        (np.indices((8, 8)).sum(0) % 2 * 2.0 - 1, "fine detail most"),
    ],
)
def test_the_planted_pattern_is_named_first(pattern, word, monkeypatch):
    monkeypatch.setattr(
        "sads.report.frequencies.TENTH", 1 / 64
    )  # the pattern is one direction of 64
    geometry = _geometry(pattern)
    assert geometry.spectrum().band_of(0).width == 1
    assert word in preferred(geometry)


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        (np.ones((8, 8)), "coarse patterns above all"),
        (np.indices((8, 8)).sum(0) % 2 * 2.0 - 1, "fine detail above all"),
    ],
)
def test_one_pattern_that_decides_is_named_beside_many_that_do_not(pattern, word):
    """A tenth of 64 directions is one pattern and five of noise, whose mean frequency is medium."""
    said = preferred(_geometry(pattern))
    assert word in said
    assert "has 100% of the trace, and the others prefer no scale" in said


def test_an_isotropic_geometry_favours_nothing():
    geometry = sads.estimate_geometry("mlp,width=8", shape="1x4x4", networks=60)
    assert "all directions alike" in preferred(geometry)


def test_what_to_do_follows_from_what_is_known(unet):
    named = Named(str(unet), load_geometry(unet))
    assert "--data" in answer(Subject(named)).actions[-1].text
    digits = sads.align(named.geometry, "digits")
    assert digits.relative > 1
    told = answer(Subject(named, alignment=digits))
    assert "on large eigenvalues" in (told.data or "")
    assert told.actions[-1].command == f"sads doctor {named.geometry.plan.network} --shape 1x8x8"
    # Data along the direction of the smallest eigenvalue needs no rotation.
    best = named.geometry.spectrum().sads.directions[:, 0]
    amounts = np.random.default_rng(0).standard_normal((100, 1))
    along = sads.align(named.geometry, (amounts * best).reshape(-1, 1, 8, 8))
    told = answer(Subject(named, alignment=along))
    assert "on small eigenvalues" in (told.data or "")
    assert "Leave the data" in told.actions[-1].text


def test_rotating_is_advised_as_it_was_measured(unet):
    """A time-blind network is told what rotations did to time-blind networks, others to others."""
    named = Named(str(unet), load_geometry(unet))
    digits = sads.align(named.geometry, "digits")
    blind = Finding("time-blind", "warning", "e", "m", "use fewer groups")
    for findings, sees_time in (((), True), ((blind,), False)):
        diagnosis = Diagnosis("n", (1, 8, 8), findings, 12, ())
        action = answer(Subject(named, diagnosis=diagnosis, alignment=digits)).actions[-1]
        assert action.text == rotation_advice(sees_time=sees_time)
        worth = rotating_is_worth_it(sees_time=sees_time)
        assert (action.command is None) == (worth is False)
    assert rotating_is_worth_it(sees_time=False)


def test_findings_come_before_advice_about_data(unet):
    named = Named(str(unet), load_geometry(unet))
    finding = Finding("time-blind", "warning", "e", "m", "use fewer groups")
    diagnosis = Diagnosis("n", (1, 8, 8), (finding,), 12, ())
    told = answer(Subject(named, diagnosis=diagnosis))
    assert told.actions[0].text == "Mend time-blind: use fewer groups."
