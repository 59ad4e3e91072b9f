"""What goes away says so, once, and works until then."""

import warnings

import pytest

from sads.foundation import deprecation
from sads.foundation.deprecation import deprecated, warn_deprecated


@pytest.fixture(autouse=True)
def nothing_warned(monkeypatch):
    monkeypatch.setattr(deprecation, "_WARNED", set())


def old(x: int, *, y: int = 0) -> int:
    """Add."""
    return x + y


def test_a_function_that_goes_away_warns_once_and_works():
    marked = deprecated("sads.new", removal="0.9")(old)
    with pytest.warns(DeprecationWarning, match=r"sads\.old is deprecated.*0\.9: use sads\.new"):
        assert marked(1, y=2) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert marked(3) == 3
    assert (marked.__name__, marked.__doc__) == ("old", "Add.")


def test_an_argument_that_goes_away_is_said_to_the_caller():
    def function(flag: bool) -> None:
        if flag:
            warn_deprecated("sads.function(flag=True)", "another function", "0.9")

    with pytest.warns(DeprecationWarning, match="another function") as caught:
        function(True)
    function(True)  # says nothing: a warning would be an error here
    assert [warning.filename for warning in caught] == [__file__]
