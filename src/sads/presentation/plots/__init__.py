"""Plots of what this package computes; the figures of the paper are in `sads.figures`."""

from ...errors import needs_figures

needs_figures()
