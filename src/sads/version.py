"""The version of everything in this package that can change a result."""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

# What draws, prints or organises. All the rest computes.
_ASIDE = (
    "cli",
    "doctor",
    "execution",
    "figures",
    "presentation",
    "report",
    "pytest_plugin.py",
    "shown.py",
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
    package = Path(__file__).resolve().parent
    whole = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place.parts[0] not in _ASIDE or place in _COMPUTES:
            whole.update(place.as_posix().encode() + b"\0" + path.read_bytes())
    return f"{version('sads')}+{whole.hexdigest()[:12]}"
