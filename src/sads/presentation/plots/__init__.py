"""Plots of what this package computes; the figures of the paper are in `sads.figures`."""
