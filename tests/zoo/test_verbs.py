"""Every foreign network goes through every verb."""

import pytest

from .foreign import SUBJECTS
from .verbs import Case, EveryVerb


@pytest.fixture(scope="module", params=SUBJECTS, ids=lambda subject: subject.factory)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(request.param, tmp_path_factory.mktemp(request.param.factory))


class TestForeignNetworks(EveryVerb):
    """All verbs, network by network."""
