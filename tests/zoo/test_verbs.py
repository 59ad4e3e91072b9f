"""Every foreign network goes through every verb."""

import pytest

from .foreign import SUBJECTS
from .verbs import Case, EveryVerb


@pytest.fixture(scope="module", params=SUBJECTS, ids=lambda subject: subject.factory)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(request.param, tmp_path_factory.mktemp(request.param.factory))


#: What is missing, by network and verb.
MISSING = {
    ("cosines", "test_sweep"): "a trial has no noise schedule: its network gets the linear one",
}


@pytest.fixture(autouse=True)
def expected(request: pytest.FixtureRequest, case: Case) -> None:
    if reason := MISSING.get((case.subject.factory, request.function.__name__)):
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))


class TestForeignNetworks(EveryVerb):
    """All verbs, network by network."""
