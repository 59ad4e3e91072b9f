"""Values that notebooks and terminals show with words, tables and pictures.

These are made in `sads.presentation`, above all values. A value asks for them by name when it is
shown, so nothing below imports HTML.
"""

from importlib import import_module
from typing import Any


class Shown:
    """A value that notebooks show as HTML, by the renderer of its type."""

    def _repr_html_(self) -> str:
        return _registry().html(self)


def as_text(value: object) -> str:
    """A value as lines of text, by the renderer of its type."""
    return _registry().text(value)


def _registry() -> Any:
    return import_module("sads.presentation.registry")
