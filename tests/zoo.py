"""Patterns in which other people write score networks, each with the geometry it has.

Every pattern is a variant of one small network whose geometry is known in closed form. Its stem is
linear in random weights, so that with tau_t = 1 + 0.02 t and positions P

    h = tau_t (V (k_t x + P) + d),      E[sum_k h_k h_k^T] = width tau_t^2 (v_w M_t + v_d 1 1^T),

M_t the second moment of k_t x + P summed over channels, and its last layer makes of it

    eps = c_t x + s_t (W * h + b),      G = E_t[w_t (s_t^2 E[z z^T] + c_t^2 E[x x^T])].

Expectations over t are sums over the schedule. What is not linear is brute force (`sampled_truth`).
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import torch
import torch.nn.functional as F
from scipy.stats import truncnorm
from torch import nn

from sads.geometry import Gaussian, Point, Probe, Zero
from sads.networks import ScoreFamily
from sads.networks.adapters.calls import conversion
from sads.schedule import Schedule

SHAPE, WIDTH, KERNEL = (2, 4, 4), 8, 3
CHANNELS, PIXELS = SHAPE[0], SHAPE[1] * SHAPE[2]
FAN = WIDTH * KERNEL**2
SHORT = Schedule("linear", 50)
STEPS = np.arange(SHORT.steps)
TAU = 1 + 0.02 * STEPS
POINT = np.random.default_rng(11).standard_normal(SHAPE)
ONES = np.ones(SHORT.steps)


@dataclass(frozen=True)
class Pattern:
    """One way to write a network.

    Attributes:
        name: what is special about it.
        factory: makes a network.
        truth: G, of shape (D, D).
        shape: of one sample.
        prediction: what it predicts.
        probe: where it is looked at.
        exact: whether its last layer can be integrated, exactly or by random last layers.
        zero_output: the policy under which it has this geometry.
    """

    name: str
    factory: Callable[[], nn.Module]
    truth: Callable[[], np.ndarray] = field(repr=False)
    shape: tuple[int, ...] = SHAPE
    prediction: str | None = None
    schedule: Schedule = SHORT
    probe: Probe = field(default_factory=Zero)
    exact: bool = True
    zero_output: str = "explain"

    @property
    def family(self) -> ScoreFamily:
        return ScoreFamily(
            self.factory, self.shape, self.schedule, self.name, prediction=self.prediction
        )


# ---------------------------------------------------------------- closed forms


def positions() -> torch.Tensor:
    return torch.linspace(-1, 1.5, CHANNELS * PIXELS).view(SHAPE).sin()


def default(fan: int) -> float:
    """The variance of torch's default initialisation."""
    return 1 / (3 * fan)


def second_moments(probe: Probe) -> tuple[np.ndarray, np.ndarray]:
    """E[x x^T] over entries, and over positions summed over channels."""
    size = CHANNELS * PIXELS
    if isinstance(probe, Gaussian):
        return probe.std**2 * np.eye(size), CHANNELS * probe.std**2 * np.eye(PIXELS)
    x = probe.x if isinstance(probe, Point) else np.zeros(SHAPE)
    flat = x.reshape(CHANNELS, PIXELS)
    return np.outer(flat, flat), flat.T @ flat


def inputs_moment(probe: Probe, scale: float, beside: np.ndarray) -> np.ndarray:
    """Of scale x + beside, over positions, summed over channels."""
    if isinstance(probe, Point):
        return (total := scale * probe.x.reshape(CHANNELS, -1) + beside).T @ total
    return beside.T @ beside + scale**2 * second_moments(probe)[1]


