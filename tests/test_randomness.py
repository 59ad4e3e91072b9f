"""Streams that nobody else can meet."""

import ast
import itertools
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import sads
from sads.alignment import make_rotation
from sads.api import diagnose, estimate_geometry, network, train
from sads.data import Dataset, Selection, rank_one, sphere
from sads.diffusion import sample_chunks
from sads.distances import max_sliced_wasserstein, sliced_wasserstein
from sads.errors import InputError
from sads.networks import ScoreFamily
from sads.networks.isolation import global_state_kept, seeded
from sads.path import Schedule
from sads.randomness import Random, as_generator, checked_seed, sequence, stream, torch_stream


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


def test_default_seeds_do_not_meet_the_users_data() -> None:
    # With plain seeds such data were projected on rows of their own: SW2 was 1.4 times too large.
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 500, 64))
    own = sliced_wasserstein(x, y)
    theta = np.random.default_rng(99).standard_normal((4096, 64))
    theta /= np.linalg.norm(theta, axis=1, keepdims=True)
    p, q = (np.sort(sample @ theta.T, axis=0) for sample in (x, y))
    squares = np.square(p - q).mean(axis=0)
    other = float(np.sqrt(squares.mean()))
    error = float(squares.std() / np.sqrt(len(squares)) / (2 * other))
    # Four standard errors of the difference: wrong once in 16,000 choices of seeds.
    assert abs(own.sw2 - other) < 4 * np.hypot(error, own.standard_error)
    twin = np.random.default_rng(0).standard_normal((4096, 64))
    twin /= np.linalg.norm(twin, axis=1, keepdims=True)
    assert sliced_wasserstein(x, y, directions=twin).sw2 > 1.3 * other  # what used to happen


@pytest.mark.parametrize("kind", ["int", "numpy", "torch"])
def test_random_arguments_take_seeds_and_generators_of_both_kinds(kind: str) -> None:
    def given() -> Random:
        if kind == "int":
            return 3
        return np.random.default_rng(3) if kind == "numpy" else torch.Generator().manual_seed(3)

    x, y = np.random.default_rng(7).standard_normal((2, 40, 4))
    direction = np.eye(4)[0]
    draws: list[Callable[[Random], np.ndarray | float]] = [
        lambda g: sliced_wasserstein(x, y, generator=g).sw2,
        lambda g: max_sliced_wasserstein(x, y, permutations=9, generator=g).direction,
        lambda g: make_rotation("random", shape=(4,), seed=g).matrix.numpy(),
        lambda g: rank_one(direction, 5, g),
        lambda g: sphere(np.eye(4)[:, :3], 5, g),
        lambda g: next(
            sample_chunks(lambda x, t: 0 * x, (4,), 3, Schedule(), steps=2, seed=g)
        ).numpy(),
    ]
    for draw in draws:
        assert np.array_equal(draw(given()), draw(given()))
        assert not np.array_equal(draw(given()), draw(np.random.default_rng(4)))


SAMPLES = Dataset(np.zeros((2, 1, 4, 4), np.float32), "zeros")
SEEDED: list[Callable[[Any], object]] = [
    lambda seed: sliced_wasserstein(np.eye(3), np.eye(3), generator=seed),
    lambda seed: max_sliced_wasserstein(np.eye(4), np.eye(4), generator=seed),
    lambda seed: make_rotation("random", shape=(4,), seed=seed),
    lambda seed: rank_one(np.eye(4)[0], 5, seed),
    lambda seed: list(sample_chunks(lambda x, t: x, (4,), 3, Schedule(), steps=2, seed=seed)),
    lambda seed: Selection(count=2, seed=seed),
    lambda seed: network("linear").member(seed),
    lambda seed: network("mlp", shape="1x4x4").factory().reset(seed),
    lambda seed: train("mlp", SAMPLES, shape="1x4x4", iterations=1, seed=seed),
    lambda seed: estimate_geometry("mlp", shape="1x4x4", networks=16, seed=seed),
    lambda seed: diagnose("mlp", shape="1x4x4", networks=16, seed=seed),
]


