"""How modules are called, what is said about it, and what is said when it fails."""

import pytest
import torch
from torch import nn

from sads.errors import NetworkError
from sads.networks import UNet
from sads.networks.adapters import Calling, adapt, assumptions_of
from sads.networks.adapters.explain import why_not_called
from sads.path import Schedule
from sads.presentation.assumptions import sentence

from .zoo import Conv, Keyword, Labelled, Pair, Preconditioned, Sampled

SCHEDULE = Schedule()
X = torch.randn(3, 2, 6, 6, generator=torch.Generator().manual_seed(0))
T = torch.tensor([1, 5, 900])


class Recording(nn.Module):
    """Keeps what it was called with, by the names of its own signature."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(2, 2, 1)
        self.seen = {}

    def note(self, x, **given):
        self.seen = given
        return self.layer(x)


class Labels(Recording):  # score_sde's DDPM
    def forward(self, x, labels):
        return self.note(x, time=labels)


class Cond(Recording):
    def forward(self, x, cond):
        return self.note(x, time=cond)


class OnlyY(Recording):  # NCSN
    def forward(self, x, y):
        return self.note(x, time=y)


class Late(Recording):
    def forward(self, x, y, t):
        return self.note(x, time=t, label=y)


class Usual(Recording):
    def forward(self, x, t, y):
        return self.note(x, time=t, label=y)


class Elucidated(Recording):  # the U-Nets of EDM
    def forward(self, x, noise_labels, class_labels, augment_labels=None):
        return self.note(x, time=noise_labels, label=class_labels)


class Imputing(Recording):  # DiffWave's name, behind another optional argument
    def forward(self, x, mask=None, diffusion_step=None):
        return self.note(x, time=diffusion_step)


class OptionalTime(Recording):
    def forward(self, x, labels=None):
        return self.note(x, time=labels)


class KeywordOnly(Recording):
    def forward(self, x, *, moment):
        return self.note(x, time=moment)


class PositionOnly(Recording):
    def forward(self, x, timesteps, /):
        return self.note(x, time=timesteps)


class TimeFirst(Recording):  # torchdiffeq, torchcfm
    def forward(self, t, x, y=None):
        return self.note(x, time=t)


class Starred(Recording):
    def forward(self, *args):
        return self.note(args[0], time=args[1])


CALLED = [Labels, Cond, OnlyY, Late, Usual, Elucidated, Imputing, OptionalTime]
CALLED += [KeywordOnly, PositionOnly, TimeFirst, Starred]


@pytest.mark.parametrize("kind", CALLED)
def test_the_time_reaches_the_argument_that_takes_it(kind):
    network = kind()
    output = adapt(network, "mine", SCHEDULE)(X, T)
    assert torch.equal(network.seen.pop("time"), T)
    for label in network.seen.values():
        assert label.tolist() == [0, 0, 0]
    torch.testing.assert_close(output, network.layer(X))


def taken_as(network, prediction=None, name="mine", shape=(2, 6, 6)):
    member = adapt(network, name, SCHEDULE, prediction)
    return assumptions_of(member, SCHEDULE, torch.zeros(1, *shape), T[:1], name)


def test_assumptions_name_prediction_schedule_time_inputs_and_output():
    plain = taken_as(Conv())
    assert sentence(plain) == (
        "Taken as: noise prediction (eps), linear schedule with 1000 steps, time passed as `t` = "
        "0..999 (whole numbers)."
    )
    assert (plain.time_dtype, plain.inputs, plain.hints) == ("int64", {}, ())
    ours = taken_as(UNet((1, 8, 8), channels=8, groups=4, mults=(1, 1)), shape=(1, 8, 8))
    assert (ours.time, ours.passed_by, ours.time_to) == ("t", "position", 999)
    labelled = taken_as(Labelled(classes=5))
    assert labelled.inputs == {"y": "5"}
    second = taken_as(Labels())
    assert (second.time, second.passed_by) == ("labels", "position")
    assert "`labels` = 0..999 (whole numbers, by position)" in sentence(second)
    denoiser = taken_as(Preconditioned())
    assert (denoiser.prediction, denoiser.process) == ("x0", "variance-exploding")
    assert denoiser.time_from == pytest.approx(0.01, rel=0.01)
    assert taken_as(Conv(), "v").prediction == "v"


@pytest.mark.parametrize(
    ("kind", "output"),
    [(Conv, "tensor"), (Sampled, "`.sample`"), (Pair, "the first of 2"), (Keyword, "the key")],
)
def test_assumptions_say_where_the_output_is_read(kind, output):
    assert taken_as(kind()).output.startswith(output)


def test_learned_variances_are_said_to_be_left_out():
    assert taken_as(Conv(out=4)).output == "the first 2 of 4 channels"


class Null(Labelled):
    num_classes = 5


def test_a_label_of_no_class_is_called_null():
    assert taken_as(Null(classes=5)).inputs == {"y": "5 (null)"}


class VelocityField(Conv):
    pass


class Annotated(Conv):
    def forward(self, x, t: float):
        return super().forward(x, t)


class Documented(Conv):
    def forward(self, x, t):
        """Velocity at x; t: time in [0, 1]."""
        return super().forward(x, t)


class Keyed(Conv):
    def forward(self, x, t):
        return {"x_start": super().forward(x, t)}


class Workflow(Conv):
    """No flow matching: t is a timestep."""


def configured(**config):
    network = Conv()
    network.config = config
    return network


@pytest.mark.filterwarnings("ignore:.torch.jit.trace")
def test_scripted_modules_are_refused_in_words():
    with pytest.raises(NetworkError, match=r"mine returns a scripted module.*before torch\.jit"):
        taken_as(torch.jit.trace(nn.Identity(), torch.zeros(1)))


@pytest.mark.parametrize(
    ("network", "name", "said"),
    [
        (VelocityField(), "mine", "looks like a flow-matching network (`velocity`)"),
        (Conv(), "zoo/flow.py:make", "looks like a flow-matching network (`flow`)"),
        (Conv(), "models.py:make_rectified", "looks like a flow-matching network (`rectified`)"),
        (configured(scheduler="FlowMatchEulerDiscreteScheduler"), "mine", "FlowMatchEuler"),
        (configured(prediction_type="v_prediction"), "mine", "prediction=v"),
        (configured(prediction_type="flow_prediction"), "mine", "flow_prediction"),
        (Annotated(), "mine", "`t` is annotated as float"),
        (Documented(), "mine", "`t` between 0 and 1"),
        (Keyed(), "mine", "write `prediction=x0`"),
        (Elucidated(), "mine", "`noise_labels` sounds like a noise level"),
    ],
)
def test_what_speaks_against_the_assumptions_is_said(network, name, said):
    line = taken_as(network, name=name)
    assert len(line.hints) == 1
    assert said in line.hints[0]
    assert line.hints[0] in sentence(line)


@pytest.mark.parametrize(
    ("network", "prediction", "name"),
    [
        (Workflow(), None, "flows/diffusion.py:make"),
        (configured(prediction_type="epsilon"), None, "mine"),
        (configured(prediction_type="v_prediction"), "v", "mine"),
        (Keyed(), "x0", "mine"),
        (Preconditioned(), None, "mine"),
    ],
)
def test_nothing_is_said_against_the_usual(network, prediction, name):
    assert taken_as(network, prediction, name).hints == ()


def failure(network, shape=(2, 6, 6)):
    member, x = adapt(network, "mine", SCHEDULE), torch.zeros(1, *shape)
    with pytest.raises((TypeError, AttributeError, RuntimeError)) as caught:
        member(x, T[:1])
    said = why_not_called(member, x, caught.value)
    assert "\n" not in said
    return said


class Hungry(Conv):
    def forward(self, x, t, y, depth, mask=None):
        return super().forward(x, t)


class Pooled(Conv):
    """Signature and failure of Stable Diffusion 3, with a name that nobody knows."""

    def __init__(self):
        super().__init__()
        self.config = {"joint_attention_dim": 9}

    def forward(self, x, encoder_hidden_states=None, pooled_text=None, timestep=None):
        return super().forward(x + pooled_text.mean(), timestep)


def test_a_call_that_fails_says_what_was_passed_and_what_to_write():
    said = failure(Hungry())
    assert "called as forward(x, t=t, y=torch.full((len(x),), 0))" in said
    assert "its signature is forward(x, t, y, depth, mask=None)" in said
    assert '`    return {"depth": torch.zeros_like(x)}`' in said
    pooled = failure(Pooled())
    assert "'NoneType'" in pooled
    assert "encoder_hidden_states=x.new_zeros(len(x), 1, 9)" in pooled
    assert '"pooled_text": x.new_zeros(len(x), ' in pooled
    assert "return self.net(x)`" in failure(nn.Conv2d(2, 2, 1))
    assert "def inputs" not in failure(Conv(), (3, 6, 6))  # a wrong shape needs no condition


def test_the_lines_of_the_message_can_be_run():
    """The lines between backticks state the inputs so that the module can be called."""
    lines = [part for part in failure(Pooled()).split("`") if part.strip()[:3] in ("ret", "def")]
    space = {"torch": torch}
    exec("\n".join(lines), space)  # noqa: S102 - our own lines
    stated = adapt(Pooled(), "mine", SCHEDULE, calling=Calling(inputs=space["inputs"]))
    assert stated(X, T).shape == X.shape
    lines = [
        part
        for part in failure(nn.Conv2d(2, 2, 1)).split("`")
        if part.strip()[:3] in ("cla", "def")
    ]
    space = {"nn": nn, "make": lambda: nn.Conv2d(2, 2, 1)}
    exec("\n".join(lines), space)  # noqa: S102 - our own lines
    assert adapt(space["Wrapped"](), "mine", SCHEDULE)(X, T).shape == X.shape


SDXL = {
    "sample_size": 8,
    "block_out_channels": (32, 32),
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
    "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
    "cross_attention_dim": 16,
    "addition_embed_type": "text_time",
    "addition_time_embed_dim": 8,
    "projection_class_embeddings_input_dim": 80,
}


def test_a_network_like_sdxl_gets_its_added_conditions():
    diffusers = pytest.importorskip("diffusers")
    network = diffusers.UNet2DConditionModel(**SDXL)
    assert taken_as(network, shape=(4, 8, 8)).inputs == {
        "encoder_hidden_states": "zeros of width 16",
        "added_cond_kwargs.text_embeds": "zeros of 32",
        "added_cond_kwargs.time_ids": "zeros of 6",
    }
    x = torch.randn(2, 4, 8, 8, generator=torch.Generator().manual_seed(1))
    own = {"text_embeds": torch.zeros(2, 32), "time_ids": torch.zeros(2, 6)}
    with torch.no_grad():
        direct = network(x, T[:2], torch.zeros(2, 1, 16), added_cond_kwargs=own).sample
        assert torch.equal(adapt(network, "mine", SCHEDULE)(x, T[:2]), direct)
