"""Rows of a result as a pandas table, for those who have pandas installed."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    import pandas


def as_frame(rows: Iterable[Mapping[str, Any]]) -> "pandas.DataFrame":
    """A table with a line for each row and a column for each name.

    Raises:
        InputError: if pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise InputError("a frame needs pandas: install it with pip install pandas") from error
    return pandas.DataFrame(list(rows))
