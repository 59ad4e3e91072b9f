"""Drawing the parameters of foreign networks in stacks, where that is right and pays.

It is right if every parameter's initial distribution is known (`networks.provenance`) and the
built networks follow it, and if nothing else differs between networks: then a template with the
parameters of a built network is that network. Both are checked on built networks. It pays for
small networks; for large ones one pass costs more than making the module.
"""

import warnings

import numpy as np
import torch
from torch import Tensor, nn

from ..networks.casting import cast
from ..networks.initialisation import Distribution
from ..networks.last_layer import LastLayer, last_parameters
from .ensemble import BuiltEnsemble, DrawnEnsemble
from .members import Members, follow
from .probes import Probe

LARGEST = 16 * 2**20  # bytes of parameters of one network
AGREE = 1e-3  # relative; normalisations amplify rounding


def drawn_ensemble(
    members: Members,
    built: BuiltEnsemble,
    layer: LastLayer | None,
    probe: Probe,
    rng: np.random.Generator,
) -> DrawnEnsemble | None:
    """An ensemble that draws parameters; None where networks must be built."""
    if members.size > LARGEST:
        return None
    family, first = members.family, members.networks[0]
    t = rng.integers(family.schedule.steps, size=2)
    x = probe.draw(t, family.shape, family.schedule, rng)
    noise = torch.from_numpy(rng.standard_normal((2, *family.shape), dtype=np.float32))
    last: set[str] = set()
    if layer is not None:
        last = last_parameters(first, layer.name, noise[:1], torch.from_numpy(t[:1]), layer.index)
    known: dict[str, Distribution] = {}
    for name, distribution in members.known.items():
        if name in last:
            continue
        if distribution is None:
            return None
        known[name] = distribution
    if not known or not follow(members.networks, known):
        return None
    ensemble = DrawnEnsemble(built.reader(first), known, built.device)
    same = all(_agrees(members, ensemble, built, own, t) for own in (x, noise))
    return ensemble if same else None


def _agrees(
    members: Members, ensemble: DrawnEnsemble, built: BuiltEnsemble, x: Tensor, t: np.ndarray
) -> bool:
    """Whether the template with their parameters does what two built networks do."""
    pair = members.networks[:2]
    stacked = {name: torch.stack([_named(n, name) for n in pair]) for name in ensemble.drawn}
    try:
        with warnings.catch_warnings(), torch.inference_mode():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", UserWarning)  # torch tells of a slow way round
            found = ensemble.read(stacked, x, t, torch.float64)
            for i, network in enumerate(pair):
                own = built.reader(cast(network, torch.float64))(
                    x[i : i + 1].double(), torch.from_numpy(t[i : i + 1])
                )
                for ours, theirs in zip(found, own, strict=False):
                    if ours is not None and not _close(ours[i], theirs[0]):
                        return False
    except Exception:  # the reason does not matter: building is always right
        return False
    finally:
        for network in pair:
            cast(network, torch.float32)
    return True


def _named(network: nn.Module, name: str) -> Tensor:
    return network.get_parameter(name.removeprefix("network.")).detach()


def _close(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, rtol=0, atol=AGREE * max(float(b.abs().max()), 1e-30))
