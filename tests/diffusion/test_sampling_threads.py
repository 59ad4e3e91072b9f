"""Samples are the same bits however many threads draw them."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import pytest
import torch
from torch import nn

import sads
from sads.diffusion import sample_chunks, samples_of
from sads.networks import ScoreFamily
from sads.path import Schedule

SHAPE = (1, 8, 8)


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Convolutions(nn.Module):
    """A small network that keeps something while it is called, as careless ones do."""

    seen: ClassVar[set[int]] = set()

    def __init__(self, dropout: float = 0.0):
        super().__init__()
        self.first, self.last = (nn.Conv2d(n, m, 3, padding=1) for n, m in ((1, 16), (16, 1)))
        self.dropout = dropout

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        type(self).seen.add(threading.get_ident())
        self.shift = (t / 1000)[:, None, None, None]
        h = torch.tanh(self.first(x))
        time.sleep(1e-4)  # another thread may come in between
        h = nn.functional.dropout(h, self.dropout) if self.dropout else h
        return self.last(h + self.shift)


def trained(module, *options):
    family = ScoreFamily(lambda: module(*options), SHAPE, name="convolutions")
    return sads.train(family, torch.randn(40, *SHAPE).numpy(), iterations=2, batch_size=10)


def drawn(network, threads: int, **options) -> torch.Tensor:
    with torch_threads(threads):
        chunks = samples_of(network, 150, steps=5, seed=3, chunk=32, **options)
        return torch.cat(list(chunks))


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_samples_are_the_same_bits_for_any_number_of_threads(dropout):
    network = trained(Convolutions, dropout)
    alone = drawn(network, 1)
    for threads in (2, 3):
        assert torch.equal(drawn(network, threads), alone)
    assert torch.equal(drawn(network, 2, first=64), alone[64:])


def test_every_thread_has_a_network_and_a_thread_of_torch_of_its_own():
    network = trained(Convolutions)
    for threads in (1, 2):
        Convolutions.seen.clear()
        drawn(network, threads)
        assert len(Convolutions.seen) == threads


class NotCopied(Convolutions):
    def __deepcopy__(self, memo):
        raise RuntimeError("copied nowhere")


def test_a_network_that_cannot_be_copied_is_sampled_by_one_thread():
    network = trained(NotCopied)
    NotCopied.seen.clear()
    torch.testing.assert_close(drawn(network, 2), drawn(network, 1))
    assert NotCopied.seen == {threading.get_ident()}


def test_steps_are_counted_over_all_threads():
    told = []
    drawn(trained(Convolutions), 2, on_step=lambda done, total: told.append((done, total)))
    assert told == [(i, 25) for i in range(1, 26)]


def failing(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    raise RuntimeError("failed on purpose")


def test_a_thread_that_fails_ends_all():
    with torch_threads(2):
        running = threading.active_count()
        with pytest.raises(RuntimeError, match="failed on purpose"):
            list(sample_chunks(failing, (4,), 100, Schedule(), chunk=10, others=[failing]))
        assert threading.active_count() == running
        assert torch.get_num_threads() == 2


def test_samples_that_nobody_wants_any_more_are_not_drawn():
    """Of two chunks a thousand steps each, hardly any is taken after the first chunk."""
    steps = 0

    def predict(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        nonlocal steps
        steps += 1
        return x

    with torch_threads(2):
        chunks = sample_chunks(predict, (4,), 400, Schedule(), steps=50, chunk=10, others=[predict])
        next(chunks)
        chunks.close()
    assert steps < 40 * 50 / 2
