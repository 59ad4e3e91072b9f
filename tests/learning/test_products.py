"""J v against the whole Jacobian, by every way."""

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev

from sads.errors import NetworkError
from sads.inspection.jacobian_products import (
    WAYS,
    Way,
    choose_way,
    gradient,
    moving_parameters,
    product,
)


class _Net(nn.Module):
    def __init__(self, act: nn.Module | None = None):
        super().__init__()
        self.inner, self.outer = nn.Linear(4, 6), nn.Linear(6, 3)
        self.unused = nn.Parameter(torch.ones(2))
        self.act = act or nn.SiLU()

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return self.outer(self.act(self.inner(x) * (1 + t[:, None])))


class _Cube(torch.autograd.Function):
    """Without a forward derivative; its backward pass can be differentiated."""

    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, pull: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return pull * 3 * x**2


class _Opaque(_Cube):
    """Whose backward pass cannot be differentiated either."""

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, pull: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return pull * 3 * x**2


class _Apply(nn.Module):
    def __init__(self, function: type[torch.autograd.Function]):
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function.apply(x)


def _setting(act: nn.Module | None = None):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = _Net(act).double()
        x, t = torch.randn(5, 4).double(), torch.rand(5).double()
        along = {n: torch.randn_like(p) for n, p in network.named_parameters()}
    return network, moving_parameters(network), along, x, t


def _jacobian_product(network: nn.Module, parameters, along, x: Tensor, t: Tensor) -> Tensor:
    whole = jacrev(lambda p: functional_call(network, p, (x, t)))(parameters)
    return sum(
        (whole[n].flatten(2) @ along[n].flatten() for n in parameters), start=torch.zeros(())
    )


@pytest.mark.parametrize("way", WAYS)
def test_products_are_those_of_the_jacobian(way: Way) -> None:
    network, parameters, along, x, t = _setting()
    truth = _jacobian_product(network, parameters, along, x, t)
    own = product(network, parameters, along, x, t, way)
    assert torch.allclose(own, truth, rtol=1e-6, atol=1e-6 if way != WAYS[2] else 1e-5)


def test_gradients_are_the_transposed_products() -> None:
    network, parameters, along, x, t = _setting()
    pull = torch.linspace(-1, 1, 15).view(5, 3).double()
    pulled = gradient(network, parameters, x, t, lambda output: pull)
    inner = sum(float((pulled[n] * along[n]).sum()) for n in parameters)
    forward = product(network, parameters, along, x, t, "forward")
    assert inner == pytest.approx(float((pull * forward).sum()), rel=1e-9)
    assert not pulled["unused"].any()


@pytest.mark.parametrize(
    ("function", "way"), [(_Cube, "double backward"), (_Opaque, "central difference")]
)
def test_operations_without_derivatives_have_a_way_round(
    function: type[torch.autograd.Function], way: Way
) -> None:
    network, parameters, along, x, t = _setting(_Apply(function))
    assert choose_way(network, x, t) == way
    plain = _Net()
    plain.load_state_dict(network.state_dict())
    plain = plain.double()
    plain.act = _Power()
    truth = _jacobian_product(plain, parameters, along, x, t)
    own = product(network, parameters, along, x, t, way)
    assert torch.allclose(own, truth, rtol=1e-5, atol=1e-5 * float(truth.abs().max()))


class _Power(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x**3


def test_ordinary_networks_go_forward() -> None:
    network, _, _, x, t = _setting()
    assert choose_way(network, x, t) == "forward"


def test_a_step_along_nothing_changes_nothing() -> None:
    network, parameters, along, x, t = _setting()
    nothing = {n: torch.zeros_like(v) for n, v in along.items()}
    for way in WAYS:
        assert not product(network, parameters, nothing, x, t, way).any()


def test_frozen_networks_are_refused() -> None:
    network, _, _, _, _ = _setting()
    with pytest.raises(NetworkError, match="no parameters that need gradients"):
        moving_parameters(network.requires_grad_(False))


def test_what_has_no_derivative_at_all_is_refused() -> None:
    class _Broken(_Net):
        def forward(self, x: Tensor, t: Tensor) -> Tensor:
            raise ValueError("not today")

    _, _, _, x, t = _setting()
    with pytest.raises(NetworkError, match="cannot be differentiated by its parameters: not today"):
        choose_way(_Broken(), x, t)


class _Wrong(_Cube):
    """Whose backward pass is that of another function."""

    @staticmethod
    def backward(ctx, pull: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return pull * x


class _Rounded(_Cube):
    """Constant but for jumps, with a gradient that passes straight through."""

    @staticmethod
    def forward(ctx, x: Tensor) -> Tensor:
        return torch.round(3 * x) / 3

    @staticmethod
    def backward(ctx, pull: Tensor) -> Tensor:
        return pull


def test_a_backward_pass_that_is_wrong_is_not_believed() -> None:
    network, _, _, x, t = _setting(_Apply(_Wrong))
    assert choose_way(network, x, t) == "central difference"


def test_jumps_are_refused_since_no_two_ways_agree() -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = _Jumps()
        many, when = torch.randn(500, 4), torch.rand(500)
    with pytest.raises(NetworkError, match="no two ways to do it agree"):
        choose_way(network, many, when)


class _Jumps(_Net):
    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return _Rounded.apply(super().forward(x, t))
