"""The examples of docstrings as blocks of code on the pages of the Python reference.

Markdown takes `>>>` for a quotation in a quotation; a fence around an example makes it code. The
docstrings themselves stay as doctest and Python's own help want them.
"""

import re
from typing import Any

from griffe import Extension, Object

_EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n|\Z)", re.DOTALL | re.MULTILINE)


def fenced(text: str) -> str:
    """Text with a fence around each example.

    >>> fenced("Adds up.\\n\\n>>> 1 + 1\\n2\\n").splitlines()
    ['Adds up.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    return _EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```", text)


class FencedExamples(Extension):
    """What mkdocstrings calls for every object that it reads."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Fence the examples of one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
