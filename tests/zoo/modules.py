"""One small network, and the ways in which other people write it."""

import math
import random
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from sads.geometry import Gaussian, Probe
from sads.path import prediction_named

from .truth import (
    CHANNELS,
    FAN,
    KERNEL,
    ONES,
    PIXELS,
    SHORT,
    WIDTH,
    closed_form,
    default,
    positions,
    shifts,
)


def drawn_scale(width: float) -> float:
    """10^u, u uniform between -width and width, from the generator that people have at hand."""
    return 10 ** random.uniform(-width, width)  # noqa: S311


class Plain(nn.Module):
    """The network of the module docstring; subclasses change one thing."""

    def __init__(self):
        super().__init__()
        self.register_buffer("positions", positions())
        self.stem = nn.Conv2d(CHANNELS, WIDTH, 1)
        self.head = nn.Conv2d(WIDTH, CHANNELS, KERNEL, padding=1)

    def features(self, x, t):
        tau = (1 + 0.02 * t.to(x.dtype)).view(-1, 1, 1, 1)
        return tau * self.stem(x + self.positions)

    def after(self, x, t, z):
        return z

    def forward(self, x, t):
        return self.after(x, t, self.head(self.features(x, t)))


def followed_by(after: Callable) -> Callable[[], nn.Module]:
    """A network whose last layer's output goes through a function of (x, t, z)."""

    class Followed(Plain):
        def after(self, x, t, z):
            return after(x, t, z)

    return Followed


class Buffered(Plain):
    """A gain in a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("gain", torch.tensor(2.5))

    def after(self, x, t, z):
        return self.gain * z


class Gain(Plain):
    """A parameter that multiplies the output; `start` makes its value."""

    def __init__(self, start: Callable[[], torch.Tensor]):
        super().__init__()
        self.gain = nn.Parameter(start())

    def after(self, x, t, z):
        return self.gain * z


class RandomGain(Plain):
    """A number of the factory's own that multiplies the output."""

    def __init__(self):
        super().__init__()
        self.gain = drawn_scale(1.0)

    def after(self, x, t, z):
        return self.gain * z


class Normalised(Plain):
    """Weight normalisation: every row of the last weight has norm two."""

    def __init__(self):
        super().__init__()
        self.head = nn.Conv2d(WIDTH, CHANNELS, KERNEL, padding=1, bias=False)

    def forward(self, x, t):
        v = self.head.weight
        w = 2 * v / v.flatten(1).norm(dim=1).view(-1, 1, 1, 1)
        return F.conv2d(self.features(x, t), w, padding=1)


class Equalised(Plain):
    """An equalised learning rate: the weight is multiplied by a number when it is used."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(CHANNELS, WIDTH, KERNEL, KERNEL))
        self.head = None

    def forward(self, x, t):
        return F.conv2d(self.features(x, t), 0.1 * self.weight, padding=1)


def initialised(change: Callable[[Plain], None]) -> Callable[[], nn.Module]:
    """A plain network whose parameters are started otherwise."""

    def make():
        network = Plain()
        with torch.no_grad():
            change(network)
        return network

    return make


def random_scale(network: Plain) -> None:
    """The last layer's standard deviation is drawn for each network."""
    std = drawn_scale(1.0)
    nn.init.normal_(network.head.weight, std=std)
    nn.init.normal_(network.head.bias, std=std)


def shared_scale(network: Plain) -> None:
    """One standard deviation for all layers, drawn for each network."""
    std = drawn_scale(0.5)
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=std)


def log_uniform(power: int, width: float) -> float:
    """E[s^power] for s = 10^u, u uniform between -width and width."""
    rate = power * math.log(10) * width
    return math.sinh(rate) / rate


def truncated(network: Plain) -> None:
    nn.init.trunc_normal_(network.head.weight, std=0.1, a=-0.15, b=0.15)


def orthogonal(network: Plain) -> None:
    nn.init.orthogonal_(network.head.weight)
    nn.init.zeros_(network.head.bias)


