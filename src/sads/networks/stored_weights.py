"""Load parameters from a safetensors file into a network, for models that were trained elsewhere.

Names may have a prefix from wrappers (`module.`, `_orig_mod.`, `ema.`, `model.unet.`), as long as
it is the same for all. A file that holds the parameters more than once, for example also their
average, is read as `FILE.safetensors:PREFIX`, where the prefix names the ones to use.
"""

from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from ..errors import ArtefactError
from ..storage.files import reason
from .adapters import module_inside

ENDING = ".safetensors:"


def load_weights(network: nn.Module, place: str | Path) -> None:
    """Put the parameters of a file into a network of the same architecture.

    Args:
        network: the network whose parameters are replaced.
        place: the file, or `FILE.safetensors:PREFIX` where it holds them more than once.

    Raises:
        ArtefactError: if the file cannot be read, or its names or shapes do not fit the network.
    """
    path, prefix = _file_and_prefix(place)
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
    named = _named(stored, set(own), path, prefix)
    for name, value in named.items():
        if value.shape != own[name].shape:
            raise ArtefactError(
                f"{path} holds {name} of shape {tuple(value.shape)}, the network has "
                f"{tuple(own[name].shape)}: the architecture or its fields differ"
            )
    inner.load_state_dict(named)


def _file_and_prefix(place: str | Path) -> tuple[Path, str | None]:
    """The file, and the prefix of the names to use, if it is given."""
    file, ending, prefix = str(place).partition(ENDING)
    if not ending or Path(place).is_file():
        return Path(place), None
    return Path(file + ENDING[:-1]), prefix if prefix.endswith(".") or not prefix else f"{prefix}."


def _named(
    stored: dict[str, Tensor], wanted: set[str], path: Path, prefix: str | None
) -> dict[str, Tensor]:
    """The stored tensors by the network's own names."""
    longest = max(wanted, key=len, default="")
    before = {name.removesuffix(longest) for name in stored if name.endswith(longest)}
    dotted = sorted(p for p in before if not p or p.endswith("."))
    whole = [p for p in dotted if all(p + name in stored for name in wanted)]
    if prefix is not None:
        if prefix not in whole:
            known = ", ".join(repr(p) for p in whole) or "nothing that fits"
            raise ArtefactError(
                f"{path} does not hold the parameters of this network under {prefix!r}: they are "
                f"under {known}"
            )
        whole = [prefix]
    if len(whole) > 1:
        listed = " and ".join(repr(p or "plain names") for p in whole[:2])
        raise ArtefactError(
            f"{path} holds the parameters more than once, under {listed}: choose one of them, as "
            f"in {path.name}:{whole[-1].removesuffix('.')}"
        )
    if not whole:
        missing = sorted(wanted - set(stored))
        raise ArtefactError(
            f"{path} does not hold the parameters of this network: {len(missing):,} of "
            f"{len(wanted):,} names are missing, the first is {missing[0]}"
        )
    return {name: stored[whole[0] + name] for name in wanted}
