"""The message of a command that fails, and its exit code.

| failure                                              | exit code | message                     |
|------------------------------------------------------|-----------|-----------------------------|
| an error on purpose, a file that cannot be used      | 2         | that of the error           |
| no memory, text that is not UTF-8, nesting too deep  | 2         | what happened               |
| anything else, which is a defect of this package     | 70        | where, and to report it     |

Every message is one line on standard error. 70 is EX_SOFTWARE of sysexits.h; `sads compare` and
`sads sweep` have a meaning of their own for 1.
"""

import re
import traceback
from pathlib import Path

from cyclopts import CycloptsError

from ..errors import SadsError, is_memory_error

USAGE, DEFECT = 2, 70
LONGEST = 600  # characters of a message: inputs of thousands of digits are cut in the middle

_KEYWORD = re.compile(r"\b([a-z_]+)=(?:'([^']*)'|True)")  # an argument, as in Python


def explained(error: Exception) -> tuple[str, int]:
    """The line that says what happened, and the exit code."""
    if isinstance(error, (SadsError, CycloptsError, OSError)):
        return f"sads: error: {in_options(one_line(error))}", USAGE
    if is_memory_error(error):
        what = "there is not enough memory for this: choose a smaller shape, network or number"
        return f"sads: error: {what} ({one_line(error)})", USAGE
    if isinstance(error, RecursionError):
        return "sads: error: the input is nested too deeply: write it flatter", USAGE
    if isinstance(error, UnicodeError):
        return f"sads: error: text that is not valid UTF-8: {one_line(error)}", USAGE
    return (
        f"sads: internal error: {type(error).__name__} at {_place(error)}: {one_line(error)} (a "
        "defect of sads: please report it with the traceback that --debug shows)"
    ), DEFECT


def one_line(error: BaseException) -> str:
    """The message of an error without line breaks, cut in the middle if it is very long."""
    text = " ".join(str(error).split()) or type(error).__name__
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]} ... {text[-half:]}"


def in_options(text: str) -> str:
    """A message in which options of the command line replace Python's keywords.

    >>> in_options("redraw with zero_output='last', or replace it with force=True")
    'redraw with --zero-output last, or replace it with --force'
    """

    def option(keyword: re.Match[str]) -> str:
        name = "from" if keyword[1] == "seed_from" else keyword[1].replace("_", "-")
        return f"--{name} {keyword[2] or ''}".rstrip()

    return _KEYWORD.sub(option, text)


def _place(error: BaseException) -> str:
    """The file and line of an error: the last one in this package, or else in other code."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)]
    if not (ours or frames):
        return "an unknown place"
    last = (ours or frames)[-1]
    path = Path(last.filename)
    name = path.relative_to(_PACKAGE.parent) if ours else path
    return f"{name}:{last.lineno}"


_PACKAGE = Path(__file__).resolve().parents[1]