class EDMConv(nn.Module):
    """A convolution that adds its bias afterwards and casts its parameters to its input."""

    def __init__(self, width_in, width_out, size, how, bias_scale):
        super().__init__()
        fan_in, fan_out = width_in * size**2, width_out * size**2
        self.weight = nn.Parameter(self.start(how, (width_out, width_in, size, size), fan_in))
        self.bias = nn.Parameter(self.start(how, (width_out,), fan_in) * bias_scale)
        self.padding = size // 2
        self.fan_out = fan_out

    @staticmethod
    def start(how, shape, fan):
        if how == "normal":
            return np.sqrt(1 / fan) * torch.randn(*shape)
        return np.sqrt(3 / fan) * (torch.rand(*shape) * 2 - 1)

    def forward(self, x):
        w, b = self.weight.to(x.dtype), self.bias.to(x.dtype)
        return F.conv2d(x, w, padding=self.padding).add_(b.reshape(1, -1, 1, 1))


class EDM(Plain):
    """EDM's preconditioning around its convolutions; takes sigma, may take labels."""

    def __init__(self, how="normal", bias_scale=1.0, sigma_data=0.5):
        super().__init__()
        self.stem = nn.Conv2d(CHANNELS, WIDTH, 1)
        self.head = EDMConv(WIDTH, CHANNELS, KERNEL, how, bias_scale)
        self.sigma_data = sigma_data

    def forward(self, x, sigma):
        sigma = sigma.to(x.dtype).reshape(-1, 1, 1, 1)
        total = sigma**2 + self.sigma_data**2
        skip, out = self.sigma_data**2 / total, sigma * self.sigma_data / total.sqrt()
        return skip * x + out * self.head(self.stem(x / total.sqrt() + self.positions))


class LabelledEDM(EDM):
    """With labels, a uniform start and biases that start at zero."""

    def __init__(self):
        super().__init__("uniform", 0.0)
        self.label_emb = nn.Embedding(4, CHANNELS)

    def forward(self, x, sigma, class_labels=None):
        shift = self.label_emb(class_labels)[:, :, None, None]
        sigma = sigma.to(x.dtype).reshape(-1, 1, 1, 1)
        total = sigma**2 + self.sigma_data**2
        skip, out = self.sigma_data**2 / total, sigma * self.sigma_data / total.sqrt()
        return skip * x + out * self.head(self.stem(x / total.sqrt() + shift))


def edm_truth(*, probe: Probe | None = None, labelled: bool = False) -> np.ndarray:
    """The module returns x_0 from x / sqrt(abar): its skip and scale in terms of x_t."""
    sigma = np.sqrt((1 - SHORT.abar) / SHORT.abar)
    total = sigma**2 + 0.25
    common = {
        "probe": probe or Gaussian(1.0),
        "prediction": "x0",
        "skip": 0.25 / total / np.sqrt(SHORT.abar),
        "scale": sigma * 0.5 / np.sqrt(total),
        "input_scale": 1 / np.sqrt(SHORT.abar * total),
        "tau": ONES,
        "weight": 1 / FAN,
        "bias": 0.0 if labelled else 1 / FAN,
    }
    if not labelled:
        return closed_form(**common)
    # The label shifts a whole channel by a normal number: every pair of positions alike.
    spread = default(CHANNELS) * CHANNELS
    return closed_form(**common, beside=np.zeros((CHANNELS, PIXELS)), stem_bias=spread + 1 / 6)


class Labelled(Plain):
    """Class-conditional with a null label in the last row, and a constant factor."""

    def __init__(self):
        super().__init__()
        self.y_embedder = nn.Embedding(6, CHANNELS)

    def forward(self, x, t, y):
        shift = self.y_embedder(y)[:, :, None, None]
        tau = (1 + 0.02 * t.to(x.dtype)).view(-1, 1, 1, 1)
        return 4.0 * self.head(tau * self.stem(x + shift))


class Patches(nn.Module):
    """A linear layer over patches of two by two, multiplied by three."""

    def __init__(self):
        super().__init__()
        self.register_buffer("tokens", torch.linspace(-1, 1, 4 * 5).view(4, 5).cos())
        self.inner = nn.Linear(5, WIDTH, bias=False)
        self.outer = nn.Linear(WIDTH, 4)

    def forward(self, x, t):
        z = 3 * self.outer(self.inner(self.tokens)).expand(len(x), 4, 4)
        z = z.view(-1, 2, 2, 2, 2).permute(0, 1, 3, 2, 4)
        return x + z.reshape(-1, 1, 4, 4)


