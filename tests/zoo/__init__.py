"""Patterns in which other people write score networks, each with the geometry it has.

Every pattern is a variant of one small network (`modules`) whose geometry is known (`truth`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from scipy.stats import truncnorm
from torch import nn

from sads.geometry import Gaussian, Point, Probe, Zero
from sads.networks import ScoreFamily
from sads.networks.adapters import Calling
from sads.path import Schedule

from .calls import (
    VIDEO,
    ChannelsLast,
    Columns,
    Complex,
    Conditioned,
    Frames,
    ImageLast,
    Keyed,
    KeywordsAlone,
    OneBatch,
    PerToken,
    Scales,
    Unpatched,
    column_inputs,
    compiled,
    frames_truth,
    halved,
    one_batch_inputs,
    per_token_inputs,
    put_together,
    unpatched_truth,
)
from .modules import (
    EDM,
    Buffered,
    Checkpointed,
    Equalised,
    Flat,
    Gain,
    Labelled,
    LabelledEDM,
    Normalised,
    Patches,
    Plain,
    RandomGain,
    SharedBias,
    ZeroGain,
    constant_bias,
    constant_bias_truth,
    edm_truth,
    flat_truth,
    followed_by,
    initialised,
    log_uniform,
    orthogonal,
    patches_truth,
    random_scale,
    shared_bias_truth,
    shared_scale,
    smooth,
    smooth_truth,
    times_t,
    truncated,
    zero_weight,
)
from .truth import (
    CHANNELS,
    FAN,
    PIXELS,
    POINT,
    SHAPE,
    SHORT,
    STEPS,
    closed_form,
    default,
    sampled_truth,
)


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
        calling: what its user states about the call.
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
    calling: Calling | None = None

    @property
    def family(self) -> ScoreFamily:
        return ScoreFamily(
            self.factory,
            self.shape,
            self.schedule,
            self.name,
            prediction=self.prediction,
            calling=self.calling,
        )


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
    Pattern(
        "factor of time",
        followed_by(times_t),
        lambda: closed_form(scale=4 * (1 + 0.05 * STEPS)),
    ),
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
    Pattern("EDM at a point", EDM, lambda: edm_truth(probe=AT_POINT), probe=AT_POINT),
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
    Pattern("bias used twice", SharedBias, shared_bias_truth, exact=False),
    Pattern("constant bias", initialised(constant_bias), constant_bias_truth, exact=False),
    Pattern("smoothed output", followed_by(smooth), smooth_truth, exact=False),
    Pattern(
        "nonlinear output",
        followed_by(lambda x, t, z: torch.tanh(z)),
        lambda: sampled_truth(lambda t, z: torch.tanh(z)),
        exact=False,
    ),
    Pattern("channels last", ChannelsLast, closed_form),
    Pattern("complex", Complex, closed_form),
    Pattern("dictionary of its own", Keyed, closed_form),
    Pattern("several resolutions", Scales, closed_form),
    Pattern("conditions of all kinds", Conditioned, closed_form),
    Pattern("time for each token", PerToken, closed_form, calling=Calling(inputs=per_token_inputs)),
    Pattern("keywords alone", KeywordsAlone, closed_form),
    Pattern("image behind the time", ImageLast, closed_form),
    Pattern("one batch", OneBatch, closed_form, calling=Calling(inputs=one_batch_inputs)),
    Pattern("columns", Columns, closed_form, calling=Calling(inputs=column_inputs)),
    Pattern("half precision", halved, closed_form),
    Pattern("compiled", compiled, closed_form),
    Pattern(
        "patches of a video, behind text",
        Unpatched,
        unpatched_truth,
        shape=VIDEO,
        calling=Calling(unpatchify=put_together),
    ),
    Pattern("frames as samples", Frames, frames_truth, shape=VIDEO),
]
