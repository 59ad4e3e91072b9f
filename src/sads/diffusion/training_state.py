"""The state of a network and its optimiser that decides the next step, as named tensors.

| name              | holds                                                                     |
|-------------------|---------------------------------------------------------------------------|
| `network.NAME`    | parameters and buffers, as in the module's `state_dict`                   |
| `buffer.NAME`     | buffers that the module keeps out of its `state_dict`                     |
| `exp_avg.NAME`    | Adam's first moment; none for a parameter that never had a gradient       |
| `exp_avg_sq.NAME` | its second moment                                                         |
| `step.NAME`       | updates of a parameter, where they are fewer than those of the training   |
"""

from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import save
from torch import Tensor, nn

from ..errors import ArtefactError, NetworkError, brief

MOMENTS = ("exp_avg", "exp_avg_sq")


def check_trainable(network: nn.Module, name: str) -> None:
    """Refuse a network that no training can change.

    Raises:
        NetworkError: if no parameter has a gradient, or Adam cannot handle one of them.
    """
    parameters = list(network.parameters())
    if any(isinstance(p, nn.UninitializedParameter) for p in parameters):
        raise NetworkError(
            f"{name} has lazy parameters, whose shape is known after a first call only: make that "
            "call in its factory"
        )
    tables = (nn.Embedding, nn.EmbeddingBag)
    if any(isinstance(m, tables) and m.sparse for m in network.modules()):
        raise NetworkError(
            f"{name} has an embedding with sparse gradients, which Adam does not take: make it "
            "with sparse=False"
        )
    if not any(p.requires_grad for p in parameters):
        why = "all of its parameters are frozen" if parameters else "it has no parameters"
        raise NetworkError(f"{name} has nothing to train: {why} (requires_grad is what counts)")


def check_storable(network: nn.Module, name: str) -> None:
    """Refuse a network whose state no checkpoint can store, before any work.

    Raises:
        NetworkError: for state other than plain tensors.
    """
    for key, value in (network.state_dict() | _hidden_buffers(network)).items():
        if not isinstance(value, Tensor):
            raise NetworkError(
                f"{name} keeps {key} in its state_dict, a {type(value).__name__}: checkpoints hold "
                "tensors only"
            )
        try:
            if value.layout is not torch.strided:
                raise TypeError(f"its layout is {value.layout}")
            save({key: torch.empty(0, dtype=value.dtype)})
        except (SafetensorError, TypeError, ValueError, KeyError) as error:
            raise NetworkError(
                f"{name} has {key} of {value.dtype}, which checkpoints cannot hold: {brief(error)}"
            ) from error


def state_tensors(
    network: nn.Module, optimiser: torch.optim.Optimizer, step: int
) -> dict[str, Tensor]:
    """Everything of network and optimiser that decides the next step, after `step` updates."""
    tensors: dict[str, Tensor] = {f"network.{n}": v for n, v in network.state_dict().items()}
    tensors |= {f"buffer.{n}": v for n, v in _hidden_buffers(network).items()}
    for name, parameter in network.named_parameters():
        known = optimiser.state.get(parameter)
        if not known:
            continue  # frozen or unused so far
        tensors |= {f"{key}.{name}": known[key] for key in MOMENTS}
        if known["step"] != step:
            tensors[f"step.{name}"] = known["step"]
    return tensors


def restore_optimiser(
    network: nn.Module, optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor], step: int
) -> None:
    """Load Adam's state."""
    for name, parameter in network.named_parameters():
        if f"exp_avg.{name}" in tensors:
            own = tensors.get(f"step.{name}", torch.tensor(float(step)))
            moments = {key: tensors[f"{key}.{name}"].to(parameter.device) for key in MOMENTS}
            optimiser.state[parameter] = {"step": own.clone(), **moments}


def load_parameters(network: nn.Module, tensors: dict[str, Tensor], directory: Path) -> None:
    """Load stored parameters and buffers into a network of the same architecture."""
    own = {n.removeprefix("network."): v for n, v in tensors.items() if n.startswith("network.")}
    hidden = {n.removeprefix("buffer."): v for n, v in tensors.items() if n.startswith("buffer.")}
    try:
        _make_room(network, own | hidden)
        network.load_state_dict(own)
        for name, buffer in _hidden_buffers(network).items():
            if name in hidden:
                buffer.copy_(hidden[name])
    except (RuntimeError, AttributeError) as error:
        raise ArtefactError(f"{directory} holds the parameters of another network") from error


def _hidden_buffers(network: nn.Module) -> dict[str, Tensor]:
    """Buffers that are not in the `state_dict`; a forward pass may still change them."""
    shown = network.state_dict().keys()
    return {n: b for n, b in network.named_buffers(remove_duplicate=False) if n not in shown}


def _make_room(network: nn.Module, values: dict[str, Tensor]) -> None:
    """Give buffers that are made or grow during training the stored shape."""
    for name, value in values.items():
        path, _, leaf = name.rpartition(".")
        buffers = network.get_submodule(path)._buffers
        if leaf not in buffers:
            continue
        present = buffers[leaf]
        if present is None or present.shape != value.shape:
            place = "cpu" if present is None else present.device
            buffers[leaf] = torch.empty_like(value, device=place)