@pytest.mark.parametrize("seed", [True, -1, 2**63, 10**400])
@pytest.mark.parametrize("draw", SEEDED)
def test_what_is_no_seed_is_refused_everywhere(draw: Callable[[Any], object], seed: Any) -> None:
    with pytest.raises(InputError, match="a seed") as caught:
        draw(seed)
    assert "\n" not in str(caught.value)


def test_no_member_is_one_of_a_plain_seed_or_of_another_seed() -> None:
    family = ScoreFamily(lambda: nn.Linear(3, 3), (3,))

    def first(module: nn.Module) -> tuple[float, ...]:
        return tuple(next(module.parameters()).detach().flatten().tolist())

    # The lowest 32 bits of the last two agree, and torch's own seeding looks at no others.
    seeds = [*range(20), 5 + 2**32]
    members = {first(family.member(seed)) for seed in seeds}
    plain = set()
    with global_state_kept():
        for seed in range(200):
            torch.manual_seed(seed)
            plain.add(first(nn.Linear(3, 3)))
    assert len(members) == len(seeds)
    assert not members & plain


def test_factories_that_draw_from_numpy_and_python_have_streams_of_their_own() -> None:
    def drawn() -> tuple[float, float, float]:
        return float(torch.rand(())), float(np.random.rand()), random.random()  # noqa: NPY002, S311

    ours = [seeded(drawn, seed, "test") for seed in range(20)]
    assert ours == [seeded(drawn, seed, "test") for seed in range(20)]
    plain = [np.random.RandomState(k).rand() for k in range(200)]
    plain += [random.Random(k).random() for k in range(200)]  # noqa: S311
    values = [value for one in ours for value in one[1:]]
    assert len({*values, *plain}) == len(values) + len(plain)


SOURCES = sorted(Path(sads.__file__).parent.rglob("*.py"))
#: Where the purpose stands among the arguments.
NAMED = {"sequence": 1, "stream": 1, "fast_stream": 1, "torch_stream": 1, "as_generator": 1}
NAMED |= {"seeded": 2, "OwnDraws": 1}
PLAIN = {"default_rng", "manual_seed", "SeedSequence", "RandomState", "SFC64", "seed", "fork_rng"}


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """The name of what is called, and the call."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            yield name, node


def test_every_purpose_is_used_in_one_place() -> None:
    places: dict[str, list[str]] = {}
    for path in SOURCES:
        if path.name == "randomness.py":
            continue
        for name, call in calls(path):
            if name not in NAMED:
                continue
            purpose = call.args[NAMED[name]]
            # A purpose that is shared on purpose is a constant with a name.
            assert isinstance(purpose, (ast.Constant, ast.Name)), f"{path}:{call.lineno}"
            if isinstance(purpose, ast.Constant):
                assert isinstance(purpose.value, str)
                places.setdefault(purpose.value, []).append(f"{path.name}:{call.lineno}")
    assert len(places) > 25
    assert {purpose: where for purpose, where in places.items() if len(where) > 1} == {}


def test_nothing_else_starts_a_generator() -> None:
    places = [
        f"{path.name}:{call.lineno}"
        for path in SOURCES
        if path.name != "randomness.py"
        for name, call in calls(path)
        if name in PLAIN
    ]
    assert places == []


def test_every_draw_of_torch_names_its_generator() -> None:
    drawing = {"rand", "randn", "randint", "randperm", "rand_like", "randn_like", "multinomial"}
    places = [
        f"{path.name}:{call.lineno}"
        for path in SOURCES
        if path.name != "randomness.py"
        for name, call in calls(path)
        if name in drawing
        and isinstance(call.func, ast.Attribute)
        and ast.unparse(call.func.value) == "torch"
        and "generator" not in {keyword.arg for keyword in call.keywords}
    ]
    assert places == []
