"""How many threads a call computes with."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from threadpoolctl import threadpool_limits

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def side_by_side(function: Callable[[Item], Answer], items: Iterable[Item]) -> list[Answer]:
    """A function of each item, in order, with as many at once as torch has threads.

    Each is computed with one thread, so the bits do not depend on how many there are. Two
    decompositions of large matrices at once take less than half of the time of one after the other
    with two threads each, which mostly wait for each other.
    """
    import torch

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(torch.get_num_threads()) as pool:
        return list(pool.map(function, items))


@contextmanager
def limited_threads(count: int) -> Iterator[None]:
    """Compute with this number of threads on every machine, because the bits depend on it."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        with threadpool_limits(count, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)
