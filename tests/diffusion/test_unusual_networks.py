"""Networks with parameters and state of every kind: trained, stored and continued bit for bit."""

import random

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import sads.diffusion.training as training_module
from sads.diffusion import Settings, TrainingError, read_training, train
from sads.diffusion.checkpoint import FILE
from sads.errors import NetworkError
from sads.networks import ScoreFamily, UNet
from sads.path import Schedule

SAMPLES = torch.randn(40, 6, generator=torch.Generator().manual_seed(0))
SETTINGS = Settings(iterations=6, batch_size=8, learning_rate=1e-2, seed=3)


class Base(nn.Module):
    """Two layers; the classes below add one unusual thing each."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(6, 8), nn.Linear(8, 6)

    def forward(self, x, t):
        return self.last(self.hidden(torch.tanh(self.first(x) + 0.01 * t[:, None]), t))

    def hidden(self, h, t):
        return h


class Frozen(Base):
    def __init__(self):
        super().__init__()
        self.first.requires_grad_(False)


class Unused(Base):
    def __init__(self):
        super().__init__()
        self.spare = nn.Linear(3, 3)


class UsedLater(Base):
    """A layer that is used from the third call on, and not in every one."""

    def __init__(self):
        super().__init__()
        self.late = nn.Linear(8, 8)
        self.register_buffer("calls", torch.tensor(0))

    def hidden(self, h, t):
        self.calls += self.training
        return self.late(h) if self.calls > 2 and self.calls % 2 else h


class Tied(Base):
    def __init__(self):
        super().__init__()
        self.last.weight = nn.Parameter(torch.randn(6, 8) / 3)
        self.again = nn.Linear(8, 6)
        self.again.weight = self.last.weight
        self.register_buffer("rows", self.first.weight.detach()[:3])  # shares the memory

    def hidden(self, h, t):
        return h + 0.1 * F.linear(self.again(h), self.last.weight.T)


class BatchNorm(Base):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)

    def hidden(self, h, t):
        return self.norm(h)


class NotPersistent(Base):
    """An average that the module keeps out of its own state_dict."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(8), persistent=False)

    def hidden(self, h, t):
        if self.training:
            self.mean = 0.5 * self.mean + 0.5 * h.detach().mean(0)
        return h - self.mean


class Dropout(Base):
    def hidden(self, h, t):
        return F.dropout(h, 0.5, self.training)


class OtherDraws(Base):
    """Stochastic depth by Python's generator, noise by NumPy's."""

    def hidden(self, h, t):
        if not self.training or random.random() < 0.5:  # noqa: S311
            return h
        return h + torch.from_numpy(np.random.randn(8)).float()  # noqa: NPY002


class Complex(Base):
    def __init__(self):
        super().__init__()
        self.phase = nn.Parameter(torch.randn(8, dtype=torch.complex64))

    def hidden(self, h, t):
        return (h * self.phase).abs()


class ZeroSize(Base):
    def __init__(self):
        super().__init__()
        self.nothing = nn.Parameter(torch.empty(0, 8))
        self.register_buffer("none", torch.empty(0, dtype=torch.int64))

    def hidden(self, h, t):
        return h + self.nothing.sum()


class Normalised(Base):
    """Parametrised weights, with state that a forward pass changes."""

    def __init__(self):
        super().__init__()
        self.first = nn.utils.parametrizations.spectral_norm(self.first)
        self.last = nn.utils.parametrizations.weight_norm(self.last)


class HalfPrecision(Base):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(8, dtype=torch.bfloat16))

    def hidden(self, h, t):
        return h * self.gain.float()


