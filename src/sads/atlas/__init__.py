"""The atlas: many architectures examined in the same way, and a page to compare them."""

from .entries import AtlasEntry, load_atlas
from .rows import AtlasRow, load_rows
from .survey import survey
from .tour import look_at_all

__all__ = ["AtlasEntry", "AtlasRow", "load_atlas", "load_rows", "look_at_all", "survey"]
