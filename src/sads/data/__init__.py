"""Readers of datasets: arrays of samples, the first axis counting them."""

from .arrays import read_npy, read_npz
from .digits import read_digits

__all__ = ["read_digits", "read_npy", "read_npz"]
