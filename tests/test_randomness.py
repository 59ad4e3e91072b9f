"""Streams that nobody else can meet."""

import itertools

import numpy as np
import pytest
import torch

from sads.errors import InputError
from sads.randomness import as_generator, checked_seed, sequence, stream, torch_stream


def test_torch_streams_are_those_of_numpys_twister() -> None:
    # NumPy gives one word before it twists the state for the first time; torch twists at once.
    own = np.random.MT19937(sequence(3, "test", 5)).random_raw(2001)[1:]
    generator = torch_stream(3, "test", 5)
    # `random_` of 32-bit whole numbers gives the twister's words, without their highest bit.
    drawn = torch.empty(2000, dtype=torch.int32).random_(generator=generator).numpy()
    assert np.array_equal(drawn, (own & 0x7FFFFFFF).astype(np.int32))


def test_no_purpose_seed_or_part_shares_a_stream_with_another_or_with_a_plain_seed() -> None:
    ours = [
        stream(seed, purpose, *keys).random()
        for seed, purpose, keys in itertools.product(range(20), "abc", [(), (0,), (1,)])
    ]
    plain = [np.random.default_rng(k).random() for k in range(1000)]
    assert len({*ours, *plain}) == len(ours) + len(plain)
    ours_torch = [
        float(torch.rand((), generator=torch_stream(s, p))) for s in range(20) for p in "ab"
    ]
    plain_torch = [
        float(torch.rand((), generator=torch.Generator().manual_seed(k))) for k in range(200)
    ]
    # float32 has 2^24 values: 240 draws meet by chance with probability 0.002.
    assert len({*ours_torch, *plain_torch}) == len(ours_torch) + len(plain_torch)


def test_streams_are_functions_of_their_names() -> None:
    assert np.array_equal(stream(1, "a", 2).random(5), stream(1, "a", 2).random(5))
    one, other = (torch.rand(5, generator=torch_stream(1, "a")) for _ in range(2))
    assert torch.equal(one, other)


def test_any_kind_of_generator_is_taken() -> None:
    own = np.random.default_rng(0)
    assert as_generator(own, "a") is own
    assert as_generator(4, "a").random() == stream(4, "a").random()
    generator = torch.Generator().manual_seed(0)
    first, second = (as_generator(generator, "a").random() for _ in range(2))
    assert first != second


@pytest.mark.parametrize("seed", [-1, 2**63, 10**400, True, 1.0, "1"])
def test_what_is_no_seed_is_refused(seed: object) -> None:
    with pytest.raises(InputError, match="a seed is a whole number"):
        checked_seed(seed)  # pyright: ignore[reportArgumentType]


def test_what_is_no_generator_is_refused() -> None:
    with pytest.raises(InputError, match="got str"):
        as_generator("0", "a")  # pyright: ignore[reportArgumentType]
