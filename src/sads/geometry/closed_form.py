"""Geometries known without sampling.

*DiT at x = 0.* With zeroed modulations every block is the identity and the patch embedding of 0
is 0, so the features are LN(P) for every draw, P the position embedding:

    G = c s_w^2 Q [LN(P) LN(P)^T (x) I] Q^T,      c = E_t[w_t].

*Linear network.* F = Phi Theta x with independent entries of Theta of variance s_w^2 gives
G = s_w^2 E[w_t |x|^2] Phi Phi^T under every probe.
"""

import numpy as np
from jaxtyping import Float

from ..networks import DiT, Linear
from ..networks.base import ScoreNetwork
from ..networks.transformer import sincos_positions
from ..path import DiffusionPath
from ..probes import Probe, Zero


def closed_form_factor(
    network: ScoreNetwork,
    probe: Probe,
    schedule: DiffusionPath,
    probabilities: Float[np.ndarray, " T"],
    weights: Float[np.ndarray, " T"],
) -> Float[np.ndarray, "n n"] | None:
    """The exact factor of the geometry if it is known, otherwise None.

    Args:
        network: a member of the family.
        probe: where the networks are looked at.
        schedule: the path from data to noise.
        probabilities: the probability of each timestep.
        weights: the weight of the outer product at each timestep.
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
