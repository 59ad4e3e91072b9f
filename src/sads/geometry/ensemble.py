"""Many initialisations of one architecture, evaluated at once.

`DrawnEnsemble` draws stacks of parameters from the network's declared distributions and evaluates
all of them in one vectorised pass. `BuiltEnsemble` calls a factory for each network, which works
for any module. Both leave the global random state alone.
"""

import copy
import threading

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.func import functional_call, vmap

from ..errors import NetworkError, brief
from ..networks import ScoreFamily, ScoreNetwork
from ..networks.family import seeded
from ..networks.initialisation import Constant

PARAMETER_BYTES = 64 * 2**20  # of one chunk of stacked parameters
LARGEST_CHUNK = 64


class _View(nn.Module):
    """One method of a network as a module, so that `functional_call` can reach it."""

    def __init__(self, network: nn.Module, method: str):
        super().__init__()
        self.network = network
        self.method = method

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return getattr(self.network, self.method)(x, t)


class DrawnEnsemble:
    """Stacked parameters under `vmap`.

    Args:
        network: one member, as a template.
        method: `features` to stop before the last layer, `forward` for outputs.
        device: where to evaluate.
    """

    def __init__(self, network: ScoreNetwork, method: str, device: torch.device):
        self.template = _View(network.eval().requires_grad_(False), method).to(device)
        self.device = device
        used = {
            f"network.{name}": distribution
            for name, distribution in network.distributions().items()
            if method == "forward" or not name.startswith("head.")
        }
        shapes = {name: tuple(p.shape) for name, p in self.template.named_parameters()}
        # Constant parameters are shared by all members: nothing to draw, less to read.
        self.constants = {n: d for n, d in used.items() if isinstance(d, Constant)}
        self.drawn = {n: d for n, d in used.items() if n not in self.constants}
        self.shapes = {name: shapes[name] for name in used}
        size = 4 * sum(int(np.prod(self.shapes[n])) for n in self.drawn)
        fit = max(1, min(LARGEST_CHUNK, PARAMETER_BYTES // max(1, size)))
        self.chunk = 1 << (fit.bit_length() - 1)
        self._local = threading.local()

    def _member(self, dtype: torch.dtype) -> tuple[nn.Module, dict[str, Tensor]]:
        """A template of this thread's own: `functional_call` swaps parameters in place."""
        if not hasattr(self._local, "members"):
            self._local.members = {}
        cache = self._local.members
        if dtype not in cache:
            module = copy.deepcopy(self.template).to(dtype)
            constants = {
                n: torch.full(self.shapes[n], d.value, dtype=dtype, device=self.device)
                for n, d in self.constants.items()
            }
            cache[dtype] = (module, constants)
        return cache[dtype]

    def draw(self, count: int, rng: np.random.Generator) -> dict[str, Tensor]:
        """Parameters of `count` networks, stacked along the first axis, in float32."""
        return {name: d.draw((count, *self.shapes[name]), rng) for name, d in self.drawn.items()}

    @torch.inference_mode()
    def evaluate(
        self,
        x: Float[Tensor, "N ..."],
        t: Int[np.ndarray, " N"],
        rng: np.random.Generator,
        dtype: torch.dtype,
    ) -> Float[Tensor, "N ..."]:
        """Outputs, or features, of N fresh networks at (x_i, t_i)."""
        module, constants = self._member(dtype)

        def one(own: dict[str, Tensor], x_one: Tensor, t_one: Tensor) -> Tensor:
            return functional_call(module, own | constants, (x_one[None], t_one[None]))[0]

        stacked = {n: p.to(self.device, dtype) for n, p in self.draw(len(t), rng).items()}
        return vmap(one)(
            stacked, x.to(self.device, dtype), torch.from_numpy(t).to(self.device, dtype)
        )


class BuiltEnsemble:
    """Fresh modules from the family's factory, one at a time."""

    chunk = 16

    def __init__(self, family: ScoreFamily, device: torch.device):
        self.family = family
        self.device = device

    def build(self, seed: int) -> nn.Module:
        """One member; the global random state is as before afterwards."""
        module = seeded(self.family.factory, seed)
        return module.eval().requires_grad_(False).to(self.device)

    @torch.inference_mode()
    def evaluate(
        self,
        x: Float[Tensor, "N ..."],
        t: Int[np.ndarray, " N"],
        rng: np.random.Generator,
        dtype: torch.dtype,
    ) -> Float[Tensor, "N ..."]:
        """Outputs of N fresh networks at (x_i, t_i)."""
        outputs = []
        for i, seed in enumerate(rng.integers(2**62, size=len(t))):
            module = self.build(int(seed)).to(dtype)
            step = torch.tensor([int(t[i])], device=self.device)
            try:
                outputs.append(module(x[i : i + 1].to(self.device, dtype), step))
            except Exception as error:
                raise NetworkError(
                    f"{self.family.name} failed at timestep {int(t[i])}: {brief(error)}"
                ) from error
        return torch.cat(outputs)


Ensemble = DrawnEnsemble | BuiltEnsemble
