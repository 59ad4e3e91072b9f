"""Parameters from a safetensors file into a network, for models that were trained elsewhere.

Names may carry what wrappers put before them (`module.`, `_orig_mod.`, `model.`, `ema.`). A file
that holds both the plain weights and their average is refused: it does not say which is meant.
"""

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from ..errors import ArtefactError
from ..storage.files import reason
from .adapters import module_inside

WRAPPERS = ("module.", "_orig_mod.", "model.", "network.", "ema.", "ema_model.", "unet.")


def load_weights(network: nn.Module, path: Path) -> None:
    """Put the parameters of a file into a network of the same architecture.

    Raises:
        ArtefactError: if the file cannot be read, or its names or shapes are another network's.
    """
    if not path.is_file():
        raise ArtefactError(f"no such file: {path}")
    try:
        stored = load_file(path)
    except (OSError, SafetensorError, ValueError) as error:
        raise ArtefactError(
            f"{path} is truncated or not a safetensors file ({reason(error)}); convert a pickled "
            "checkpoint with safetensors.torch.save_file(model.state_dict(), 'weights.safetensors')"
        ) from error
    inner = module_inside(network)
    own = inner.state_dict()
    named = _named(stored, set(own), path)
    for name, value in named.items():
        if value.shape != own[name].shape:
            raise ArtefactError(
                f"{path} holds {name} of shape {tuple(value.shape)}, the network has "
                f"{tuple(own[name].shape)}: it is another architecture or other fields of it"
            )
    inner.load_state_dict(named)


def _named(stored: dict[str, Tensor], wanted: set[str], path: Path) -> dict[str, Tensor]:
    """The stored tensors by the network's own names."""
    prefixes = [""]
    for _ in range(2):  # two wrappers at most
        prefixes += [wrapper + prefix for prefix in prefixes for wrapper in WRAPPERS]
    whole = [p for p in dict.fromkeys(prefixes) if all(p + name in stored for name in wanted)]
    if len(whole) > 1:
        listed = " and ".join(repr(p or "plain names") for p in whole[:2])
        raise ArtefactError(
            f"{path} holds the parameters twice, under {listed}: store the ones to examine alone"
        )
    if not whole:
        missing = sorted(wanted - set(stored))
        raise ArtefactError(
            f"{path} does not hold the parameters of this network: {len(missing):,} of "
            f"{len(wanted):,} names are missing, the first is {missing[0]}"
        )
    return {name: stored[whole[0] + name] for name in wanted}
