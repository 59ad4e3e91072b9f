"""Tests of sads; the folders mirror `src/sads`."""

from . import typechecker

__all__ = ["typechecker"]
