"""The version of the random draws, known without loading what draws."""

DRAWS = 2  # version 1 used plain seeds
