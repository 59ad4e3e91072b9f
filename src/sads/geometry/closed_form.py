"""Geometries known without sampling, and the structure that propositions 1 to 3 impose.

*DiT at x = 0.* With zeroed modulations every block is the identity and the patch embedding of 0
is 0, so the features are LN(P) for every draw, P the position embedding:

    G = c s_w^2 Q [LN(P) LN(P)^T (x) I] Q^T,      c = E_t[w_t].

*Linear network.* F = Phi Theta x with independent entries of Theta of variance s_w^2 gives
G = s_w^2 E[w_t |x|^2] Phi Phi^T under every probe.

The `nearest_*` functions project a matrix on the form of a proposition; the distance to it tells
whether an estimate has that form.
"""

import numpy as np
from jaxtyping import Float

from ..directions.structure import Tokens
from ..networks import DiT, Linear
from ..networks.base import ScoreNetwork
from ..networks.dit import sincos_positions
from ..path import Schedule
from ..probes import Probe, Zero


def closed_form_factor(
    network: ScoreNetwork,
    probe: Probe,
    schedule: Schedule,
    probabilities: Float[np.ndarray, " T"],
    weights: Float[np.ndarray, " T"],
) -> Float[np.ndarray, "n n"] | None:
    """The exact factor of the geometry where it is known, else None.

    Args:
        network: a member of the family.
        probe: where the networks are looked at.
        schedule: the noise schedule.
        probabilities: of each timestep.
        weights: of the outer product at each timestep.
    """
    if not has_closed_form(network, probe):
        return None
    if isinstance(network, DiT):
        return float(probabilities @ weights) * dit_factor(network)
    if isinstance(network, Linear):
        energy = probe.energy(network.size, schedule)
        variance = network.distributions()["head.weight"].variance
        phi = network.phi.double().cpu().numpy()
        return float(probabilities @ (weights * energy)) * variance * phi @ phi.T
    return None


def has_closed_form(network: ScoreNetwork, probe: Probe) -> bool:
    """Whether `closed_form_factor` knows the geometry of a network that starts as declared."""
    return isinstance(network, Linear) or (isinstance(network, DiT) and isinstance(probe, Zero))


def dit_factor(network: DiT) -> Float[np.ndarray, "T T"]:
    """s_w^2 LN(P) LN(P)^T over tokens."""
    width = int(network.get_parameter("head.weight").shape[1])
    positions = sincos_positions(width, *network.grid).double().numpy()
    centred = positions - positions.mean(axis=1, keepdims=True)
    normed = centred / np.sqrt(centred.var(axis=1, keepdims=True) + network.norm.eps)
    return network.distributions()["head.weight"].variance * normed @ normed.T


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
