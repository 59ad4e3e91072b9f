"""The forms that propositions 1 to 3 impose; the distance to one tells whether a matrix has it."""

import numpy as np
from jaxtyping import Float

from sads.directions.structure import Tokens


def nearest_mlp_form(g: Float[np.ndarray, "D D"]) -> Float[np.ndarray, "D D"]:
    """Projection on alpha I + beta 1 1^T (proposition 1, equation 7)."""
    size = len(g)
    off = (g.sum() - np.trace(g)) / (size * (size - 1))
    return (np.trace(g) / size - off) * np.eye(size) + off


def nearest_cnn_form(g: Float[np.ndarray, "D D"], channels: int) -> Float[np.ndarray, "D D"]:
    """Projection on I (x) A + 1 1^T (x) B over channels (proposition 2, equation 8)."""
    positions = len(g) // channels
    blocks = g.reshape(channels, positions, channels, positions).transpose(0, 2, 1, 3)
    same = np.mean([blocks[i, i] for i in range(channels)], axis=0)
    whole = np.kron(np.eye(channels), same)
    if channels > 1:
        other = (blocks.sum(axis=(0, 1)) - channels * same) / (channels * (channels - 1))
        whole += np.kron(1 - np.eye(channels), other)
    return whole


def nearest_transformer_form(
    g: Float[np.ndarray, "D D"], shape: tuple[int, ...], patch: int
) -> Float[np.ndarray, "D D"]:
    """Projection on Q [A (x) I] Q^T over tokens (proposition 3, equation 9)."""
    structure = Tokens(shape, patch)
    copies = [g[np.ix_(entries, entries)] for entries in structure.entries.T]
    return structure.expand(np.mean(copies, axis=0))
