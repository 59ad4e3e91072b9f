"""The second moments of a last layer: what its exact integration needs to know about it.

The integration asks that the entries of W are zero-mean, uncorrelated and of equal variance, and
so for b; not that they are independent or Gaussian. Three statements about W, of shape (members,
out, in, *kernel), are tested, each so that a true one does not fail by chance:

- its mean square is the same for every index of every axis;
- the mean over any set of axes has the variance that uncorrelated zero-mean entries have;
- it is not another parameter of the network in disguise.

The variance itself is exact where the initial distribution is known, else measured.
"""

import math
from itertools import chain, combinations

import torch
from torch import Tensor, nn

from .initialisation import Constant, Distribution
from .tracing import Call, NoLastLayer

SPREADS = 7.0  # standard deviations that chance does not bridge
FEWEST = 200  # entries needed to measure a variance to 10 %, one standard deviation


def check_moments(values: Tensor, what: str) -> None:
    """Values (members, *axes) must look zero-mean, uncorrelated and of equal variance.

    Raises:
        NoLastLayer: if they do not, with the reason.
    """
    values = values.double()
    variance = float(values.square().mean())
    if variance == 0:
        return
    axes = range(values.ndim)
    for axis in axes:
        others = [a for a in axes if a != axis]
        squares = values.square().mean(dim=others) if others else values.square()
        count = values.numel() / values.shape[axis]
        # Fourth moments of what is drawn in practice are below five variances squared.
        if bool((squares / variance - 1).abs().max() > SPREADS * math.sqrt(4 / count)):
            raise NoLastLayer(f"the {what} of its last layer have unequal variances")
    for subset in chain.from_iterable(combinations(axes, k) for k in range(1, values.ndim + 1)):
        means = values.mean(dim=subset)
        size = math.prod(values.shape[a] for a in subset)
        if size == 1:
            continue
        ratio = float(means.square().mean()) * size / variance
        if abs(ratio - 1) > SPREADS * math.sqrt(4 / means.numel()) + SPREADS**2 / means.numel():
            raise NoLastLayer(
                f"the {what} of its last layer are not zero-mean and uncorrelated at initialisation"
            )


def variance_of(values: Tensor, known: Distribution | None, what: str) -> float:
    """The common variance of values (members, *axes), exact where the distribution is known.

    Raises:
        NoLastLayer: if there is none, or too few values to measure it.
    """
    if isinstance(known, Constant) or bool((values == values.flatten()[0]).all()):
        if bool((values != 0).any()):
            raise NoLastLayer(
                f"the {what} of its last layer start from a constant that is not zero"
            )
        return 0.0
    check_moments(values, what)
    if known is not None:
        return known.variance
    if values.numel() < FEWEST:
        raise NoLastLayer(f"the {what} of its last layer are too few to measure their variance")
    return float(values.double().square().mean())


def last_layer_variances(
    calls: list[Call], weight: Distribution | None, bias: Distribution | None
) -> tuple[float, float]:
    """s_w^2 and s_b^2 of the last layer from its calls in several networks.

    Args:
        calls: the last call of each of them.
        weight: the distribution of the weight, where it is known.
        bias: that of the bias.

    Raises:
        NoLastLayer: if the layer does not start as the integration asks.
    """
    weights = torch.stack([call.weight.detach().cpu() for call in calls])
    s_w = variance_of(weights, weight, "weights")
    if s_w == 0:
        raise NoLastLayer("the weights of its last layer start at zero")
    biases = [call.bias for call in calls]
    if any(b is None for b in biases):
        return s_w, 0.0
    stacked = torch.stack([b.detach().cpu() for b in biases if b is not None])
    return s_w, variance_of(stacked, bias, "biases")


def check_not_copied(network: nn.Module, weight: Tensor, made_of: set[str]) -> None:
    """No other parameter of the network may be the last weight again.

    Args:
        network: the network.
        weight: the weight of its last layer.
        made_of: names of the parameters that the weight comes from.

    Raises:
        NoLastLayer: if one is.
    """
    own = weight.detach().flatten().double()
    own = own / own.norm()
    for name, parameter in network.named_parameters():
        if name in made_of or parameter.numel() != own.numel() or own.numel() < 2:
            continue
        other = parameter.detach().flatten().double()
        norm = float(other.norm())
        if norm == 0:
            continue
        if abs(float(own @ other) / norm) > SPREADS / math.sqrt(own.numel()):
            raise NoLastLayer(f"the weight of its last layer repeats that of {name}")
