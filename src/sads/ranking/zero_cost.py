"""The zero-cost scores of architecture search, which need no training.

*Parameters*: their number.

*SynFlow* (Tanaka et al. 2020), with every parameter replaced by its absolute value and the input by
ones:

    R = sum of the outputs,      synflow = sum_p theta_p dR / d theta_p

It multiplies along all paths, so it is computed in float64 and reported as a logarithm. It is meant
for networks of positive maps; here normalisations pass their input on unchanged, as is usual in
architecture search, and t = 0, whose sinusoidal features are non-negative like the ones. A
parameter that starts at zero contributes nothing (a DiT's modulations, and the blocks behind them).

*Jacobian covariance* (Mellor et al. 2020). The rows J_n = d (sum of the outputs) / d x_n at N
inputs have a correlation matrix with eigenvalues s_i, and the score is

    - sum_i [log(s_i + k) + 1 / (s_i + k)],      k = 1e-5,

which is large where the network responds differently to different inputs. A classifier's logits are
summed there; the D outputs of a score network are summed here. The inputs are those of training:
samples with noise added, t uniform.

All three are larger for networks that are expected to do better. SynFlow and Jacobians are means
over a few initialisations, with the standard error of that mean.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from ..errors import NetworkError, brief
from ..geometry import Forward
from ..networks import ScoreFamily
from ..networks.family import unseeded_member
from ..networks.isolation import seeded
from ..randomness import stream
from ..statistics.means import mean_and_error

INITIALISATIONS = 4
INPUTS = 32  # of the Jacobians
FLOOR = 1e-5  # k
_NORMS = (nn.GroupNorm, nn.LayerNorm, nn.RMSNorm, _NormBase)


@dataclass(frozen=True)
class ZeroCost:
    """Zero-cost scores of a family; None where one is not defined.

    Attributes:
        parameters: number of parameters.
        synflow: natural logarithm of SynFlow, mean over initialisations.
        synflow_error: its standard error.
        jacobian: Jacobian covariance, mean over initialisations.
        jacobian_error: its standard error.
    """

    parameters: int
    synflow: float | None
    synflow_error: float | None
    jacobian: float | None
    jacobian_error: float | None


def zero_cost_scores(
    family: ScoreFamily, samples: Float[np.ndarray, "M ..."], *, seed: int = 0
) -> ZeroCost:
    """The zero-cost scores of untrained networks.

    Args:
        family: the networks.
        samples: data for the Jacobians, shape (M, *family.shape).
        seed: the seed of initialisations and inputs.
    """
    rng = stream(seed, "zero-cost scores")
    logs, covariances, parameters = [], [], 0
    for _ in range(INITIALISATIONS):
        own = int(rng.integers(2**62))
        # A separate stream, so that stored scores stay the same.
        member = seeded(lambda: unseeded_member(family), own, "a network of zero-cost scores")
        member = member.eval().double()
        for parameter in member.parameters():
            parameter.requires_grad_(parameter.is_floating_point() or parameter.is_complex())
        parameters = sum(p.numel() for p in member.parameters())
        x, t = _training_inputs(family, samples, rng)
        try:
            # Jacobians first: SynFlow changes the parameters.
            covariances.append(jacobian_covariance(input_jacobians(member, x, t)))
            logs.append(_logarithm(synflow(member, family.shape)))
        except (RuntimeError, TypeError) as error:
            raise NetworkError(
                f"{family.name} cannot be differentiated in float64, which its zero-cost scores "
                f"need: {brief(error)}"
            ) from error
    return ZeroCost(parameters, *_mean(logs), *_mean(covariances))


def synflow(member: nn.Module, shape: tuple[int, ...]) -> float:
    """SynFlow of one network; its parameters stay non-negative afterwards."""
    with torch.no_grad():
        for parameter in member.parameters():
            parameter.copy_(parameter.abs())  # not in place: complex numbers have real moduli
    hooks = [m.register_forward_hook(_pass_on) for m in member.modules() if isinstance(m, _NORMS)]
    parameters = [p for p in member.parameters() if p.requires_grad]
    ones = torch.ones(1, *shape, dtype=torch.float64)
    total = member(ones, torch.zeros(1, dtype=torch.int64)).sum()
    slopes = torch.autograd.grad(total, parameters, allow_unused=True)
    for hook in hooks:
        hook.remove()
    pairs = zip(parameters, slopes, strict=True)
    return sum(float((p.detach() * slope).sum().real) for p, slope in pairs if slope is not None)


def _pass_on(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
    """A forward hook that makes a module the identity."""
    return inputs[0]


def input_jacobians(
    member: Callable[[Tensor, Tensor], Tensor],
    x: Float[Tensor, "N ..."],
    t: Tensor,
) -> Float[np.ndarray, "N D"]:
    """The rows J_n = d (sum of the outputs) / d x_n; in eval mode samples do not mix."""
    x = x.clone().requires_grad_(True)
    (slopes,) = torch.autograd.grad(member(x, t).sum(), x)
    return slopes.flatten(1).numpy()


def jacobian_covariance(jacobians: Float[np.ndarray, "N D"]) -> float | None:
    """The score of a set of Jacobians; None where one is constant and so has no correlations."""
    centred = jacobians - jacobians.mean(axis=1, keepdims=True)
    norms = np.linalg.norm(centred, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not norms.all():
        return None
    rows = centred / norms
    values = np.linalg.eigvalsh(rows @ rows.T) + FLOOR
    return -float(np.sum(np.log(values) + 1 / values))


def _training_inputs(
    family: ScoreFamily, samples: np.ndarray, rng: np.random.Generator
) -> tuple[Float[Tensor, "N ..."], Tensor]:
    """Noised samples and their timesteps, t uniform."""
    t = rng.integers(family.schedule.steps, size=INPUTS)
    x = Forward(samples).draw(t, family.shape, family.schedule, rng)
    return x.double(), torch.from_numpy(t)


def _logarithm(value: float) -> float | None:
    return math.log(value) if 0 < value < math.inf else None


def _mean(values: list[float | None]) -> tuple[float | None, float | None]:
    """Mean and standard error; None if one of the values is None."""
    known = [v for v in values if v is not None]
    if len(known) < len(values):
        return None, None
    return mean_and_error(known)
