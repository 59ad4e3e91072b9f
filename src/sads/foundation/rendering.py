"""Values that notebooks and terminals show with words, tables and pictures.

These are made in `sads.presentation` and `sads.report`, which are layers above all values. A value
imports them by name when it is shown, so no lower layer imports HTML.
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


class Shown:
    """A value that notebooks show as HTML, by the renderer of its type."""

    def _repr_html_(self) -> str:
        return _registry().html(self)


class Reported(Shown):
    """A value with a page of its own, and a picture."""

    def report(self, path: str | Path, *, force: bool = False) -> None:
        """Write the page about it, one file to open offline.

        Args:
            path: the file to write.
            force: replace an existing file.
        """
        import_module("sads.report.training_page").write_page(self, path, force=force)

    def picture(self) -> "np.ndarray":
        """A picture of it: red, green and blue of every pixel, in whole numbers up to 255."""
        return _registry().picture(self)


def as_text(value: object) -> str:
    """A value as lines of text, by the renderer of its type."""
    return _registry().text(value)


def _registry() -> Any:
    return import_module("sads.presentation.registry")
