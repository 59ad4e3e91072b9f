"""The command line: one module for each command, without logic of its own.

An error that the user can fix is one line on standard error with exit code 2, a defect one line
with exit code 70 (see `failures`). `--debug` anywhere shows the traceback.
"""

import sys
from importlib import import_module
from importlib.metadata import version

from cyclopts import App, Group

from ..errors import InputError
from .failures import explained
from .terminal import print_anywhere

COMMANDS: dict[str, tuple[str, ...]] = {
    "Before training": (
        "summary",
        "doctor",
        "forecast",
        "geometry",
        "directions",
        "compare",
        "rank",
        "atlas",
    ),
    "Data": ("data", "align", "rotate"),
    "Training": ("train", "sample", "distance", "risk", "sweep", "results"),
    "Pages": ("report", "watch", "figure"),
}

app: App = App(
    name="sads",
    help="Which data directions will a score network learn first, and where will error be left? "
    "sads says so before training.",
    version=lambda: version("sads"),
    help_format="markdown",
    suppress_keyboard_interrupt=False,  # `main` says what an interruption means
    help_epilogue="Example: `sads summary iddpm-16`, or with your own network "
    "`sads summary FILE.py:FUNCTION --shape 3x32x32`. Each command has an example: "
    "`sads COMMAND --help`. `--debug` shows the traceback of an error.",
)
for _place, (_title, _names) in enumerate(COMMANDS.items()):
    _group = Group(_title, sort_key=_place)
    for _key, _name in enumerate(_names):  # in the order of use, not in alphabetical order
        _function = getattr(import_module(f"{__name__}.{_name}"), _name)
        app.command(_function, group=_group, sort_key=_key)
_options = Group("Options", sort_key=len(COMMANDS))
for _flag in ("--help", "--version"):
    app[_flag].group = _options


def main() -> None:
    """Run the command line and exit."""
    tokens = sys.argv[1:]
    debug = "--debug" in tokens
    tokens = [word for word in tokens if word != "--debug"]
    print_anywhere()
    try:
        _refuse_empty(tokens)
        app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
    except KeyboardInterrupt:
        print(
            "sads: interrupted; with --out the same command continues from what was stored",
            file=sys.stderr,
        )
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output went away
        sys.stderr.close()
        sys.exit(1)
    except Exception as error:
        if debug:
            raise
        line, code = explained(error)
        print(line, file=sys.stderr)
        sys.exit(code)


def _refuse_empty(tokens: list[str]) -> None:
    """Refuse empty options and arguments; an empty path would mean the current directory."""
    for before, word in zip(["", *tokens], tokens, strict=False):
        option, equals, value = word.partition("=")
        if equals and not value and option.startswith("--"):
            raise InputError(f"{option} is empty: give it a value, or leave it out")
        if not word.strip():
            what = before if before.startswith("--") else "an argument"
            raise InputError(f"{what} is empty: give it a value, or leave it out")