class LateBuffer(Base):
    """A buffer that the first call makes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("made", None)

    def hidden(self, h, t):
        if self.made is None:
            self.made = h.detach().mean(0)
        return h - self.made


UNUSUAL = [
    Frozen,
    Unused,
    UsedLater,
    Tied,
    BatchNorm,
    NotPersistent,
    Dropout,
    OtherDraws,
    Complex,
    ZeroSize,
    Normalised,
    HalfPrecision,
    LateBuffer,
]


def family(kind, shape=(6,)):
    return ScoreFamily(kind, shape, Schedule("linear", 50), kind.__name__)


def state(network: nn.Module) -> dict[str, torch.Tensor]:
    return dict(network.named_parameters()) | dict(network.named_buffers())


def same(one: nn.Module, other: nn.Module) -> None:
    known = state(other)
    assert state(one).keys() == known.keys()
    for name, values in state(one).items():
        assert torch.equal(values, known[name]), name


class StopError(Exception):
    pass


def interrupted(kind, settings, out, moment, **options):
    def stop(step):
        if step.number == moment:
            raise StopError

    with pytest.raises(StopError):
        train(kind, options.get("samples", SAMPLES), settings, out=out, callbacks=(stop,))


@pytest.mark.parametrize("kind", UNUSUAL)
def test_a_stopped_training_continues_bit_for_bit(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(training_module, "CHECKPOINT_SECONDS", 0.0)
    whole = train(family(kind), SAMPLES, SETTINGS)
    for moment in (2, 4):
        torch.rand(moment)  # the global generator is elsewhere each time
        interrupted(family(kind), SETTINGS, tmp_path, moment)
    resumed = train(family(kind), SAMPLES, SETTINGS, out=tmp_path)
    assert torch.equal(resumed.losses, whole.losses)
    same(resumed.network, whole.network)


def test_the_shape_whose_deepest_level_is_one_pixel(tmp_path):
    """One value a group there: a norm that passes on nothing, and refuses a single sample."""

    def unet():
        return UNet((1, 4, 4), channels=8, groups=8, mults=(1, 1, 1))

    images = torch.randn(8, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    short = Settings(iterations=2, batch_size=4)
    whole = train(family(unet, (1, 4, 4)), images, short, out=tmp_path)
    header, _ = read_training(tmp_path)
    assert header.step == 2
    resumed = train(family(unet, (1, 4, 4)), images, short, out=tmp_path)
    same(resumed.network, whole.network)


def test_moments_are_those_of_a_plain_loop_for_a_layer_used_late(tmp_path):
    """The layer's own count of updates is stored: the training's would scale its next steps."""
    train(family(UsedLater), SAMPLES, SETTINGS, out=tmp_path)
    _, tensors = read_training(tmp_path)
    assert tensors["step.network.late.weight"] == 2  # of six calls, the third and the fifth
    assert "step.network.first.weight" not in tensors


def test_dropout_is_off_in_samples_and_on_in_training(tmp_path):
    modes = []

    class Asked(Dropout):
        def forward(self, x, t):
            modes.append(self.training)
            return super().forward(x, t)

    made = train(family(Asked), SAMPLES, SETTINGS)
    assert modes.count(True) == SETTINGS.iterations
    modes.clear()
    made.network(SAMPLES, torch.zeros(len(SAMPLES), dtype=torch.int64))
    assert modes == [False]


@pytest.mark.parametrize("kind", [Dropout, OtherDraws])
def test_a_networks_own_draws_leave_the_global_generators_alone(kind):
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state()  # noqa: NPY002
    first = train(family(kind), SAMPLES, SETTINGS)
    assert random.getstate() == before[0]
    assert np.random.get_state()[1].tolist() == before[1]  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[2])
    again = train(family(kind), SAMPLES, SETTINGS.model_copy(update={"seed": 4}))
    assert not torch.equal(first.losses, again.losses)


def test_dropout_differs_from_step_to_step():
    masks = []

    class Watched(Dropout):
        def hidden(self, h, t):
            if self.training:
                masks.append((super().hidden(torch.ones_like(h), t) > 0)[:, 0])
            return h

    train(family(Watched), SAMPLES, SETTINGS)
    assert len({tuple(mask.tolist()) for mask in masks}) == SETTINGS.iterations


class AllFrozen(Base):
    def __init__(self):
        super().__init__()
        self.requires_grad_(False)


class Detached(Base):
    def forward(self, x, t):
        return super().forward(x, t).detach()


class Narrow(Base):
    def forward(self, x, t):
        return super().forward(x, t)[:, :1]


class Extra(Base):
    def get_extra_state(self):
        return {"some": "words"}

    def set_extra_state(self, state):
        pass


class TooPrecise(Base):
    def __init__(self):
        super().__init__()
        self.register_buffer("wave", torch.zeros(3, dtype=torch.complex128))


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LazyLinear(6)

    def forward(self, x, t):
        return self.layer(x)


class Failing(Base):
    def hidden(self, h, t):
        raise KeyError("a mistake in somebody's code")


class FailingLater(Base):
    def hidden(self, h, t):
        if self.training:
            raise KeyError("a mistake in somebody's code")
        return h


class SparseGradient(Base):
    """Adam takes no sparse gradients."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 8, sparse=True)

    def hidden(self, h, t):
        return h + self.table(t)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (AllFrozen, "nothing to train: all of its parameters are frozen"),
        (Detached, "depends on none of its trainable parameters"),
        (Narrow, r"must return the shape \(8, 6\), got shape \(8, 1\)"),
        (Extra, "in its state_dict, a dict"),
        (TooPrecise, "wave of torch.complex128"),
        (Lazy, "lazy parameters"),
        (Failing, "Failing cannot take an input .* KeyError"),
        (FailingLater, "FailingLater failed in training step 1: KeyError"),
        (SparseGradient, "sparse gradients, which Adam does not take"),
    ],
)
def test_what_cannot_be_trained_or_stored_is_said_before_any_work(tmp_path, kind, said):
    with pytest.raises(NetworkError, match=said) as caught:
        train(family(kind), SAMPLES, SETTINGS, out=tmp_path)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / FILE).exists()


class Diverging(BatchNorm):
    """The running statistics of the norm are spoilt by the same step as the loss."""

    def hidden(self, h, t):
        h = super().hidden(h, t)
        return h * (float("inf") if self.norm.num_batches_tracked > 3 else 1.0)


def test_a_loss_that_is_not_finite_keeps_the_last_good_state(tmp_path, monkeypatch):
    monkeypatch.setattr(training_module, "CHECKPOINT_SECONDS", 0.0)
    with pytest.raises(TrainingError, match=r"step 4: .*the last good checkpoint is kept"):
        train(family(Diverging), SAMPLES, SETTINGS, out=tmp_path)
    header, tensors = read_training(tmp_path)
    assert header.step == 3
    assert tensors["network.network.norm.num_batches_tracked"] == 3
    assert all(bool(torch.isfinite(v).all()) for v in tensors.values() if v.is_floating_point())


class Mixed(BatchNorm, Dropout):
    def __init__(self):
        super().__init__()
        self.first.requires_grad_(False)
        self.spare = nn.Linear(2, 2)

    def hidden(self, h, t):
        return Dropout.hidden(self, BatchNorm.hidden(self, h, t), t)


@pytest.mark.slow
def test_a_compiled_training_continues_bit_for_bit_too(tmp_path, monkeypatch):
    monkeypatch.setattr(training_module, "CHECKPOINT_SECONDS", 0.0)
    settings = SETTINGS.model_copy(update={"compile": True})
    whole = train(family(Mixed), SAMPLES, settings)
    interrupted(family(Mixed), settings, tmp_path, 3)
    resumed = train(family(Mixed), SAMPLES, settings, out=tmp_path)
    assert torch.equal(resumed.losses, whole.losses)
    same(resumed.network, whole.network)
