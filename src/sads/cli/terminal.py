"""Printing on terminals that lack some of our characters.

An ASCII-only terminal (`LC_ALL=C`) has no ±, and no terminal has the bytes of a file name that is
not UTF-8. Such characters are spelled out instead of ending the program.
"""

import codecs
import sys
from io import TextIOWrapper

_SPELLED = {"±": "+-", "–": "-", "×": "x", "≈": "~", "…": "..."}
_HANDLER = "sads.spelled_out"


def print_anywhere() -> None:
    """Spell out characters that standard output or error cannot show."""
    codecs.register_error(_HANDLER, _spelled_out)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=_HANDLER)


def _spelled_out(error: UnicodeError) -> tuple[str, int]:
    """The handler: the text to write instead, and the position to continue from."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    spelled = [_SPELLED.get(c) or c.encode("ascii", "backslashreplace").decode() for c in missing]
    return "".join(spelled), error.end
