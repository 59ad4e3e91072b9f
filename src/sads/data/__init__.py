"""Readers and makers of datasets: arrays whose first axis counts the samples."""

from .arrays import read_arrays, read_npy, read_npz
from .bases import BASES, basis, centred, element, layout
from .dataset import Dataset
from .digits import read_digits
from .folder import read_folder
from .hugging_face import read_hugging_face
from .laws import Law, Mixture, Normal, Sphere
from .mnist import read_mnist
from .pictures import Treatment
from .selection import Selection
from .synthetic import (
    band_direction,
    band_directions,
    index_direction,
    rank_one,
    sphere,
    split_stream,
)

__all__ = [
    "BASES",
    "Dataset",
    "Law",
    "Mixture",
    "Normal",
    "Selection",
    "Sphere",
    "Treatment",
    "band_direction",
    "band_directions",
    "basis",
    "centred",
    "element",
    "index_direction",
    "layout",
    "rank_one",
    "read_arrays",
    "read_digits",
    "read_folder",
    "read_hugging_face",
    "read_mnist",
    "read_npy",
    "read_npz",
    "sphere",
    "split_stream",
]
