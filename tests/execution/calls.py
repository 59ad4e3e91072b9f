"""Calls for workers."""

import os
import signal
import time


def shout(text: str) -> str:
    """A call for workers."""
    return text.upper()


def who(text: str) -> str:
    """The worker's process, after a while."""
    time.sleep(float(text))
    return str(os.getpid())


def die(text: str) -> str:
    """A call that kills its worker."""
    os.kill(os.getpid(), signal.SIGKILL)
    return text


def threads(text: str) -> str:
    """The worker's torch threads."""
    import torch

    return str(torch.get_num_threads())


def fail(text: str) -> str:
    """A call that raises."""
    raise RuntimeError(text)


def faults(text: str) -> str:
    """Pages that the kernel cleared for ten blocks asked for and freed one after the other."""
    import resource

    import numpy

    numpy.full(int(text), 1.0)
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for _ in range(10):
        numpy.full(int(text), 1.0)
    return str(resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before)
