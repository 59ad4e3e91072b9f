"""What is said of networks that cannot be studied: it must blame the right thing."""

import pytest
import torch
from torch import nn

from sads.errors import InputError, NetworkError
from sads.geometry import Gaussian, Zero, estimate_geometry
from sads.inspection.checks import check_family
from sads.networks import ScoreFamily

SHAPE = (1, 4, 4)


def refusal(make, **options) -> str:
    with pytest.raises(NetworkError) as caught:
        estimate_geometry(
            ScoreFamily(make, SHAPE, name="mine"), networks=12, probe=Gaussian(1.0), **options
        )
    assert "\n" not in str(caught.value)
    return str(caught.value)


class Score(nn.Module):
    """A score network of the exploding process: divides by sigma, time in [0, 1]."""

    def __init__(self, times: float = 1.0, zero: bool = False):
        super().__init__()
        self.layer = nn.Conv2d(1, 1, 3, padding=1)
        self.times = times
        if zero:
            nn.init.zeros_(self.layer.weight)
            nn.init.zeros_(self.layer.bias)

    def forward(self, x, t):
        sigma = 0.01 * (50.0 / 0.01) ** (t * self.times)
        return self.layer(x) / sigma.view(-1, 1, 1, 1)


def test_a_score_network_that_overflows_is_not_told_that_it_starts_at_zero():
    """Sigma is infinite at timestep 900, so the output is zero for every network."""
    said = refusal(Score, timesteps=(600, 1000))
    assert "initialised to zero" not in said
    assert "not finite from `pow` on" in said
    assert "between 0 and 1" in said


def test_a_score_network_that_starts_at_zero_is_told_so():
    assert "layer is initialised to zero" in refusal(lambda: Score(1 / 1000, zero=True))
    geometry = estimate_geometry(
        ScoreFamily(lambda: Score(1 / 1000), SHAPE), networks=12, probe=Gaussian(1.0)
    )
    assert geometry.trace > 0


class Divided(nn.Module):
    """Its standard deviation vanishes at the first timestep: infinite there."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(1, 1, 1)

    def forward(self, x, t):
        return self.layer(x) / (t.float() / 1000).view(-1, 1, 1, 1)


def test_infinite_outputs_are_told_with_their_timestep_and_operation():
    said = refusal(Divided, timesteps=(0, 1))
    assert "16 NaN or infinite values of 16 at timestep 0, from `div` on" in said
    assert (
        estimate_geometry(  # the advice: leave that timestep out
            ScoreFamily(Divided, SHAPE), networks=12, probe=Gaussian(1.0), timesteps=(1, 1000)
        ).trace
        > 0
    )


class Clipped(nn.Module):
    """Outputs nothing late in the schedule, without anything infinite."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(1, 1, 1)

    def forward(self, x, t):
        return self.layer(x) * (1 - t / 500).clamp(min=0).view(-1, 1, 1, 1)


def test_a_network_that_is_silent_at_some_timesteps_is_told_which():
    said = refusal(Clipped, timesteps=(600, 1000))
    assert "but not at timestep 0" in said
    assert "initialised to zero" not in said


class Masked(nn.Module):
    """A mask of minus infinity is no overflow: the zero layer is to blame."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(1, 1, 1)
        nn.init.zeros_(self.layer.weight)

    def forward(self, x, t):
        flat = x.flatten(1)
        scores = flat[:, :, None] * flat[:, None, :]
        mask = torch.triu(torch.ones(16, 16, dtype=torch.bool), 1)
        mixed = scores.masked_fill(mask, -torch.inf).softmax(-1) @ flat[:, :, None]
        return self.layer(mixed.view(x.shape)) - self.layer.bias.view(1, 1, 1, 1)


def test_masks_of_attention_are_not_blamed():
    assert "layer is initialised to zero" in refusal(Masked)


def test_samples_that_cannot_fit_are_refused_before_they_are_drawn():
    family = ScoreFamily(Score, (3, 100_000, 100_000), name="mine")
    with pytest.raises(InputError, match=r"samples of 3x100000x100000 needs .* GiB"):
        check_family(family, Zero(), 0)


def test_what_a_family_is_taken_for_is_known_after_the_check():
    assumptions = check_family(
        ScoreFamily(lambda: Score(1e-3), SHAPE), Gaussian(1.0), 0
    ).assumptions
    assert (assumptions.prediction, assumptions.time, assumptions.time_to) == ("eps", "t", 999)


class OneBuffer(nn.Module):
    """Writes every answer into the same memory; may draw what it adds."""

    def __init__(self, *, noisy: bool):
        super().__init__()
        self.last, self.noisy, self.memory = nn.Linear(17, 16), noisy, torch.zeros(1, 1, 4, 4)
        self.calls = CALLS

    def forward(self, x, t):
        self.calls.append(1)
        time = t.to(x)[:, None] / 1000
        answer = self.last(torch.cat([x.flatten(1), time], dim=1)).view_as(x)
        self.memory.copy_(answer + torch.randn(()) * self.noisy)
        return self.memory


CALLS: list[int] = []


def test_every_network_is_asked_once_for_each_answer_that_is_needed():
    """Two networks, twice for their own input and once for the other's; then noise and the time."""
    CALLS.clear()
    family = ScoreFamily(lambda: OneBuffer(noisy=False), (1, 4, 4), name="one buffer")
    check_family(family, Zero(), 0, "explain")
    assert len(CALLS) == 4 + 2 + 5


def test_a_random_network_is_known_although_all_its_answers_share_their_memory():
    family = ScoreFamily(lambda: OneBuffer(noisy=True), (1, 4, 4), name="noisy")
    with pytest.raises(NetworkError, match="two different outputs for one input"):
        check_family(family, Zero(), 0, "explain")
