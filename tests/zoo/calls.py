"""The small network of `modules`, called and answered in the ways of today's models.

Nothing of what is passed changes the network: conditions are zero, so its geometry is the plain
one, or follows from it.
"""

from types import SimpleNamespace

import numpy as np
import torch
from torch import nn

from .modules import Plain
from .truth import CHANNELS, PIXELS, SHAPE, SHORT, WIDTH, closed_form, default

FRAMES = 2
VIDEO = (CHANNELS, FRAMES, *SHAPE[1:])
TEXT_TOKENS, TOKEN = 3, 5


class ChannelsLast(Plain):
    """Returns (N, H, W, C)."""

    def after(self, x, t, z):
        return z.movedim(1, -1)


class Complex(Plain):
    """Returns complex numbers, whose real part is meant."""

    def after(self, x, t, z):
        return torch.complex(z, 2 * z)


class Keyed(Plain):
    """Returns a dictionary with keys of its own, the prediction not first."""

    def after(self, x, t, z):
        return {"loss": z.mean(), "features": z[:, :, :2], "noise": z}


class Scales(Plain):
    """Returns a list with the prediction at several resolutions, the finest last."""

    def after(self, x, t, z):
        return [z[:, :, ::2, ::2], SimpleNamespace(whole=z)]


class Conditioned(Plain):
    """Asks for all that is common, and refuses another type or size of it."""

    def __init__(self):
        super().__init__()
        self.label_dim = 7
        self.context_dim = 6
        self.in_channels, self.out_channels = CHANNELS + 1, CHANNELS
        self.config = {"pooled_projection_dim": 4, "guidance_embeds": True}

    def forward(
        self,
        x,
        t,
        context,
        encoder_attention_mask,
        pooled_projections,
        class_labels,
        x_self_cond,
        guidance=None,
    ):
        n = len(x)
        given = (context, encoder_attention_mask, pooled_projections, class_labels, guidance)
        sizes = [(n, 1, 6), (n, 1), (n, 4), (n, 7), (n,)]
        if [tuple(one.shape) for one in given] != sizes or x.shape[1] != CHANNELS + 1:
            raise ValueError("other sizes")
        noisy, mask = x[:, :CHANNELS], x[:, CHANNELS:]
        total = sum(one.flatten(1).sum(1) for one in (context, pooled_projections, class_labels))
        shift = total.view(-1, 1, 1, 1) + mask + x_self_cond
        gain = (guidance * encoder_attention_mask[:, 0]).view(-1, 1, 1, 1)
        return super().forward(gain * (noisy + shift), t)


class KeywordsAlone(Plain):
    """Takes input and time by keyword only, the time first."""

    def forward(self, *, noise_level, x):
        return super().forward(x, noise_level)


class ImageLast(Plain):
    """Takes the time first, and calls the input an image."""

    def forward(self, time, img):
        return super().forward(img, time)


class OneBatch(Plain):
    """Takes one dictionary, and returns it with the prediction added."""

    def forward(self, batch):
        return {"loss": 0.0, "noise": super().forward(batch["x_t"], batch["when"])}


def one_batch_inputs(x, t):
    return {"batch": {"x_t": x, "when": t}}


class Columns(Plain):
    """Takes channels last, and times as a column."""

    def forward(self, x, t):
        return super().forward(x.permute(0, 3, 1, 2), t[:, 0]).permute(0, 2, 3, 1)


def column_inputs(x, t):
    return {"x": x.movedim(1, -1), "t": t[:, None]}


class PerToken(Plain):
    """Takes a time for every position, and a depth that nobody knows."""

    def forward(self, x, times, depth):
        tau = (1 + 0.02 * times.to(x.dtype)).view(-1, 1, *SHAPE[1:])
        return self.head(tau * self.stem(x + depth + self.positions))


def per_token_inputs(x, t):
    return {"times": t[:, None].expand(-1, PIXELS), "depth": torch.zeros_like(x)}


def halved() -> nn.Module:
    return Plain().half()


def compiled() -> nn.Module:
    return torch.compile(Plain())


class Unpatched(nn.Module):
    """Returns tokens that are not put together, behind those of a text."""

    def __init__(self):
        super().__init__()
        self.register_buffer("tokens", token_features().float())
        self.inner = nn.Linear(TOKEN, WIDTH, bias=False)
        self.outer = nn.Linear(WIDTH, CHANNELS * 4)

    def forward(self, x, t):
        tau = (1 + 0.02 * t.to(x.dtype)).view(-1, 1, 1)
        return self.outer(tau * self.inner(self.tokens))


def put_together(output, x):
    """Tokens behind those of the text are patches 1x2x2 of a video."""
    frames, height, width = VIDEO[1:]
    z = output[:, TEXT_TOKENS:].reshape(-1, frames, height // 2, width // 2, 2, 2, CHANNELS)
    return z.permute(0, 6, 1, 2, 4, 3, 5).reshape(-1, *VIDEO)


def token_features() -> torch.Tensor:
    count = TEXT_TOKENS + FRAMES * PIXELS // 4
    return torch.linspace(-1, 1, count * TOKEN, dtype=torch.float64).view(count, TOKEN).cos()


def unpatched_truth() -> np.ndarray:
    """Entries of a patch are copies; the tokens of the text reach nothing."""
    tokens = token_features().numpy()[TEXT_TOKENS:]
    inner = WIDTH * default(TOKEN) * tokens @ tokens.T
    tau = 1 + 0.02 * np.arange(SHORT.steps)
    weights = SHORT.score_weights / SHORT.steps
    factor = default(WIDTH) * ((weights @ tau**2) * inner + weights.sum())
    labels = np.arange(len(tokens) * CHANNELS * 4).reshape(1, len(tokens), -1)
    padded = np.concatenate([np.zeros((1, TEXT_TOKENS, CHANNELS * 4), int), labels], axis=1)
    places = put_together(torch.from_numpy(padded), None).flatten().numpy()
    token, copy = places // (CHANNELS * 4), places % (CHANNELS * 4)
    return factor[np.ix_(token, token)] * (copy[:, None] == copy[None])


class Frames(Plain):
    """Treats the frames of a video as if they were samples."""

    def forward(self, x, t):
        n, frames = x.shape[0], x.shape[2]
        flat = x.transpose(1, 2).flatten(0, 1)
        each = super().forward(flat, t.repeat_interleave(frames))
        return each.view(n, frames, *SHAPE).transpose(1, 2)


def frames_truth() -> np.ndarray:
    """At x = 0 all frames are the same one."""
    image = closed_form().reshape(CHANNELS, PIXELS, CHANNELS, PIXELS)
    whole = np.broadcast_to(
        image[:, None, :, :, None, :], (CHANNELS, FRAMES, PIXELS, CHANNELS, FRAMES, PIXELS)
    )
    return whole.reshape(CHANNELS * FRAMES * PIXELS, -1)