@cache
def shifts() -> np.ndarray:
    """For each offset of the kernel the matrix that shifts an image, zero beyond its border."""
    basis = torch.eye(PIXELS, dtype=torch.float64).view(PIXELS, 1, *SHAPE[1:])
    return F.unfold(basis, KERNEL, padding=KERNEL // 2).numpy().transpose(1, 2, 0)


def closed_form(
    *,
    probe: Probe | None = None,
    prediction: str = "eps",
    weight: float = default(FAN),
    bias: float = default(FAN),
    stem: float = default(CHANNELS),
    stem_bias: float = default(CHANNELS),
    scale: np.ndarray | float = 1.0,
    skip: np.ndarray | float = 0.0,
    tau: np.ndarray = TAU,
    input_scale: np.ndarray = ONES,
    channel_gains: tuple[float, ...] = (1.0, 1.0),
    beside: np.ndarray | None = None,
) -> np.ndarray:
    """G with a convolution at the end; `scale` and `skip` are those of the module itself.

    Args:
        weight: E of the variance of W, times what it is correlated with.
        bias: variance of b.
        stem: variance of V.
        stem_bias: variance of d.
        beside: what is added to the input instead of the positions.
    """
    probe = probe or Zero()
    slopes, scales = conversion(prediction, SHORT)
    slopes, scales = slopes + scales * skip, scales * scale
    beside = positions().double().numpy().reshape(CHANNELS, -1) if beside is None else beside
    total = np.zeros((CHANNELS * PIXELS,) * 2)
    for t in STEPS:
        inner = stem * inputs_moment(probe, float(input_scale[t]), beside) + stem_bias
        features = WIDTH * tau[t] ** 2 * inner
        unfolded = sum(shift @ features @ shift.T for shift in shifts())
        own = np.kron(np.diag(np.square(channel_gains)), weight * unfolded + bias)
        whole = scales[t] ** 2 * own + slopes[t] ** 2 * second_moments(probe)[0]
        total += SHORT.score_weights[t] * whole / SHORT.steps
    return total


def sampled_truth(
    after: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], networks: int = 400_000
) -> np.ndarray:
    """E_t[w_t E[f f^T]] for f = after(t, z) at x = 0, by drawing V, d, W and b; to about 0.3 %."""
    generator = torch.Generator().manual_seed(5)

    def draw(*shape: int, fan: int) -> torch.Tensor:
        return (torch.rand(shape, generator=generator) * 2 - 1) / math.sqrt(fan)

    weights = SHORT.score_weights / SHORT.score_weights.sum()
    shift = torch.from_numpy(shifts()).float()
    total, part = np.zeros((CHANNELS * PIXELS,) * 2), 10_000
    for _ in range(networks // part):
        t = torch.multinomial(torch.from_numpy(weights), part, True, generator=generator)
        v, d = draw(part, WIDTH, CHANNELS, fan=CHANNELS), draw(part, WIDTH, 1, fan=CHANNELS)
        h = (v @ positions().view(CHANNELS, -1) + d) * (1 + 0.02 * t)[:, None, None]
        w, b = draw(part, CHANNELS, FAN, fan=FAN), draw(part, CHANNELS, 1, fan=FAN)
        unfolded = torch.einsum("opq,nkq->nkop", shift, h).flatten(1, 2)
        f = after(t, w @ unfolded + b).flatten(1).double()
        total += (f.T @ f).numpy()
    return SHORT.score_weights.mean() * total / networks


# ---------------------------------------------------------------- networks


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
        self.gain = 10 ** random.uniform(-1, 1)

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
    std = 10 ** random.uniform(-1, 1)
    nn.init.normal_(network.head.weight, std=std)
    nn.init.normal_(network.head.bias, std=std)


def shared_scale(network: Plain) -> None:
    """One standard deviation for all layers, drawn for each network."""
    std = 10 ** random.uniform(-0.5, 0.5)
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


def edm_truth(*, labelled: bool = False) -> np.ndarray:
    """The module returns x_0 from x / sqrt(abar): its skip and scale in terms of x_t."""
    sigma = np.sqrt((1 - SHORT.abar) / SHORT.abar)
    total = sigma**2 + 0.25
    common = {
        "probe": Gaussian(1.0),
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
    slopes, scales = conversion("x0", SHORT)
    weights = SHORT.score_weights / SHORT.steps
    constant = weights @ (slopes + scales) ** 2 * 0.25
    return (weights @ scales**2) * own + constant * np.eye(16)


class Flat(nn.Module):
    """A perceptron on flat vectors whose last layer has a random scale."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(6, WIDTH)
        self.outer = nn.Linear(WIDTH, 6)
        nn.init.normal_(self.outer.weight, std=10 ** random.uniform(-1, 1))

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
        found = torch.autograd.grad(output, wanted, gradients, allow_unused=True)
        return None, None, *found


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


class SmallBias(Plain):
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


CHANNEL_GAINS = torch.tensor([1.0, 3.0]).view(2, 1, 1)
GAUSSIAN, AT_POINT = Gaussian(1.0), Point(POINT)
TRUNCATED = float(truncnorm.var(-1.5, 1.5)) * 0.01

PATTERNS = [
    Pattern("plain", Plain, closed_form),
    Pattern("factor", followed_by(lambda x, t, z: 4.0 * z), lambda: closed_form(scale=4)),
    Pattern("divided", followed_by(lambda x, t, z: z / -0.25), lambda: closed_form(scale=4)),
    Pattern("gain in a buffer", Buffered, lambda: closed_form(scale=2.5)),
    Pattern(
        "constant parameter",
        lambda: Gain(lambda: torch.full((), 3.0)),
        lambda: closed_form(scale=3),
    ),
    Pattern("random parameter", lambda: Gain(lambda: torch.randn(())), closed_form),
    Pattern("random number", RandomGain, lambda: closed_form(scale=log_uniform(2, 1.0) ** 0.5)),
    Pattern(
        "factor for each channel",
        followed_by(lambda x, t, z: CHANNEL_GAINS.to(z) * z),
        lambda: closed_form(channel_gains=(1, 3)),
    ),
    Pattern(
        "random factor for each channel",
        lambda: Gain(lambda: torch.randn(2, 1, 1)),
        closed_form,
        exact=False,
    ),
    Pattern("factor of time", followed_by(times_t), lambda: closed_form(scale=4 * (1 + 0.05 * STEPS))),
    Pattern(
        "factor of the input",
        followed_by(lambda x, t, z: x.square().mean((1, 2, 3), keepdim=True) * z),
        lambda: closed_form(scale=float(np.square(POINT).mean()), probe=AT_POINT),
        probe=AT_POINT,
    ),
    Pattern(
        "skip and factor",
        followed_by(lambda x, t, z: x + 4 * z),
        lambda: closed_form(scale=4, skip=1, probe=GAUSSIAN),
        probe=GAUSSIAN,
    ),
    Pattern(
        "skip and factor at a point",
        followed_by(lambda x, t, z: x + 4 * z),
        lambda: closed_form(scale=4, skip=1, probe=AT_POINT),
        probe=AT_POINT,
    ),
    Pattern(
        "residual over root two",
        followed_by(lambda x, t, z: (x + z) / math.sqrt(2)),
        lambda: closed_form(scale=0.5**0.5, skip=0.5**0.5, probe=GAUSSIAN),
        probe=GAUSSIAN,
    ),
    Pattern(
        "v and factor",
        followed_by(lambda x, t, z: 4 * z),
        lambda: closed_form(scale=4, prediction="v", probe=GAUSSIAN),
        prediction="v",
        probe=GAUSSIAN,
    ),
    Pattern(
        "x0, skip and factor",
        followed_by(lambda x, t, z: x - 2 * z),
        lambda: closed_form(scale=2, skip=1, prediction="x0", probe=GAUSSIAN),
        prediction="x0",
        probe=GAUSSIAN,
    ),
    Pattern("weight normalisation", Normalised, lambda: closed_form(weight=4 / FAN, bias=0)),
    Pattern("equalised learning rate", Equalised, lambda: closed_form(weight=0.01, bias=0)),
    Pattern("truncated", initialised(truncated), lambda: closed_form(weight=TRUNCATED)),
    Pattern("orthogonal", initialised(orthogonal), lambda: closed_form(weight=1 / FAN, bias=0)),
    Pattern(
        "random scale",
        initialised(random_scale),
        lambda: closed_form(weight=log_uniform(2, 1.0), bias=log_uniform(2, 1.0)),
    ),
    Pattern(
        "random scale of all layers",
        initialised(shared_scale),
        lambda: closed_form(
            weight=1.0,
            bias=log_uniform(2, 0.5),
            stem=log_uniform(4, 0.5),
            stem_bias=log_uniform(4, 0.5),
        ),
    ),
    Pattern(
        "random scale, v",
        initialised(random_scale),
        lambda: closed_form(
            weight=log_uniform(2, 1.0), bias=log_uniform(2, 1.0), prediction="v", probe=GAUSSIAN
        ),
        prediction="v",
        probe=GAUSSIAN,
    ),
    Pattern("zero weight, random bias", initialised(zero_weight), closed_form, zero_output="last"),
    Pattern("zero gain before the last layer", ZeroGain, closed_form, zero_output="last"),
    Pattern("checkpointed, zero output", Checkpointed, closed_form, zero_output="last"),
    Pattern("EDM, bias added afterwards", EDM, edm_truth, probe=GAUSSIAN),
    Pattern("EDM, labels", LabelledEDM, lambda: edm_truth(labelled=True), probe=GAUSSIAN),
    Pattern(
        "labels and factor",
        Labelled,
        lambda: closed_form(
            scale=4,
            beside=np.zeros((CHANNELS, PIXELS)),
            stem_bias=default(CHANNELS) * (1 + CHANNELS),
        ),
    ),
    Pattern(
        "patches, x0, skip and factor",
        Patches,
        patches_truth,
        shape=(1, 4, 4),
        prediction="x0",
        probe=Gaussian(0.5),
    ),
    Pattern("flat, random scale", Flat, flat_truth, shape=(6,), probe=GAUSSIAN),
    Pattern("bias used twice", SmallBias, shared_bias_truth, exact=False),
    Pattern("constant bias", initialised(constant_bias), constant_bias_truth, exact=False),
    Pattern("smoothed output", followed_by(smooth), smooth_truth, exact=False),
    Pattern(
        "nonlinear output",
        followed_by(lambda x, t, z: torch.tanh(z)),
        lambda: sampled_truth(lambda t, z: torch.tanh(z)),
        exact=False,
    ),
]  # fmt: skip
