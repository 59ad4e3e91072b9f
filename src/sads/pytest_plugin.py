"""Checks of a score network for the test suite of the project that owns it.

pytest finds the plugin by itself once the package is installed. Each check is a fixture, and also a
function of the same name that can be imported:

    def test_network(assert_healthy, assert_same_geometry, assert_learns):
        assert_healthy(make_network, (3, 32, 32))
        assert_same_geometry(make_network, "golden/geometry", (3, 32, 32))
        assert_learns(make_network, "gaussian", worst=0.1, shape=(3, 32, 32))

`pytest --sads-update` makes golden geometries that are missing or have changed.
"""

import shutil
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import pytest

from .errors import InputError, SadsError
from .foundation.choices import Severity

if TYPE_CHECKING:
    from .comparison import Comparison
    from .doctor import Diagnosis
    from .geometry import Geometry
    from .learning import Risk
    from .networks import ScoreFamily
    from .specs.coercion import Data, Network, Shape

UPDATE = "--sads-update"
NETWORKS = 256  # behind a golden geometry
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def _in_one_line(check: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """The check, with what cannot be used told in one line instead of a traceback."""

    @wraps(check)
    def checked(*given: Given.args, **named: Given.kwargs) -> Answer:
        __tracebackhide__ = True
        try:
            return check(*given, **named)
        except SadsError as error:
            reason = str(error)
        pytest.fail(reason, pytrace=False)

    return checked


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that makes golden geometries."""
    group = parser.getgroup("sads")
    group.addoption(UPDATE, action="store_true", help="make golden geometries of networks again")


@_in_one_line
def assert_healthy(
    source: "Network",
    shape: "Shape | None" = None,
    *,
    fail_on: Severity = "warning",
    allow: tuple[str, ...] = (),
    networks: int | None = None,
    seed: int = 0,
) -> "Diagnosis":
    """Fail if the doctor finds something about a network.

    Args:
        source: what `sads.network` takes.
        shape: shape of one sample.
        fail_on: the least severity that fails.
        allow: codes of findings that are known and accepted.
        networks: the untrained networks behind each geometry that the doctor looks at.
        seed: the seed of all draws.
    """
    __tracebackhide__ = True
    from .doctor import NETWORKS as USUAL
    from .doctor import diagnose
    from .doctor.finding import at_least
    from .specs.coercion import as_family

    family = as_family(source, shape=shape)
    diagnosis = diagnose(family, networks=USUAL if networks is None else networks, seed=seed)
    bad = [one for one in at_least(diagnosis.findings, fail_on) if one.code not in allow]
    if bad:
        lines = [
            f"{one.severity} {one.code}: {one.evidence}; {one.meaning}. To do: {one.suggestion}."
            for one in bad
        ]
        pytest.fail("\n".join([f"{family.name} is not healthy.", *lines]), pytrace=False)
    return diagnosis


@_in_one_line
def assert_same_geometry(
    source: "Network",
    golden: str | Path,
    shape: "Shape | None" = None,
    *,
    level: float = 0.01,
    ignore_scale: bool = False,
    networks: int = NETWORKS,
    update: bool = False,
) -> "Comparison":
    """Fail if the geometry of a network has changed.

    The networks are drawn by the seed of the golden geometry, so that an unchanged network gives
    the same numbers, and a changed one is judged by the error bars of both.

    Args:
        source: what `sads.network` takes.
        golden: directory of the geometry to compare with, made by this check with `update`.
        shape: shape of one sample; that of the golden geometry unless given.
        level: how often equal geometries may be called different.
        ignore_scale: whether to ignore a common factor.
        networks: the untrained networks behind a golden geometry that is made now.
        update: whether to make the golden geometry if it is missing or differs.
    """
    __tracebackhide__ = True
    from .comparison import compare
    from .geometry import load_geometry
    from .geometry.artefact import FILE
    from .presentation.comparison import comparison_sentences
    from .specs.coercion import as_family

    place = Path(golden)
    if not (place / FILE).is_file():
        if not update:
            raise InputError(f"there is no geometry in {golden}: make it with {UPDATE}")
        _write(as_family(source, shape=shape), place, networks)
    before = load_geometry(place)
    family = as_family(source, shape=before.shape if shape is None else shape)
    comparison = compare(before, _again(family, before), level=level, ignore_scale=ignore_scale)
    if comparison.different and update:
        _write(family, place, networks)
    elif comparison.different:
        lines = comparison_sentences(comparison)
        text = "\n".join([f"the geometry of {family.name} is not that in {golden}.", *lines])
        todo = f"If that is meant, accept it with {UPDATE}; if not, take back what changed it."
        pytest.fail(f"{text}\n{todo}", pytrace=False)
    return comparison


def _again(family: "ScoreFamily", before: "Geometry") -> "Geometry":
    """A geometry of a family, made like an earlier one."""
    from .geometry import estimate_geometry
    from .specs.coercion import as_probe, as_subspace

    plan = before.plan
    return estimate_geometry(
        family,
        probe=as_probe(plan.probe, shape=family.shape),
        networks=max(before.networks, 1),
        seed=plan.seed,
        of=plan.of,
        subspace=as_subspace(plan.subspace),
        estimator="naive" if plan.estimator == "naive" else None,
        weighting=plan.weighting,
        timesteps=plan.timesteps,
        zero_output=plan.zero_output,
    )


def _write(family: "ScoreFamily", place: Path, networks: int) -> None:
    """Make a golden geometry; other files in its directory are left alone."""
    from .geometry import estimate_geometry
    from .geometry.artefact import FILE

    with TemporaryDirectory() as fresh:
        estimate_geometry(family, networks=networks, out=Path(fresh), zero_output="last")
        place.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path(fresh) / FILE, place / FILE)


@_in_one_line
def assert_learns(
    source: "Network",
    data: "Data",
    *,
    worst: float,
    shape: "Shape | None" = None,
    directions: str | None = None,
    iterations: int = 100,
    batch_size: int = 64,
    learning_rate: float = 1e-3,
    seed: int = 0,
) -> dict[str, float]:
    """Fail if a short training leaves some direction behind.

    The measure is the share of the error that training removes along each direction or band of
    frequency: of the excess risk where the data's optimum is known, otherwise of the held-out loss.

    Args:
        source: what `sads.network` takes.
        data: a text in the data grammar, a dataset, or an array of samples.
        worst: the share of the error that has to be removed along the worst direction, at most 1.
        shape: shape of one sample.
        directions: a text in the grammar of directions; bands of frequency unless given.
        iterations: updates of the training.
        batch_size: samples a batch.
        learning_rate: the learning rate of Adam.
        seed: the seed of all draws.

    Returns:
        the share that was removed, for each direction or band.
    """
    __tracebackhide__ = True
    from . import api
    from .specs.coercion import as_family

    if not worst <= 1:
        raise InputError(f"worst is a share of the error, at most 1, got {worst:g}")
    family = as_family(source, shape=shape)
    trained = api.train(
        family,
        data,
        iterations=iterations,
        batch_size=batch_size,
        learning_rate=learning_rate,
        seed=seed,
    )
    after = api.risk(trained, data=data, directions=directions, tolerance=0.05, seed=seed)
    before = _untrained_risk(family, data, directions, seed)
    gone = 1 - after.by_direction / before.by_direction
    shares = dict(zip(after.labels, map(float, gone), strict=True))
    label = min(shares, key=shares.__getitem__)
    if not shares[label] >= worst:
        pytest.fail(
            f"{family.name} hardly learns {label}: {shares[label]:.1%} of the "
            f"{'excess risk' if after.exact else 'held-out loss'} has gone after {iterations} "
            f"steps, expected {worst:.1%}. To do: ask sads doctor what keeps the network from it; "
            "if it is only slow, allow more iterations or a larger learning_rate.",
            pytrace=False,
        )
    return shares


def _untrained_risk(
    family: "ScoreFamily", data: "Data", directions: str | None, seed: int
) -> "Risk":
    from .learning import measure_risk, reference_for
    from .specs.coercion import as_dataset, as_directions

    return measure_risk(
        family.member(seed).eval(),
        reference_for(as_dataset(data, shape=family.shape, split="held-out")),
        family.schedule,
        family.shape,
        directions=as_directions(directions, shape=family.shape),
        tolerance=0.05,
        seed=seed,
    )


@pytest.fixture(name="assert_healthy")
def _assert_healthy_fixture() -> "Callable[..., Diagnosis]":
    return assert_healthy


@pytest.fixture(name="assert_same_geometry")
def _assert_same_geometry_fixture(request: pytest.FixtureRequest) -> "Callable[..., Comparison]":
    return partial(assert_same_geometry, update=bool(request.config.getoption(UPDATE)))


@pytest.fixture(name="assert_learns")
def _assert_learns_fixture() -> "Callable[..., dict[str, float]]":
    return assert_learns
