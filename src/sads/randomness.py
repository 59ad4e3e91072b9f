"""Every random stream of the package, named by its purpose.

A stream is a function of the version of the draws, a purpose in words, a seed and further whole
numbers (a batch, a block). All of them enter one `numpy.random.SeedSequence`, whose pool mixes 256
bits of the purpose's digest with the rest. So no two purposes share a stream, and none is that of
somebody's `default_rng(k)` or `torch.manual_seed(k)`. Plain seeds allowed both: data drawn from
`default_rng(0)` was once projected on directions that were rows of the data itself.

`DRAWS` is the version of the draws and part of what identifies a trial or a geometry: what was
begun with one version is never continued with another.
"""

import hashlib
import random
from typing import TYPE_CHECKING, Union

import numpy as np

from .errors import InputError
from .foundation.versions import DRAWS

if TYPE_CHECKING:
    import torch

LARGEST_SEED = 2**63 - 1

#: What decides a draw: a seed, or a generator of either kind.
Random = Union[int, np.random.Generator, "torch.Generator"]


def checked_seed(seed: int) -> int:
    """The seed, if it is a valid one.

    Raises:
        InputError: for anything but a whole number from 0 to 2^63 - 1.
    """
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        raise InputError(f"a seed is a whole number, got {seed!r}")
    if not 0 <= seed <= LARGEST_SEED:
        raise InputError(f"a seed is a whole number from 0 to 2^63 - 1, got {str(seed)[:40]}")
    return int(seed)


def sequence(seed: int, purpose: str, *keys: int) -> np.random.SeedSequence:
    """The seed sequence of a purpose; `keys` number its parts, batches for example.

    A purpose always has the same number of keys, each below 2^32: a sequence does not tell a key
    from the upper half of a large seed.
    """
    digest = hashlib.sha256(f"sads draws {DRAWS}: {purpose}".encode()).digest()
    words = np.frombuffer(digest, dtype="<u4").tolist()
    return np.random.SeedSequence([*words, checked_seed(seed)], spawn_key=keys)


def stream(seed: int, purpose: str, *keys: int) -> np.random.Generator:
    """A NumPy generator of its own for a purpose.

    >>> bool(stream(0, "one").random() == stream(0, "another").random())
    False
    """
    return np.random.default_rng(sequence(seed, purpose, *keys))


def fast_stream(seed: int, purpose: str, *keys: int) -> np.random.Generator:
    """Like `stream`, but faster."""
    return np.random.Generator(np.random.SFC64(sequence(seed, purpose, *keys)))


def torch_stream(seed: int, purpose: str, *keys: int) -> "torch.Generator":
    """A torch generator of its own for a purpose."""
    import torch

    generator = torch.Generator()
    fill_state(generator, sequence(seed, purpose, *keys))
    return generator


def fill_state(generator: "torch.Generator", seeds: np.random.SeedSequence) -> None:
    """Start torch's generator for the CPU from all 19,937 bits that a seed sequence gives.

    `manual_seed` uses only the lowest 32 bits of its argument, so that streams would collide.
    """
    import torch

    generator.manual_seed(0)
    state = generator.get_state().clone()
    words = np.random.MT19937(seeds).state["state"]["key"].astype("<u8")
    # The 624 words follow the seed (8 bytes), two 32-bit numbers and the position (8 bytes).
    state[24 : 24 + 8 * 624] = torch.from_numpy(words.view(np.uint8))
    generator.set_state(state)


def as_seed(given: Random) -> int:
    """A seed from what a caller gave; a generator gives a new one at each call.

    Raises:
        InputError: for anything but a seed or a generator of NumPy or torch.
    """
    if isinstance(given, (int, np.integer)):
        return checked_seed(given)
    if isinstance(given, np.random.Generator):
        return int(given.integers(LARGEST_SEED))
    import torch

    if isinstance(given, torch.Generator):
        return int(torch.randint(LARGEST_SEED, (), generator=given, device=given.device))
    raise InputError(
        "expected a seed (a whole number), a NumPy generator or a torch generator, got "
        + type(given).__name__
    )


def as_generator(given: Random, purpose: str) -> np.random.Generator:
    """A NumPy generator from what a caller gave; one of NumPy is used as it is.

    Raises:
        InputError: for anything but a seed or a generator of NumPy or torch.
    """
    return given if isinstance(given, np.random.Generator) else stream(as_seed(given), purpose)


def fixed_stream(constant: int) -> np.random.Generator:
    """The generator for a constant that defines a dataset; it is the same in every version."""
    return np.random.default_rng(constant)


def global_stream() -> np.random.Generator:
    """A generator started by 62 bits of torch's global one, for modules made without a seed."""
    import torch

    return np.random.default_rng(int(torch.randint(2**62, ()).item()))


def start_global_generators(seed: int, purpose: str, *keys: int) -> None:
    """Start the global generators of torch, NumPy and Python, each from a stream of its own."""
    import torch

    of_torch, of_numpy, of_python = (sequence(seed, purpose, *keys, part) for part in range(3))
    fill_state(torch.default_generator, of_torch)
    words = np.random.MT19937(of_numpy).state["state"]["key"]
    np.random.set_state(("MT19937", words, len(words), 0, 0.0))  # noqa: NPY002
    random.seed(int.from_bytes(of_python.generate_state(8).tobytes(), "little"))


def start_global_generators_as_before() -> None:
    """Start them from the plain seed 0, as version 1 of the draws did.

    The fingerprint of a family is taken of a network made in this state. It is a name, not an
    estimate, and it must not change: stored geometries, rotations and trainings are found by it.
    """
    import torch

    torch.default_generator.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002
    random.seed(0)
