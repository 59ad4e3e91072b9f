"""Tests and intervals that assume little: sign flips, permutations, means over paired seeds."""
