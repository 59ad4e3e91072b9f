"""What every request to a worker says of the machine that it comes from.

A worker builds networks, probes and data itself, from the same names. It refuses to compute if
anything differs from what the driver has: the code of this package, the libraries that it uses, the
content of a named file, or the networks that are built from it.
"""

from pathlib import Path
from typing import TypedDict

from pydantic import BaseModel

from ..errors import SadsError
from ..foundation.versions import code_version
from ..geometry.plan import software_versions
from ..specs.spec import Spec


class SetupError(SadsError):
    """A worker that differs from the driver and must not compute any part of the work."""


class Seen(TypedDict):
    """What a driver says of itself."""

    digests: tuple[str, ...]
    root: Path
    code: str
    versions: dict[str, str]


class Request(BaseModel, frozen=True, extra="forbid"):
    """Work for a worker.

    Attributes:
        digests: the digests of what is named, including the content of the files.
        root: the directory that paths are relative to.
        code: version of this package's sources.
        versions: the versions of the libraries that can change bits.
    """

    digests: tuple[str, ...]
    root: Path
    code: str
    versions: dict[str, str]

    def require(self, *named: Spec) -> None:
        """Refuse to compute where the software differs, or the files of what is named.

        Raises:
            SetupError: if they do.
        """
        self._require_same_software()
        for asked, digest in zip(named, self.digests, strict=True):
            if asked.seen_from(self.root).digest() != digest:
                raise SetupError(
                    f"the files of {asked} differ there: every machine needs the same files at the "
                    "same place"
                )

    def _require_same_software(self) -> None:
        if self.code != code_version():
            raise SetupError(
                f"it runs version {code_version()} of the code, the estimate {self.code}: install "
                "the same version there"
            )
        here = software_versions()
        if here != self.versions:
            names = [name for name in here if here[name] != self.versions.get(name)]
            said = ", ".join(f"{n} {here[n]} instead of {self.versions.get(n)}" for n in names)
            raise SetupError(f"it has {said}: install the same version there")


def seen_here(*named: Spec) -> Seen:
    """What this process says of itself, and of what it names."""
    return {
        "digests": tuple(spec.digest() for spec in named),
        "root": Path.cwd(),
        "code": code_version(),
        "versions": software_versions(),
    }
