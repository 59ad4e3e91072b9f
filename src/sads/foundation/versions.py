"""The versions of what can change a result: the random draws, and the sources that compute."""

import hashlib
from functools import cache
from pathlib import Path

DRAWS = 2  # of the random draws; version 1 used plain seeds

# What plots, prints or organises. All the rest computes.
_ASIDE = (
    "cli",
    "doctor",
    "execution",
    "figures",
    "presentation",
    "report",
    "pytest_plugin.py",
    "overview",
    "sweep",
    "watch.py",
)
_COMPUTES = {
    Path("sweep", "execute", f"{name}.py") for name in ("run_trial", "trial_data", "trial_risk")
}


@cache
def code_version() -> str:
    """The release, and a digest of the sources that compute results."""
    from importlib.metadata import version  # takes a while to load, and few ask for it

    package = Path(__file__).resolve().parents[1]
    whole = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place.parts[0] not in _ASIDE or place in _COMPUTES:
            whole.update(place.as_posix().encode() + b"\0" + path.read_bytes())
    return f"{version('sads')}+{whole.hexdigest()[:12]}"
