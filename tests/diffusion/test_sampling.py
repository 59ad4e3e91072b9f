"""Sampling with exact scores of Gaussians, where every covariance is known."""

import numpy as np
import pytest
import torch

from sads.diffusion import SamplingError, respaced, sample_chunks, write_samples
from sads.errors import ArtefactError, InputError
from sads.path import Schedule

VARIANCES = np.array([4.0, 1.0, 0.25, 0.0])


def exact(schedule: Schedule):
    """The noise that the exact score of N(0, diag(VARIANCES)) predicts."""
    abar, variances = torch.from_numpy(schedule.abar), torch.from_numpy(VARIANCES)

    def predict(x, t):
        a = abar[t][:, None]
        return ((1 - a).sqrt() / (a * variances + 1 - a) * x).float()

    return predict


def exact_variances(schedule: Schedule, steps: int, eta: float) -> np.ndarray:
    """Variance of each coordinate after sampling: every step is linear in x, plus noise."""
    times = respaced(steps, schedule)
    variance = np.ones_like(VARIANCES)
    for t, s in zip(times, [*times[1:], None], strict=True):
        a = schedule.abar[t]
        b = 1.0 if s is None else schedule.abar[s]
        slope = np.sqrt(1 - a) / (a * VARIANCES + 1 - a)
        sigma2 = eta**2 * (1 - b) / (1 - a) * (1 - a / b)
        gain = np.sqrt(b / a) * (1 - np.sqrt(1 - a) * slope) + np.sqrt(1 - b - sigma2) * slope
        variance = gain**2 * variance + sigma2
    return variance


def draw(count: int, schedule: Schedule, **options) -> torch.Tensor:
    return torch.cat(list(sample_chunks(exact(schedule), (4,), count, schedule, **options)))


@pytest.mark.parametrize(("steps", "eta"), [(1000, 1.0), (100, 1.0), (50, 0.0), (20, 0.5)])
def test_covariance_is_that_of_the_linear_recursion(steps, eta):
    """4,000 samples: relative spread of a variance 0.022, tested at five of them."""
    schedule = Schedule()
    x = draw(4000, schedule, steps=steps, eta=eta).double().numpy()
    expected = exact_variances(schedule, steps, eta)
    np.testing.assert_allclose(x.var(axis=0), expected, rtol=0.11, atol=1e-6)
    correlation = np.corrcoef(x[:, :3].T) - np.eye(3)
    assert np.abs(correlation).max() < 5 / np.sqrt(4000)


def test_the_discretisation_error_vanishes():
    """The variance approaches the truth like one over the number of steps."""
    schedule = Schedule()
    errors = [
        np.abs(exact_variances(schedule, steps, 1.0) - VARIANCES)[:3].max()
        for steps in (50, 200, 1000)
    ]
    assert errors[2] < 0.05
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


@pytest.mark.parametrize("chunk", [1, 7, 64, 100, 1000])
def test_samples_do_not_depend_on_the_chunk(chunk):
    schedule = Schedule("linear", 50)
    whole = draw(130, schedule, steps=10, chunk=130)
    torch.testing.assert_close(draw(130, schedule, steps=10, chunk=chunk), whole)


def test_any_count_by_seed_alone():
    schedule = Schedule("cosine", 50)
    long = draw(200, schedule, steps=10, seed=1)
    assert torch.equal(draw(77, schedule, steps=10, seed=1), long[:77])
    assert not torch.equal(draw(77, schedule, steps=10, seed=2), long[:77])
    assert len(torch.unique(long[:, 0])) == 200


def test_ddim_is_deterministic_given_its_start():
    """Without noise a sample depends on nothing but its first draw, also at other chunk sizes."""
    schedule = Schedule("linear", 50)
    one = draw(65, schedule, steps=10, eta=0.0, chunk=65)
    torch.testing.assert_close(draw(65, schedule, steps=10, eta=0.0, chunk=3), one)


@pytest.mark.parametrize("steps", [1, 2, 7, 1000])
def test_respaced_timesteps_descend_from_last_to_first(steps):
    times = respaced(steps, Schedule())
    assert len(times) == steps
    assert times[0] == 999
    assert np.all(np.diff(times) < 0)
    assert steps == 1 or times[-1] == 0


@pytest.mark.parametrize(
    "options", [{"steps": 0}, {"steps": 51}, {"eta": 1.5}, {"eta": -1}, {"chunk": 0}]
)
def test_options_that_make_no_sense(options):
    with pytest.raises(InputError):
        draw(3, Schedule("linear", 50), **options)
    with pytest.raises(InputError):
        draw(0, Schedule("linear", 50))


def test_bad_samples_are_refused_and_nothing_is_written(tmp_path):
    schedule = Schedule("linear", 50)
    chunks = sample_chunks(lambda x, t: x * float("nan"), (4,), 10, schedule, steps=3)
    with pytest.raises(SamplingError, match="NaN"):
        write_samples(tmp_path / "x.npy", chunks, (4,), 10)
    assert list(tmp_path.iterdir()) == []


def test_samples_are_written_as_they_come(tmp_path):
    schedule = Schedule("linear", 50)
    chunks = sample_chunks(exact(schedule), (4,), 130, schedule, steps=5, chunk=50)
    write_samples(tmp_path / "x.npy", chunks, (4,), 130)
    stored = np.load(tmp_path / "x.npy", allow_pickle=False)
    assert stored.dtype == np.float32
    np.testing.assert_allclose(stored, draw(130, schedule, steps=5).numpy(), rtol=1e-6)
    with pytest.raises(ArtefactError, match="cannot write"):
        write_samples(tmp_path / "nowhere" / "x.npy", iter([torch.zeros(1, 4)]), (4,), 1)


def test_samples_known_already_can_be_left_out():
    schedule = Schedule()
    whole = draw(150, schedule, steps=3, chunk=32)
    for first in (0, 32, 128, 150):
        if first == 150:
            assert not list(sample_chunks(exact(schedule), (4,), 150, schedule, first=150))
        else:
            rest = draw(150, schedule, steps=3, chunk=32, first=first)
            torch.testing.assert_close(rest, whole[first:], rtol=0, atol=0)
    with pytest.raises(InputError, match="the first sample is one of 0 to 5, got 6"):
        draw(5, schedule, steps=3, first=6)


def test_a_network_that_draws_while_it_is_called_gives_samples_by_seed_alone():
    """Dropout that is never switched off: its masks come from the seed, not from elsewhere."""
    schedule = Schedule("linear", 50)
    known = exact(schedule)

    def predict(x, t):
        return torch.nn.functional.dropout(known(x, t), 0.1)

    def draw_with(seed: int) -> torch.Tensor:
        chunks = sample_chunks(predict, (4,), 70, schedule, steps=5, seed=seed, eta=0.0)
        return torch.cat(list(chunks))

    torch.rand(3)
    state = torch.get_rng_state()
    one = draw_with(1)
    assert torch.equal(torch.get_rng_state(), state)
    torch.rand(3)
    assert torch.equal(draw_with(1), one)
    assert not torch.equal(draw_with(2), one)
