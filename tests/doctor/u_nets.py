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

    sigma_data = 0.5

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, sigma: Tensor) -> Tensor:
        sigma = sigma.to(x.dtype).view(-1, 1, 1, 1)
        total = sigma**2 + self.sigma_data**2
        noise = sigma.flatten().log() / 4
        inner = self.model(x / total.sqrt(), 1000 * noise)
        return self.sigma_data**2 / total * x + sigma * self.sigma_data / total.sqrt() * inner


class Consistency(nn.Module):
    """A consistency model: the identity at the smallest noise level, by construction."""

    sigma_data, smallest = 0.5, 0.002

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, x: Tensor, sigma: Tensor) -> Tensor:
        sigma = sigma.to(x.dtype).view(-1, 1, 1, 1)
        total = sigma**2 + self.sigma_data**2
        above = sigma - self.smallest
        inner = self.model(x / total.sqrt(), 250 * (sigma.flatten() + 1e-44).log())
        skip = self.sigma_data**2 / (above**2 + self.sigma_data**2)
        return skip * x + above * self.sigma_data / total.sqrt() * inner


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
        found = torch.autograd.grad(output, inputs + ctx.parameters, gradient, allow_unused=True)
        return (None, None, *found)


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


class ScoreTutorial(nn.Module):
    """The tutorial of score-based models: unpadded convolutions, output over the deviation."""

    def __init__(self, channels: int = 1):
        super().__init__()
        self.embed = nn.Sequential(Fourier(32, 30.0), nn.Linear(32, 32))
        widths = (8, 16, 32)
        self.down = nn.ModuleList(
            nn.Conv2d(a, b, 3, bias=False)
            for a, b in zip((channels, *widths[:-1]), widths, strict=True)
        )
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(a, b, 3, bias=False) for a, b in ((32, 16), (32, 8))
        )
        self.down_time = nn.ModuleList(nn.Linear(32, w) for w in widths)
        self.up_time = nn.ModuleList(nn.Linear(32, w) for w in (16, 8))
        self.down_norm = nn.ModuleList(nn.GroupNorm(4, w) for w in widths)
        # As published the last norm has one channel a group, and removes what the time adds there.
        self.up_norm = nn.ModuleList((nn.GroupNorm(8, 16), nn.GroupNorm(8, 8)))
        self.head = nn.ConvTranspose2d(16, channels, 3)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        time = (t.to(x.dtype) + 1) / 1000
        c = F.silu(self.embed(time))
        h, kept = x, []
        for conv, shift, norm in zip(self.down, self.down_time, self.down_norm, strict=True):
            h = F.silu(norm(conv(h) + shift(c)[:, :, None, None]))
            kept.append(h)
        kept.pop()
        for conv, shift, norm in zip(self.up, self.up_time, self.up_norm, strict=True):
            h = F.silu(norm(conv(h) + shift(c)[:, :, None, None]))
            h = torch.cat([h, kept.pop()], dim=1)
        deviation = ((25 ** (2 * time) - 1) / (2 * math.log(25))).sqrt()
        return self.head(h) / deviation.view(-1, 1, 1, 1)


class InstancePlus(nn.Module):
    """NCSN's norm of each channel, which puts the channels' normalised means back.

    With a number of noise levels its gains are a table with a row for each.
    """

    def __init__(self, width: int, levels: int = 1):
        super().__init__()
        self.table = nn.Embedding(levels, 3 * width)
        nn.init.normal_(self.table.weight[:, : 2 * width], 1.0, 0.02)
        nn.init.zeros_(self.table.weight[:, 2 * width :])

    def forward(self, x: Tensor, level: Tensor) -> Tensor:
        gain, alpha, shift = self.table(level)[:, :, None, None].chunk(3, dim=1)
        means = x.mean(dim=(2, 3), keepdim=True)
        spread = means.var(dim=1, keepdim=True)
        back = (means - means.mean(dim=1, keepdim=True)) / (spread + 1e-5).sqrt()
        return gain * (F.instance_norm(x) + alpha * back) + shift


class NCSN(nn.Module):
    """Dilated convolutions with instance norms; the noise level chooses their gains, or (version
    two) divides the output."""

    levels = 10

    def __init__(self, channels: int = 1, width: int = 16, *, second: bool = False):
        super().__init__()
        self.second = second
        levels = 1 if second else self.levels
        self.stem = nn.Conv2d(channels, width, 3, padding=1)
        self.norms = nn.ModuleList(InstancePlus(width, levels) for _ in range(4))
        self.convs = nn.ModuleList(
            nn.Conv2d(width, width, 3, padding=d, dilation=d) for d in (1, 1, 2)
        )
        self.head = nn.Conv2d(width, channels, 3, padding=1)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        level = t * self.levels // 1000
        rows = torch.zeros_like(level) if self.second else level
        h = self.stem(x)
        for norm, conv in zip(self.norms, self.convs, strict=False):
            h = h + conv(F.elu(norm(h, rows)))
        out = self.head(F.elu(self.norms[-1](h, rows)))
        sigma = 0.01 * 100 ** (level.to(x.dtype) / (self.levels - 1))
        return out / sigma.view(-1, 1, 1, 1) if self.second else out


class Temporal(nn.Module):
    """Diffuser's one-dimensional U-Net over trajectories: norms of eight groups and Mish."""

    def __init__(self, channels: int = 2, width: int = 32):
        super().__init__()
        self.width = width
        self.embed = nn.Sequential(
            nn.Linear(width, 4 * width), nn.Mish(), nn.Linear(4 * width, width)
        )

        def step(width_in: int, width_out: int) -> nn.Module:
            return nn.Sequential(
                nn.Conv1d(width_in, width_out, 5, padding=2), nn.GroupNorm(8, width_out), nn.Mish()
            )

        widths = ((channels, width), (width, width), (2 * width, width))
        self.before = nn.ModuleList(step(a, b) for a, b in widths)
        self.after = nn.ModuleList(step(b, b) for _, b in widths)
        self.skip = nn.ModuleList(
            nn.Conv1d(a, b, 1) if a != b else nn.Identity() for a, b in widths
        )
        self.time = nn.ModuleList(nn.Linear(width, width) for _ in widths)
        self.down = nn.Conv1d(width, width, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose1d(width, width, 4, stride=2, padding=1)
        self.head = nn.Sequential(step(width, width), nn.Conv1d(width, channels, 1))

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        c = F.mish(self.embed(sinusoid(t, self.width, x)))

        def block(i: int, h: Tensor) -> Tensor:
            return self.after[i](self.before[i](h) + self.time[i](c)[:, :, None]) + self.skip[i](h)

        fine = block(0, x)
        h = self.up(block(1, self.down(fine)))
        return self.head(block(2, torch.cat([h, fine], dim=1)))
