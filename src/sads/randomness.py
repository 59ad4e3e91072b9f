"""Every random stream of the package, named by its purpose.

A stream is a function of the version of the draws, a purpose in words, a seed and further whole
numbers (a batch, a block). All of them enter one `numpy.random.SeedSequence`, whose pool mixes 256
bits of the purpose's digest with the rest. So no two purposes share a stream, and none is that of
somebody's `default_rng(k)` or `torch.manual_seed(k)`. With plain seeds both happen: distances
projected data drawn from `default_rng(0)` on rows of the data itself.

`DRAWS` is the version of the draws and part of what identifies a trial or a geometry: what was
begun with one version is never continued with another.
"""

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from .errors import InputError

if TYPE_CHECKING:
    import torch

DRAWS = 2  # version 1 used plain seeds
LARGEST_SEED = 2**63 - 1

Random = "int | np.random.Generator | torch.Generator"


def checked_seed(seed: int) -> int:
    """The seed itself, if it is one.

    Raises:
        InputError: for anything but a whole number from 0 to 2^63 - 1.
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise InputError(f"a seed is a whole number, got {seed!r}")
    if not 0 <= seed <= LARGEST_SEED:
        raise InputError(f"a seed is a whole number from 0 to 2^63 - 1, got {str(seed)[:40]}")
    return int(seed)


def sequence(seed: int, purpose: str, *keys: int) -> np.random.SeedSequence:
    """The seed sequence of a purpose; `keys` number its parts, batches for example."""
    digest = hashlib.sha256(f"sads draws {DRAWS}: {purpose}".encode()).digest()
    words = np.frombuffer(digest, dtype="<u4").tolist()
    return np.random.SeedSequence([*words, checked_seed(seed)], spawn_key=keys)


def stream(seed: int, purpose: str, *keys: int) -> np.random.Generator:
    """A NumPy generator of its own for a purpose.

    >>> bool(stream(0, "one").random() == stream(0, "another").random())
    False
    """
    return np.random.default_rng(sequence(seed, purpose, *keys))


def torch_stream(seed: int, purpose: str, *keys: int) -> "torch.Generator":
    """A torch generator of its own for a purpose."""
    import torch

    generator = torch.Generator()
    fill_state(generator, sequence(seed, purpose, *keys))
    return generator


def fill_state(generator: "torch.Generator", seeds: np.random.SeedSequence) -> None:
    """Start torch's generator for the CPU from all 19,937 bits that a seed sequence gives.

    `manual_seed` uses the lowest 32 bits of its argument alone, so that streams would meet.
    """
    import torch

    generator.manual_seed(0)
    state = generator.get_state().clone()
    words = np.random.MT19937(seeds).state["state"]["key"].astype("<u8")
    # Behind the seed (8 bytes), two 32-bit numbers and the position (8) stand the 624 words.
    state[24 : 24 + 8 * 624] = torch.from_numpy(words.view(np.uint8))
    generator.set_state(state)


def as_generator(random: Random, purpose: str) -> np.random.Generator:
    """A NumPy generator from what a caller gave: a seed, or a generator of either kind.

    A torch generator is drawn from once, so that two calls with it differ.

    Raises:
        InputError: for anything else.
    """
    if isinstance(random, np.random.Generator):
        return random
    if isinstance(random, (int, np.integer)):
        return stream(int(random), purpose)
    import torch

    if isinstance(random, torch.Generator):
        drawn = torch.randint(LARGEST_SEED, (), generator=random, device=random.device)
        return stream(int(drawn), purpose)
    raise InputError(
        "expected a seed, a NumPy generator or a torch generator, got " + type(random).__name__
    )
