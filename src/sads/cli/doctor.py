"""`sads doctor`: what is wrong with a network."""

import json as jsonlib
import sys
from pathlib import Path

from ..foundation.choices import Severity
from .options import Flag, Seed


def doctor(
    network: str,
    *,
    shape: str | None = None,
    networks: int | None = None,
    seed: Seed = 0,
    fail_on: Severity | None = None,
    junit: Path | None = None,
    json: Flag = False,
    all: Flag = False,  # noqa: A002 - the name of the option
) -> None:
    """Say what is wrong with an architecture, before anyone trains it.

    The exit code is 0, or with `--fail-on` 1 if there is a finding of that severity or a worse one.

    Example: `sads doctor iddpm-16`

    Args:
        network: a preset with optional fields, `FILE.py:factory`, `package.module:factory` or
            `diffusers:FILE.json`.
        shape: shape of one sample, CxHxW; presets have their own.
        networks: untrained networks for each of the two geometries that are estimated.
        seed: the seed of all random draws.
        fail_on: the least severity that makes the exit code 1.
        junit: a file to write for continuous integration, with a test for each finding. A test
            fails if its severity is at least that of `--fail-on`, or `warning` unless given. An
            existing file is replaced.
        json: print the result as one JSON object, with all findings.
        all: also explain findings that are common in healthy networks, instead of naming them in
            one line.
    """
    from .. import api
    from ..doctor.finding import at_least
    from ..presentation.doctor import as_fields, sentences
    from ..presentation.junit import doctor_cases, write_junit
    from ..storage.files import file_target
    from .progress import waiting

    if junit is not None:
        file_target(junit)  # a file that cannot be written is refused before any work

    with waiting(f"examining {network}") as tell:
        diagnosis = api.diagnose(network, shape=shape, networks=networks, seed=seed, on_stage=tell)
    print(
        jsonlib.dumps(as_fields(diagnosis))
        if json
        else "\n".join(sentences(diagnosis, everything=all))
    )
    if junit is not None:
        write_junit(junit, f"sads doctor {network}", doctor_cases(diagnosis, fail_on or "warning"))
    if fail_on is not None and at_least(diagnosis.findings, fail_on):
        sys.exit(1)
