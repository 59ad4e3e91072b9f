"""Training against a plain loop, against a closed form, and through interruptions."""

from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

import sads.diffusion.training as training_module
from sads.diffusion import Settings, TrainingError, read_training, train
from sads.diffusion.checkpoint import FILE, Run
from sads.diffusion.noising import Noising
from sads.diffusion.training import _step
from sads.errors import ArtefactError, InputError
from sads.networks import MLP, Linear, ScoreFamily, UNet
from sads.path import Schedule
from sads.randomness import torch_stream

FAMILY = ScoreFamily(partial(MLP, (6,), width=16, depth=2), (6,), Schedule("linear", 50), "small")
SAMPLES = torch.randn(100, 6, generator=torch.Generator().manual_seed(0))
SETTINGS = Settings(iterations=12, batch_size=32, learning_rate=1e-2, seed=3)


def parameters(network: nn.Module) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in network.parameters()])


@pytest.mark.parametrize("accumulate", [1, 3])
def test_is_the_plain_loop_of_the_paper(accumulate):
    """The same draws in a loop written out: equal parameters, equal losses."""
    settings = SETTINGS.model_copy(update={"accumulate": accumulate})
    trained = train(FAMILY, SAMPLES, settings)
    network = FAMILY.member(settings.seed)
    optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
    generator = torch_stream(settings.seed, "batches and noise of a training")
    abar = torch.cumprod(1 - torch.linspace(0.1 / 50, 20 / 50, 50, dtype=torch.float64), 0)
    queue: list[int] = []
    losses = []
    for _ in range(settings.iterations):
        optimiser.zero_grad()
        total = 0.0
        for _ in range(accumulate):
            taken: list[int] = []
            while len(taken) < settings.batch_size:
                queue = queue or torch.randperm(100, generator=generator).tolist()
                wanted = settings.batch_size - len(taken)
                taken, queue = taken + queue[:wanted], queue[wanted:]
            x = SAMPLES[taken]
            t = torch.randint(50, (len(x),), generator=generator)
            eps = torch.randn(x.shape, generator=generator)
            a = abar[t].float()[:, None]
            noisy = a.sqrt() * x + (1 - a).sqrt() * eps
            loss = ((network(noisy, t) - eps) ** 2).mean() / accumulate
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        losses.append(total)
    torch.testing.assert_close(
        parameters(trained.network), parameters(network), rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(trained.losses.numpy(), losses, rtol=1e-4)


def test_every_sample_is_seen_once_per_epoch():
    run = Run.fresh(Settings(batch_size=7))
    seen = torch.cat([b for _ in range(100) for b in training_module._batches(run, 35)])
    for epoch in seen.view(20, 35):
        assert sorted(epoch.tolist()) == list(range(35))
    assert not torch.equal(seen[:35], seen[35:70])


def test_the_linear_network_learns_the_optimum_at_a_fixed_noise_level():
    """The VP analogue of lemma 1: eps = sqrt(1 - a) (a C + (1 - a) I)^{-1} x, C = D v v^T."""
    size, a = 5, 0.6
    v = torch.nn.functional.normalize(torch.arange(1.0, 6.0), dim=0)
    data = size**0.5 * torch.randn(20_000, 1, generator=torch.Generator().manual_seed(1)) * v
    network = Linear((size,), eigenvalues=(1,) * size)
    run = Run.fresh(Settings(batch_size=2000, learning_rate=1e-2))
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
    level = Noising(torch.tensor([a]).sqrt(), torch.tensor([1 - a]).sqrt())
    for step in range(700):
        optimiser.param_groups[0]["lr"] = 1e-2 if step < 400 else 1e-3
        _step(network, network, optimiser, data, level, run)
    second = data.T @ data / len(data)
    optimum = (1 - a) ** 0.5 * torch.linalg.inv(a * second + (1 - a) * torch.eye(size))
    error = (network.head.weight - optimum).norm() / optimum.norm()
    assert error < 0.02


class StopError(Exception):
    pass


@pytest.mark.parametrize("moment", [1, 4, 11])
@pytest.mark.parametrize("bfloat16", [False, True])
def test_an_interrupted_training_continues_bit_for_bit(tmp_path, monkeypatch, moment, bfloat16):
    monkeypatch.setattr(training_module, "CHECKPOINT_SECONDS", 0.0)
    settings = SETTINGS.model_copy(update={"bfloat16": bfloat16})
    whole = train(FAMILY, SAMPLES, settings)

    def stop(step):
        if step.number == moment:
            raise StopError

    with pytest.raises(StopError):
        train(FAMILY, SAMPLES, settings, out=tmp_path, callbacks=(stop,))
    resumed = train(FAMILY, SAMPLES, settings, out=tmp_path)
    assert torch.equal(parameters(resumed.network), parameters(whole.network))
    assert torch.equal(resumed.losses, whole.losses)


def test_more_iterations_continue_a_training(tmp_path):
    train(FAMILY, SAMPLES, SETTINGS, out=tmp_path)
    more = SETTINGS.model_copy(update={"iterations": 20})
    continued = train(FAMILY, SAMPLES, more, out=tmp_path)
    assert torch.equal(
        parameters(continued.network), parameters(train(FAMILY, SAMPLES, more).network)
    )


def test_a_training_does_not_go_back(tmp_path):
    """A network of 12 steps is not given out as one of 5."""
    train(FAMILY, SAMPLES, SETTINGS, out=tmp_path)
    fewer = SETTINGS.model_copy(update={"iterations": 5})
    with pytest.raises(ArtefactError, match="has 12 steps, more than the 5 asked for"):
        train(FAMILY, SAMPLES, fewer, out=tmp_path)


def test_a_finished_training_is_not_repeated(tmp_path):
    train(FAMILY, SAMPLES, SETTINGS, out=tmp_path)
    before = (tmp_path / FILE).stat().st_mtime_ns
    steps = []
    train(FAMILY, SAMPLES, SETTINGS, out=tmp_path, callbacks=(steps.append,))
    assert steps == []
    assert (tmp_path / FILE).stat().st_mtime_ns == before


def test_training_learns_and_leaves_the_global_state_alone():
    state = torch.get_rng_state()
    trained = train(FAMILY, SAMPLES, Settings(iterations=400, batch_size=100, learning_rate=3e-3))
    assert torch.equal(torch.get_rng_state(), state)
    assert trained.losses[-50:].mean() < 0.75 * trained.losses[:10].mean()


def test_a_bad_loss_stops_and_keeps_the_last_good_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(training_module, "CHECKPOINT_SECONDS", 0.0)
    wild = Settings(iterations=50, batch_size=32, learning_rate=1e30)
    with pytest.raises(TrainingError, match="lower the learning rate"):
        train(FAMILY, SAMPLES, wild, out=tmp_path)
    header, tensors = read_training(tmp_path)
    assert header.step >= 1
    for name, values in tensors.items():
        if values.is_floating_point():
            assert torch.isfinite(values).all(), name


class BadGradient(MLP):
    """A finite loss with a gradient that is not."""

    def forward(self, x, t):
        return super().forward(x, t) + (0 * self.head.bias).sqrt()


def test_a_bad_gradient_is_not_stepped_along(tmp_path):
    family = ScoreFamily(partial(BadGradient, (6,), width=16), (6,), FAMILY.schedule, "bad")
    with pytest.raises(TrainingError, match="gradient") as caught:
        train(family, SAMPLES, SETTINGS, out=tmp_path)
    assert "kept" not in str(caught.value)
    assert not (tmp_path / FILE).exists()


def test_equal_parameters_that_act_differently_are_another_network(tmp_path):
    def unet(resampling: str) -> ScoreFamily:
        fields = {"channels": 8, "groups": 8, "mults": (1, 1), "resampling": resampling}
        return ScoreFamily(partial(UNet, (1, 4, 4), **fields), (1, 4, 4), name="unet")

    images = torch.randn(20, 1, 4, 4)
    short = Settings(iterations=2, batch_size=4)
    train(unet("nearest"), images, short, out=tmp_path)
    with pytest.raises(ArtefactError, match="fingerprint"):
        train(unet("area"), images, short, out=tmp_path)


def test_the_losses_are_logged(tmp_path):
    trained = train(FAMILY, SAMPLES, SETTINGS, out=tmp_path)
    rows = (tmp_path / "loss.csv").read_text().splitlines()
    assert rows[0] == "step,loss"
    assert len(rows) == 1 + SETTINGS.iterations
    assert float(rows[-1].split(",")[1]) == pytest.approx(trained.losses[-1].item(), rel=1e-6)


def test_another_training_is_not_overwritten(tmp_path):
    train(FAMILY, SAMPLES, SETTINGS, out=tmp_path)
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(ArtefactError, match=r"learning_rate was 0\.01, now 0\.1"):
        train(FAMILY, SAMPLES, SETTINGS.model_copy(update={"learning_rate": 0.1}), out=tmp_path)
    with pytest.raises(ArtefactError, match="data was"):
        train(FAMILY, SAMPLES + 1, SETTINGS, out=tmp_path)
    wider = ScoreFamily(partial(MLP, (6,), width=24), (6,), FAMILY.schedule, "small")
    with pytest.raises(ArtefactError, match="fingerprint"):
        train(wider, SAMPLES, SETTINGS, out=tmp_path)
    assert (tmp_path / FILE).read_bytes() == before


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_truncated_training_is_refused(tmp_path, share):
    train(FAMILY, SAMPLES, SETTINGS, out=tmp_path)
    content = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(content[: int(share * len(content))])
    with pytest.raises(ArtefactError, match="truncated"):
        read_training(tmp_path)


@pytest.mark.parametrize(
    "samples", [torch.zeros(5, 7), torch.zeros(0, 6), torch.full((5, 6), float("nan"))]
)
def test_data_that_do_not_fit_are_refused(samples):
    with pytest.raises(InputError):
        train(FAMILY, samples, SETTINGS)


@pytest.mark.slow
def test_compiled_training_gives_the_same_model():
    compiled = train(FAMILY, SAMPLES, SETTINGS.model_copy(update={"compile": True}))
    plain = train(FAMILY, SAMPLES, SETTINGS)
    torch.testing.assert_close(
        parameters(compiled.network), parameters(plain.network), rtol=1e-3, atol=1e-4
    )