def patches_truth() -> np.ndarray:
    """For x0-prediction with a Gaussian input of standard deviation one half."""
    tokens = torch.linspace(-1, 1, 4 * 5, dtype=torch.float64).view(4, 5).cos().numpy()
    factor = 9 * default(WIDTH) * (WIDTH * default(5) * tokens @ tokens.T + 1)
    places = np.arange(16).reshape(2, 2, 2, 2).transpose(0, 2, 1, 3).reshape(4, 4)
    own = np.zeros((16, 16))
    for entry in range(4):
        own[np.ix_(places[:, entry], places[:, entry])] = factor
    slopes, scales = prediction_named("x0").conversion(SHORT)
    weights = SHORT.score_weights / SHORT.steps
    constant = weights @ (slopes + scales) ** 2 * 0.25
    return (weights @ scales**2) * own + constant * np.eye(16)


class Flat(nn.Module):
    """A perceptron on flat vectors whose last layer has a random scale."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, WIDTH)
        self.outer = nn.Linear(WIDTH, 6)
        nn.init.normal_(self.outer.weight, std=drawn_scale(1.0))

    def forward(self, x, t):
        return 0.5 * self.outer(self.inner(x))


def flat_truth() -> np.ndarray:
    inner = WIDTH * (6 * default(6) + default(6))
    value = 0.25 * (log_uniform(2, 1.0) * inner + default(WIDTH))
    return SHORT.score_weights.mean() * value * np.eye(6)


class ZeroGain(Plain):
    """A zero gain in front of the last layer: only its bias is left."""

    def __init__(self):
        super().__init__()
        self.gamma = nn.Parameter(torch.zeros(WIDTH, 1, 1))

    def features(self, x, t):
        return self.gamma * super().features(x, t)


class Recomputed(torch.autograd.Function):
    """Keeps no activations: its backward pass runs the block again and differentiates that."""

    @staticmethod
    def forward(ctx, run, count, *tensors):
        ctx.run, ctx.inputs, ctx.parameters = run, tensors[:count], tensors[count:]
        with torch.no_grad():
            return run(*ctx.inputs)

    @staticmethod
    def backward(ctx, *gradients):
        inputs = [one.detach().requires_grad_() for one in ctx.inputs]
        with torch.enable_grad():
            output = ctx.run(*(one.view_as(one) for one in inputs))
        wanted = (*inputs, *ctx.parameters)
        every = torch.autograd.grad(output, wanted, gradients, allow_unused=True)
        return None, None, *every


class Checkpointed(Plain):
    """A block with a checkpoint function of its own and a zero branch; the output is zero too."""

    def __init__(self):
        super().__init__()
        self.branch = nn.Conv2d(WIDTH, WIDTH, 1)
        for layer in (self.branch, self.head):
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def block(self, x):
        h = self.stem(x)
        return h + self.branch(h)

    def features(self, x, t):
        inside = (*self.stem.parameters(), *self.branch.parameters())
        h = Recomputed.apply(self.block, 1, x + self.positions, *inside)
        return (1 + 0.02 * t.to(x.dtype)).view(-1, 1, 1, 1) * h


class SharedBias(Plain):
    """The last layer's bias is that of another layer too."""

    def forward(self, x, t):
        shift = self.head.bias.view(1, -1, 1, 1)
        tau = (1 + 0.02 * t.to(x.dtype)).view(-1, 1, 1, 1)
        return self.head(tau * self.stem(x + self.positions + shift))


def shared_bias_truth() -> np.ndarray:
    """The bias is one more input of the stem, of variance 1 / (3 FAN) for each channel."""
    v = default(CHANNELS)
    return closed_form(stem_bias=v + v * CHANNELS * default(FAN))


def smooth(x, t, z):
    return F.avg_pool2d(z, 3, stride=1, padding=1)


def smooth_truth() -> np.ndarray:
    mean = np.kron(np.eye(CHANNELS), sum(shifts()) / KERNEL**2)
    return mean @ closed_form() @ mean.T


def times_t(x, t, z):
    return 4 * z * (1 + 0.05 * t.to(z.dtype)).view(-1, 1, 1, 1)


def constant_bias(network: Plain) -> None:
    nn.init.constant_(network.head.bias, 0.3)


def constant_bias_truth() -> np.ndarray:
    return closed_form(bias=0.0) + SHORT.score_weights.mean() * 0.09


def zero_weight(network: Plain) -> None:
    nn.init.zeros_(network.head.weight)
