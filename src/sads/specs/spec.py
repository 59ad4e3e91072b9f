"""What the specifications of networks, data, probes and directions have in common.

A specification is a text of the grammar, parsed once. As a value it can be compared, stored and
asked for its parts; its string is the same text again. A trial is identified by what its files
hold, not by where they are. So every specification can also be written with other names for its
paths: a digest of their content for an identity, an absolute path for a worker elsewhere.
"""

from abc import abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from pydantic import (
    BaseModel,
    ModelWrapValidatorHandler,
    model_serializer,
    model_validator,
)

#: Computes what identifies the content of a path.
Content = Callable[[Path], str]
#: Gives another name to a path, knowing how its content is identified.
Rename = Callable[[str, Content], str]


class Spec(BaseModel, frozen=True, extra="forbid"):
    """A text of the grammar as a frozen value, which models store as the same text."""

    @classmethod
    @abstractmethod
    def parse(cls, text: str) -> Self:
        """The specification that a text is.

        Raises:
            InputError: if the text does not follow the grammar.
        """

    @abstractmethod
    def written(self, rename: Rename, root: Path) -> str:
        """The text with other names for its paths; `root` is where relative ones start."""

    def __str__(self) -> str:
        return self.written(lambda path, _: path, Path())

    def paths(self) -> tuple[Path, ...]:
        """The files and directories that the text names."""
        named: list[Path] = []

        def note(path: str, _: Content) -> str:
            named.append(Path(path))
            return path

        self.written(note, Path())
        return tuple(named)

    def digest(self) -> str:
        """The text with digests of the content in place of its paths.

        Raises:
            InputError: if there is nothing at a path.
        """
        return self.written(lambda path, content: content(Path(path)), Path())

    def seen_from(self, root: Path) -> Self:
        """The same specification with absolute paths, where its own are relative to `root`."""
        return self.parse(self.written(lambda path, _: str(root / path), root))

    @model_validator(mode="wrap")
    @classmethod
    def _from_text(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        return cls.parse(value) if isinstance(value, str) else handler(value)

    @model_serializer
    def _as_text(self) -> str:
        return str(self)
