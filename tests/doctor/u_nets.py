"""Well-known U-Nets, small, with the initialisation they were published with."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.doctor.blocks import (
    Attention,
    Fourier,
    LinearAttention,
    Residual,
    RMSNorm,
    UNet,
    fan_average,
    groups_of_four,
    sinusoid,
    times_1e_5,
    zeroed,
)

NEARLY_ZERO = fan_average(1e-10)
HALF = math.sqrt(0.5)


class DDPM(UNet):
    """Ho et al. in the PyTorch port with torch's own initialisation."""


class ScoreSDE(UNet):
    """score_sde's DDPM: ends of branches and of the network have a variance of 1e-10 over the fan.

    Its features of the time are float32 whatever its parameters are.
    """

    def block(self, width_in, width_out):
        how = {"inner": fan_average(1.0), "last": NEARLY_ZERO}
        return Residual(width_in, width_out, self.wide_time, **how)

    def attention(self, width):
        return Attention(width, inner=fan_average(0.1), last=NEARLY_ZERO)

    def read_out(self, layer):
        return NEARLY_ZERO(layer)

    def condition(self, x, t):
        return self.embed(sinusoid(t, self.width, torch.zeros(1)))


class NCSNpp(ScoreSDE):
    """NCSN++: Fourier features of log sigma, branches over sqrt 2, the output over sigma."""

    def __init__(self, channels: int = 1):
        super().__init__(channels)
        self.fourier = Fourier(self.width)

    def block(self, width_in, width_out):
        how = {"inner": fan_average(1.0), "last": NEARLY_ZERO, "rescale": HALF}
        return Residual(width_in, width_out, self.wide_time, **how)

    def attention(self, width):
        return Attention(width, inner=fan_average(0.1), last=NEARLY_ZERO, rescale=HALF)

    def forward(self, x, t):
        self.sigma = 0.01 * 50 ** (t.to(x.dtype) / 999)
        return super().forward(x, t) / self.sigma.view(-1, 1, 1, 1)

    def condition(self, x, t):
        return self.embed(self.fourier(self.sigma.log()))


class SongUNet(UNet):
    """EDM's DDPM++: ends of branches and of the network start at 1e-5 of their usual size."""

    def block(self, width_in, width_out):
        how = {"last": times_1e_5, "rescale": HALF}
        return Residual(width_in, width_out, self.wide_time, **how)

    def attention(self, width):
        return Attention(width, last=times_1e_5, rescale=HALF)

    def read_out(self, layer):
        return times_1e_5(layer)


class Preconditioned(nn.Module):
    """EDM's wrapper: the denoised image at noise level sigma."""

    sigma_data, smallest = 0.5, 0.0

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, sigma: Tensor) -> Tensor:
        sigma = sigma.to(x.dtype).view(-1, 1, 1, 1)
        total = sigma**2 + self.sigma_data**2
        above = sigma - self.smallest
        inner = self.model(x / total.sqrt(), 250 * sigma.flatten().log())
        skip = self.sigma_data**2 / (above**2 + self.sigma_data**2)
        return skip * x + above * self.sigma_data / total.sqrt() * inner


class Consistency(Preconditioned):
    """A consistency model: the identity at the smallest noise level, by construction."""

    smallest = 0.002


class ADM(UNet):
    """Guided diffusion: time scales and shifts; ends of branches and of the network are zero."""

    def block(self, width_in, width_out):
        return Residual(width_in, width_out, self.wide_time, last=zeroed, scale_shift=True)

    def attention(self, width):
        return Attention(width, last=zeroed)

    def read_out(self, layer):
        return zeroed(layer)


class _Checkpointed(torch.autograd.Function):
    """Guided diffusion's own checkpoint: runs again in the backward pass."""

    @staticmethod
    def forward(ctx, run, count, *tensors):
        ctx.run, ctx.inputs, ctx.parameters = run, list(tensors[:count]), list(tensors[count:])
        with torch.no_grad():
            return run(*ctx.inputs)

    @staticmethod
    def backward(ctx, gradient):
        inputs = [x.detach().requires_grad_(True) for x in ctx.inputs]
        with torch.enable_grad():
            output = ctx.run(*[x.view_as(x) for x in inputs])
        gradients = torch.autograd.grad(
            output, inputs + ctx.parameters, gradient, allow_unused=True
        )
        return (None, None, *gradients)


class CheckpointedADM(ADM):
    """The same with guided diffusion's checkpoints in every block."""

    def block(self, width_in, width_out):
        inner = super().block(width_in, width_out)
        plain = inner.forward
        inner.forward = lambda x, c: _Checkpointed.apply(plain, 2, x, c, *inner.parameters())
        return inner


