"""The second moments of a last layer, which its exact integration needs.

The integration requires that the entries of W are zero-mean, uncorrelated and of equal variance,
and likewise those of b, but not that they are independent or Gaussian. Three statements about W, of
shape (members, out, in, *kernel), are tested, with bounds that chance does not exceed:

- its mean square is the same for every index of every axis;
- the mean over any set of axes has the variance that uncorrelated zero-mean entries have;
- it does not repeat another parameter of the network.

The variance is exact if the layer's values are a fixed multiple of one parameter whose initial
distribution is known. Otherwise no common variance is estimated: it would multiply all networks,
and no error bar would contain its error. Instead the features of each network are weighted by the
mean square w^2 of its own last weight. If W is independent of h, given the scale that the factory
may have drawn for both, then

    E[w^2 h h^T] = E[E[w^2 | scale] E[h h^T | scale]] = E[z z^T],

so the estimate has no bias, and the spread of the folds contains the scatter of w^2.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, combinations

import torch
from torch import Tensor, nn

from ..networks.initialisation import Distribution
from .last_layer import LastLayer
from .tracing import NoLastLayer, read

SPREADS = 7.0  # standard deviations that chance does not reach
FEWEST = 200  # with fewer entries a mean or a correlation would not be noticed
CAST = 5e-3  # relative rounding of a cast to half precision
MULTIPLE = 1e-3  # largest relative spread of a multiple that counts as equal in all networks


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
        # In practice fourth moments are below five times the squared variance.
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


@dataclass(frozen=True)
class Variances:
    """s_w^2 and s_b^2; None if the mean square of each network replaces them."""

    weight: float | None
    bias: float | None


@dataclass(frozen=True)
class LastValues:
    """Weight and bias of the last layer of one network, as they act."""

    weight: Tensor
    bias: Tensor | None

    @classmethod
    def of(cls, network: nn.Module, layer: LastLayer, x: Tensor, t: Tensor) -> "LastValues":
        """Read in a forward pass at an input x (1, *shape) and t (1,)."""
        call = read(network, x, t, layer.index)[1]
        late = layer.late_bias
        bias = call.bias if late is None else network.get_parameter(late)
        kept = (None if v is None else v.detach().cpu().clone() for v in (call.weight, bias))
        return cls(*kept)  # pyright: ignore[reportArgumentType]


def exact_variance(
    networks: list[nn.Module],
    values: list[Tensor],
    made_of: frozenset[str],
    known: Mapping[str, Distribution | None],
) -> float | None:
    """The variance of values that are a fixed multiple of one known parameter, or None.

    Args:
        networks: at least two networks.
        values: the weights, or the biases, of their last layers.
        made_of: the parameters from which these are made, without constant ones.
        known: the initial distributions of the parameters.
    """
    if len(made_of) != 1:
        return None
    (name,) = made_of
    distribution = known.get(name)
    if distribution is None or any(v.numel() != values[0].numel() for v in values):
        return None
    ratios = [
        _multiple(value, network.get_parameter(name).detach().cpu())
        for network, value in zip(networks, values, strict=True)
    ]
    defined = [r for r in ratios if r is not None]
    if len(defined) < len(ratios) or max(defined) - min(defined) > MULTIPLE * max(
        map(abs, defined)
    ):
        return None
    return distribution.variance * (sum(defined) / len(defined)) ** 2


def _multiple(value: Tensor, parameter: Tensor) -> float | None:
    """The number r for which value = r * parameter, up to the rounding of half precision."""
    if value.shape != parameter.shape:
        return None
    a, b = value.double().flatten(), parameter.double().flatten()
    if torch.equal(a, b):
        return 1.0
    ratio = float(a @ b / b.square().sum()) if bool(b.any()) else 0.0
    close = torch.allclose(a, ratio * b, rtol=0, atol=CAST * float(a.abs().max()))
    return ratio if close and ratio else None


def variance_of(values: Tensor, exact: float | None, what: str) -> float | None:
    """The common variance of values (members, *axes); None if each member has its own.

    Args:
        values: the values of several networks.
        exact: the variance, if it is known.
        what: the name of the values, for the reason.

    Raises:
        NoLastLayer: if they do not start as the integration requires, or are too few to know.
    """
    if bool((values == values.flatten()[0]).all()):
        if bool((values != 0).any()):
            raise NoLastLayer(
                f"the {what} of its last layer start from a constant that is not zero"
            )
        return 0.0
    values = values.double()
    if exact is not None:
        allowed = SPREADS * math.sqrt(4 / values.numel())
        if exact and abs(float(values.square().mean()) / exact - 1) <= allowed:
            check_moments(values, what)
            return exact
    if values.numel() < FEWEST:
        raise NoLastLayer(f"the {what} of its last layer are too few to measure how they start")
    # The scale may differ between networks.
    size = values.square().flatten(1).mean(1).sqrt().view(-1, *(1,) * (values.ndim - 1))
    check_moments(values / size.clamp(min=1e-300), what)
    return None


def last_layer_variances(
    values: list[LastValues], weight: float | None, bias: float | None
) -> Variances:
    """s_w^2 and s_b^2 of the last layer from its values in several networks.

    Args:
        values: those of each network.
        weight: the exact variance of the weight, if it is known.
        bias: that of the bias.

    Raises:
        NoLastLayer: if the layer does not start as the integration requires.
    """
    s_w = variance_of(torch.stack([v.weight for v in values]), weight, "weights")
    if s_w == 0:
        raise NoLastLayer("the weights of its last layer start at zero")
    biases = [v.bias for v in values if v.bias is not None]
    if not biases:
        return Variances(s_w, 0.0)
    return Variances(s_w, variance_of(torch.stack(biases), bias, "biases"))


def check_not_copied(network: nn.Module, weight: Tensor, made_of: frozenset[str]) -> None:
    """Refuse a network in which another parameter repeats the last weight.

    Args:
        network: the network.
        weight: the weight of its last layer.
        made_of: names of the parameters from which the weight is made.

    Raises:
        NoLastLayer: if a parameter repeats it.
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
