"""Drawing the parameters of foreign networks in stacks, where that is right and faster.

It is right if every parameter's initial distribution is known (`initial_distributions`) and the
built networks follow it, and if nothing else differs between networks, so that a template with the
parameters of a built network is that network. Both are checked on built networks. It is faster for
small networks; for large ones a pass costs more than making the module.
"""

import warnings

import numpy as np
import torch
from torch import Tensor

from ..inspection.members import Members, follow
from ..inspection.reader_modules import Readings
from ..inspection.reading import Reading
from ..networks.casting import cast
from ..networks.initialisation import Distribution
from ..probes import Gaussian, Probe
from .ensemble import BuiltEnsemble, DrawnEnsemble

AGREE = 1e-3  # relative; normalisations amplify rounding


def drawn_ensemble(
    members: Members,
    built: BuiltEnsemble,
    reading: Reading,
    probe: Probe,
    rng: np.random.Generator,
) -> DrawnEnsemble | None:
    """An ensemble that draws parameters; None if networks must be built."""
    if not members.small:
        return None
    integrated = reading.integrated
    if integrated is None:
        return None
    known: dict[str, Distribution] = {}
    for name, distribution in members.known.items():
        if name in integrated:
            continue
        if distribution is None:
            return None
        known[name] = distribution
    if not known or not follow(members.networks, known):
        return None
    family, count = members.family, len(members.networks)
    t = rng.integers(family.schedule.steps, size=count)
    x = probe.draw(t, family.shape, family.schedule, rng)
    noise = torch.from_numpy(rng.standard_normal((count, *family.shape), dtype=np.float32))
    ensemble = DrawnEnsemble(built.reader(members.networks[0]), known, built.device)
    # At special inputs such as x = 0 networks may agree by chance.
    inputs = (x,) if isinstance(probe, Gaussian) else (x, noise)
    same = all(_agrees(members, ensemble, built, reading, own, t, rng) for own in inputs)
    return ensemble if same else None


def _agrees(
    members: Members,
    ensemble: DrawnEnsemble,
    built: BuiltEnsemble,
    reading: Reading,
    x: Tensor,
    t: np.ndarray,
    rng: np.random.Generator,
) -> bool:
    """Whether the template with their parameters does what the built networks do."""
    networks = members.networks
    readers = [built.reader(network) for network in networks]
    for reader in readers:
        reader.renew(rng)
    stacked = {
        name: torch.stack([reader.get_parameter(name).detach() for reader in readers])
        for name in ensemble.drawn
    }
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", UserWarning)  # torch warns about a slow detour
            ours = reading.used(ensemble.read(stacked, x, t, torch.float64))
            for i, reader in enumerate(readers):
                alone = cast(reader, torch.float64)(
                    x[i : i + 1].double(), torch.from_numpy(t[i : i + 1])
                )
                theirs = reading.used(Readings(*alone))
                if not all(_close(a[i], b[0]) for a, b in zip(ours, theirs, strict=True)):
                    return False
    except Exception:  # for any reason: building is always right
        return False
    finally:
        for network in networks:
            cast(network, torch.float32)
    return True


def _close(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, rtol=0, atol=AGREE * max(float(b.abs().max()), 1e-30))
