"""The command line: one module per command, no logic of its own.

Errors that the user can mend are one line on standard error and exit code 2, defects one line and
exit code 70 (`failures`); `--debug` anywhere shows the traceback.
"""

import sys
from importlib.metadata import version

from cyclopts import App

from ..errors import InputError
from .align import align
from .compare import compare
from .data import data
from .directions import directions
from .distance import distance
from .doctor import doctor
from .failures import explained
from .figure import figure
from .forecast import forecast
from .geometry import geometry
from .rank import rank
from .report import report
from .results import results
from .risk import risk
from .rotate import rotate
from .sample import sample
from .sweep import sweep
from .terminal import print_anywhere
from .train import train
from .watch import watch

app = App(
    name="sads",
    help="Which data directions will a score network model well? The answer before training.",
    version=lambda: version("sads"),
    help_format="markdown",
    suppress_keyboard_interrupt=False,  # `main` says what an interruption means
    help_epilogue="`--debug` shows the traceback of an error. Example: `sads geometry iddpm-16`",
)
app.command(geometry)
app.command(directions)
app.command(compare)
app.command(data)
app.command(align)
app.command(rotate)
app.command(doctor)
app.command(rank)
app.command(train)
app.command(sample)
app.command(distance)
app.command(forecast)
app.command(risk)
app.command(sweep)
app.command(results)
app.command(report)
app.command(watch)
app.command(figure)


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
            "sads: interrupted; with --out the same command goes on where it was stored",
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
    """No option and no argument has a meaning for the empty text; as a path it would be `.`."""
    for before, word in zip(["", *tokens], tokens, strict=False):
        option, equals, value = word.partition("=")
        if equals and not value and option.startswith("--"):
            raise InputError(f"{option} is empty: give it a value, or leave it out")
        if not word.strip():
            what = before if before.startswith("--") else "an argument"
            raise InputError(f"{what} is empty: give it a value, or leave it out")
