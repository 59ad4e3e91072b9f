"""Where training takes a network: against torch's own Adam, and what can and cannot move."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import sads
from sads.doctor.findings import RESPONSES
from sads.doctor.patient import admit
from sads.doctor.training_steps import FEWEST, MOST, move_on, take_steps
from sads.networks import ScoreFamily
from sads.networks.family import unseeded_member
from sads.path import Schedule
from tests.doctor.patients import SHAPE, family
from tests.doctor.u_nets import CheckpointedADM
from tests.networks.zoo import AdaLNZero, Conv, Gained, TwoInARow

SHAPE_OF_TWO = (2, 6, 6)


def codes(one: ScoreFamily) -> dict[str, str]:
    patient = admit(one)
    return {finding.code: finding.severity for check in RESPONSES for finding in check(patient)}


def inputs(shape) -> torch.Tensor:
    return torch.randn(4, *shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


class Seen(nn.Module):
    """Keeps what it was called with, so that a test can take the same steps."""

    def __init__(self):
        super().__init__()
        self.inner = unseeded_member(family("zero head"))
        self.calls = []

    def forward(self, x, t):
        self.calls.append((x, t))
        return self.inner(x, t)


def test_steps_are_those_of_adam():
    """The noise is recovered from the input: x_t = sqrt(abar) x + sqrt(1 - abar) eps."""
    torch.manual_seed(0)
    network = Seen().double()
    other = unseeded_member(family("zero head")).double()
    other.load_state_dict(network.inner.state_dict())
    x, schedule = inputs(SHAPE), Schedule()
    taken = take_steps(network, x, schedule, 0).taken
    optimiser = torch.optim.Adam(other.parameters(), lr=1e-3)
    assert taken == len(network.calls) >= FEWEST
    for noisy, t in network.calls:
        abar = torch.from_numpy(schedule.abar)[t].view(-1, 1, 1, 1)
        eps = (noisy - abar.sqrt() * x) / (1 - abar).sqrt()
        optimiser.zero_grad()
        F.mse_loss(other(noisy, t), eps).backward()
        optimiser.step()
    for name, parameter in other.named_parameters():
        torch.testing.assert_close(network.inner.get_parameter(name), parameter, msg=name)


@pytest.mark.parametrize(
    ("make", "shape"), [(AdaLNZero, (1, 8, 8)), (Gained, SHAPE_OF_TWO)], ids=["DiT", "EDM2"]
)
def test_zero_layers_in_turn_let_every_parameter_move(make, shape):
    network = make().double()
    steps = take_steps(network, inputs(shape), Schedule(), 0)
    assert steps.moved == {n for n, _ in network.named_parameters()}
    assert steps.taken < MOST


def test_guided_diffusions_own_checkpoints_are_stepped_through():
    network = CheckpointedADM().double()
    steps = take_steps(network, inputs((1, 8, 8)), Schedule(), 0)
    assert not steps.failure
    assert steps.moved == {n for n, _ in network.named_parameters()}


def test_parameters_that_start_tiny_are_moved_like_others():
    class Tiny(Conv):
        def __init__(self):
            super().__init__()
            with torch.no_grad():
                self.trunk.mix.weight.mul_(1e-10)

    network = Tiny().double()
    steps = take_steps(network, inputs(SHAPE_OF_TWO), Schedule(), 0)
    move_on(network, steps.moved, 0)
    assert float(network.trunk.mix.weight.detach().abs().mean()) > 0.01


def test_frozen_and_unused_parameters_stay():
    network = Conv("").double()
    network.trunk.time.requires_grad_(False)
    before = {n: p.clone() for n, p in network.named_parameters()}
    steps = take_steps(network, inputs(SHAPE_OF_TWO), Schedule(), 0)
    move_on(network, steps.moved, 0)
    stayed = {n for n, p in network.named_parameters() if torch.equal(p, before[n])}
    assert stayed == {"trunk.time.weight", "trunk.time.bias", "extra.weight", "extra.bias"}


def test_a_frozen_zero_embedding_is_time_blind():
    """The same as a zero embedding that is trained, which is a note."""

    class Frozen(Conv):
        def __init__(self, frozen: bool):
            super().__init__()
            nn.init.zeros_(self.trunk.time.weight)
            self.trunk.time.requires_grad_(not frozen)

    said = [codes(ScoreFamily(lambda f=f: Frozen(f), SHAPE_OF_TWO)) for f in (True, False)]
    assert "time-blind" in said[0]
    assert "time-blind-at-init" in said[1]


class Dead(Conv):
    """A zero gain on a zero convolution: the gradient of each is zero because the other is."""

    def __init__(self):
        super().__init__()
        for parameter in self.out.parameters():
            nn.init.zeros_(parameter)
        self.gain = nn.Parameter(torch.zeros(1))

    def forward(self, x, t):
        return self.gain * super().forward(x, t)


def test_an_output_that_training_does_not_wake_is_an_error():
    assert codes(ScoreFamily(Dead, SHAPE_OF_TWO))["zero-output"] == "error"
    assert codes(ScoreFamily(Gained, SHAPE_OF_TWO))["zero-output"] == "note"


def test_zero_layers_that_feed_each_other_are_named():
    """Only the last bias is trained, so the network learns one output for all."""
    patient = admit(ScoreFamily(TwoInARow, SHAPE_OF_TWO))
    findings = {one.code: one for check in RESPONSES for one in check(patient)}
    assert findings["input-blind"].severity == "error"
    assert "zero" in findings["input-blind"].suggestion
    assert "out" in findings["input-blind"].suggestion


@pytest.mark.parametrize("how", ["no_grad", "frozen", "detached"])
def test_a_network_without_gradient_is_untrainable(how):
    class Without(Conv):
        def __init__(self):
            super().__init__()
            self.requires_grad_(how != "frozen")

        def forward(self, x, t):
            with torch.set_grad_enabled(how != "no_grad" and torch.is_grad_enabled()):
                out = super().forward(x, t)
            return out.detach() if how == "detached" else out

    assert codes(ScoreFamily(Without, SHAPE_OF_TWO))["untrainable"] == "error"


def test_the_network_that_is_examined_stays_as_it_starts():
    patient = admit(sads.network("cnn", shape=(1, 8, 8)))
    fresh = sads.network("cnn", shape=(1, 8, 8)).member(0)
    for name, parameter in fresh.named_parameters():
        torch.testing.assert_close(patient.start.get_parameter(name).float(), parameter)
