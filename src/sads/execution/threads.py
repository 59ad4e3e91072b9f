"""How many threads a call computes with."""

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


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