class Plain(UNet):
    """What `defect` names makes it blind, however long it is trained."""

    def __init__(self, defect: str):
        self.defect = defect
        super().__init__()

    def block(self, width_in, width_out):
        one_each = self.defect == "one channel a group"
        norm = (lambda w: nn.GroupNorm(w, w)) if one_each else groups_of_four
        return Residual(width_in, width_out, self.wide_time, norm=norm)

    def condition(self, x, t):
        return super().condition(x, torch.zeros_like(t) if self.defect == "no time" else t)

    def read_out(self, layer):
        if self.defect == "zeros in a row":
            return nn.Sequential(zeroed(nn.Conv2d(self.width, self.width, 1)), zeroed(layer))
        return layer


def pixel_norm(x: Tensor) -> Tensor:
    """EDM2's norm of the channels of each position."""
    return x / (x.square().mean(dim=1, keepdim=True).sqrt() + 1e-4)


def mp_silu(x: Tensor) -> Tensor:
    return F.silu(x) / 0.596


class MPConv(nn.Module):
    """A magnitude-preserving convolution or linear layer without bias."""

    def __init__(self, width_in: int, width_out: int, *size: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width_out, width_in, *size))

    def forward(self, x: Tensor, gain: Tensor | float = 1.0) -> Tensor:
        flat = self.weight.flatten(1)
        unit = flat / (flat.norm(dim=1, keepdim=True) + 1e-4)
        weight = (unit * gain).view_as(self.weight).to(x.dtype)
        if weight.ndim == 2:
            return x @ weight.T
        return F.conv2d(x, weight, padding=weight.shape[-1] // 2)


class MPBlock(nn.Module):
    """EDM2's block: the time scales the channels through a gain that starts at zero."""

    def __init__(self, width_in: int, width_out: int, condition: int):
        super().__init__()
        self.skip = MPConv(width_in, width_out, 1, 1)
        self.conv0, self.conv1 = (
            MPConv(width_out, width_out, 3, 3),
            MPConv(width_out, width_out, 3, 3),
        )
        self.time = MPConv(condition, width_out)
        self.gain = nn.Parameter(torch.zeros([]))

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        x = pixel_norm(self.skip(x))
        scale = 1 + self.time(condition, self.gain)[:, :, None, None]
        h = self.conv1(mp_silu(self.conv0(mp_silu(x)) * scale))
        return (0.7 * x + 0.3 * h) / math.hypot(0.7, 0.3)


class MPAttention(nn.Module):
    """EDM2's attention over normalised queries, keys and values."""

    def __init__(self, width: int):
        super().__init__()
        self.qkv, self.proj = MPConv(width, 3 * width, 1, 1), MPConv(width, width, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (pixel_norm(z) for z in self.qkv(x).flatten(2).chunk(3, dim=1))
        scores = torch.einsum("ncq,nck->nqk", query, key) / math.sqrt(x.shape[1])
        mixed = torch.einsum("nqk,nck->ncq", scores.softmax(dim=-1), value)
        return (0.7 * x + 0.3 * self.proj(mixed.reshape(x.shape))) / math.hypot(0.7, 0.3)


class EDM2(nn.Module):
    """Magnitude-preserving layers without biases; the output's gain starts at zero."""

    def __init__(self, channels: int = 1, width: int = 16):
        super().__init__()
        self.fourier, self.embed = Fourier(width, 1.0), MPConv(width, 32)
        self.stem = MPConv(channels + 1, width, 3, 3)
        self.first, self.deep = MPBlock(width, width, 32), MPBlock(width, 2 * width, 32)
        self.attend, self.last = MPAttention(2 * width), MPBlock(3 * width, width, 32)
        self.out = MPConv(width, channels, 3, 3)
        self.gain = nn.Parameter(torch.zeros([]))

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        c = mp_silu(self.embed(math.sqrt(2) * self.fourier(t / 1000)).to(x.dtype))
        fine = self.first(self.stem(torch.cat([x, torch.ones_like(x[:, :1])], dim=1)), c)
        h = self.attend(self.deep(F.avg_pool2d(fine, 2), c))
        h = self.last(torch.cat([F.interpolate(h, scale_factor=2.0), fine], dim=1), c)
        return self.out(h, self.gain)


class Lucidrains(UNet):
    """denoising-diffusion-pytorch: RMS norms, linear attention, pixels folded into channels."""

    def block(self, width_in, width_out):
        return Residual(width_in, width_out, self.wide_time, norm=RMSNorm, scale_shift=True)

    def attention(self, width):
        return LinearAttention(width)

    def smaller(self, width):
        return nn.Sequential(nn.PixelUnshuffle(2), nn.Conv2d(4 * width, width, 1))

    def normalisation(self, width):
        return RMSNorm(width)
