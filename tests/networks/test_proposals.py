"""Ten-line networks as users bring them: they work, or the lines to write are told and work."""

import math
from dataclasses import dataclass

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sads.errors import NetworkError
from sads.networks import ScoreFamily
from sads.networks.adapters import Calling
from sads.networks.adapters.proposals import patches_together

CHANNELS, SIDE, WIDTH = 2, 4, 8
SHAPE = (CHANNELS, SIDE, SIDE)
X = torch.randn(3, *SHAPE, generator=torch.Generator().manual_seed(0))
T = torch.tensor([1, 5, 900])


def embedded(t):
    angles = t.float().reshape(-1, 1) * torch.exp(-math.log(1e3) * torch.arange(3) / 3)
    return torch.cat([angles.sin(), angles.cos()], -1)


class Body(nn.Module):
    def __init__(self, channels=CHANNELS):
        super().__init__()
        self.stem = nn.Conv2d(channels, WIDTH, 3, padding=1)
        self.time = nn.Linear(6, WIDTH)
        self.head = nn.Conv2d(WIDTH, CHANNELS, 3, padding=1)

    def forward(self, x, t, more=None):
        shift = self.time(embedded(t).to(x.dtype))
        shift = shift if more is None else shift + more
        return self.head(F.silu(self.stem(x) + shift[:, :, None, None]))


class Text(Body):
    def __init__(self):
        super().__init__()
        self.words = nn.Linear(13, WIDTH)

    def forward(self, latents, timestep, prompt_embeds, prompt_mask):
        weights = prompt_mask.float().unsqueeze(-1)
        pooled = (self.words(prompt_embeds) * weights).sum(1) / weights.sum(1)
        return super().forward(latents, timestep, pooled)


class Added(Body):
    """The further conditions of SDXL in a dictionary, without a configuration."""

    def __init__(self):
        super().__init__()
        self.pooled, self.sizes = nn.Linear(10, WIDTH), nn.Linear(5, WIDTH)

    def forward(self, sample, timestep, added):
        more = self.pooled(added["text_embeds"]) + self.sizes(added["time_ids"])
        return super().forward(sample, timestep, more)


class Vector(Body):
    def __init__(self):
        super().__init__()
        self.classes = nn.Linear(9, WIDTH)

    def forward(self, x, t, class_vector):
        return super().forward(x, t, self.classes(class_vector))


class Masked(Body):
    def __init__(self):
        super().__init__(2 * CHANNELS + 1)

    def forward(self, x, t, mask, masked_image):
        return super().forward(torch.cat([x, mask, masked_image], 1), t)


class States(Body):
    def __init__(self):
        super().__init__()
        self.encoders = nn.ModuleList([nn.Linear(7, WIDTH), nn.Linear(4, WIDTH)])

    def forward(self, x, t, states):
        pairs = zip(self.encoders, states, strict=True)
        return super().forward(x, t, sum(layer(one).mean(1) for layer, one in pairs))


class TokenTimes(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(4 * CHANNELS, WIDTH), nn.Linear(WIDTH, 4 * CHANNELS)

    def forward(self, x, t):
        tokens = F.pixel_unshuffle(x, 2).flatten(2).transpose(1, 2)
        if t.shape != tokens.shape[:2]:
            raise ValueError("a time for each token is needed")
        z = self.outer(F.silu(self.inner(tokens) + t.to(x.dtype)[..., None]))
        return F.pixel_shuffle(z.transpose(1, 2).unflatten(2, (2, 2)), 2)


class Column(Body):
    def forward(self, x, t):
        if t.ndim != 2:
            raise ValueError("t has two axes")
        return super().forward(x, t[:, 0])


class ChannelsLastIn(Body):
    def forward(self, x, t):
        return super().forward(x.permute(0, 3, 1, 2), t).permute(0, 2, 3, 1)


class NumberedStates(Body):
    """As `States`, with layers that have names of their own."""

    def __init__(self):
        super().__init__()
        self.words0, self.words1 = nn.Linear(7, WIDTH), nn.Linear(4, WIDTH)

    def forward(self, x, t, encoder_hidden_states):
        first, second = encoder_hidden_states
        return super().forward(x, t, self.words0(first).mean(1) + self.words1(second).mean(1))


class ListIn(Body):
    def forward(self, x, t):
        if not isinstance(x, list):
            raise TypeError("a list of images is needed")
        return list(super().forward(torch.stack(x), t))


class FlatIn(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(math.prod(SHAPE), WIDTH), nn.Tanh())
        self.head = nn.Linear(WIDTH, math.prod(SHAPE))

    def forward(self, x, t):
        return self.head(self.layers(x))


class Batch(Body):
    def forward(self, batch):
        return {**batch, "eps": super().forward(batch["x_t"], batch["timestep"])}


class Starred(Body):
    def forward(self, x, t, **model_kwargs):
        return super().forward(x, t) + 0 * model_kwargs["y"].sum()


class Inpainting(Body):
    """Wants the channels of a mask and of what is behind it too."""

    def __init__(self):
        super().__init__(CHANNELS + 3)


class LabelVector(Body):
    """Its labels are vectors, which the name does not tell."""

    def __init__(self):
        super().__init__()
        self.classes = nn.Linear(9, WIDTH)

    def forward(self, x, t, class_labels):
        return super().forward(x, t, self.classes(class_labels))


PROPOSED = {
    Inpainting: '"x": torch.cat([x, x.new_zeros(len(x), 3, *x.shape[2:])], dim=1)',
    LabelVector: '"class_labels": x.new_zeros(len(x), 9)',
    Text: '"prompt_embeds": x.new_zeros(len(x), 1, 13), "prompt_mask": torch.full((len(x), 1',
    Added: '"added": {"text_embeds": x.new_zeros(len(x), 10), "time_ids": x.new_zeros(len(x), 5)}',
    Vector: '"class_vector": x.new_zeros(len(x), 9)',
    Masked: '"mask": x.new_zeros(len(x), 1, 4, 4)',
    States: '"states": [x.new_zeros(len(x), 1, 7), x.new_zeros(len(x), 1, 4)]',
    TokenTimes: '"t": t[:, None].expand(-1, 4)',
    Column: '"t": t[:, None]',
    ChannelsLastIn: '"x": x.movedim(1, -1)',
    NumberedStates: '"encoder_hidden_states": [x.new_zeros(len(x), 1, 7), x.new_zeros(',
    ListIn: '"x": list(x)',
    FlatIn: '"x": x.flatten(1)',
    Batch: '"batch": {"x_t": x, "timestep": t}',
    Starred: '"y": torch.full((len(x),), 0)',
}


def lines_in(message: str) -> dict:
    """What the lines of a message define."""
    lines = [part for part in message.split("`") if part.strip()[:3] in ("ret", "def")]
    space = {"torch": torch}
    exec("\n".join(lines), space)  # noqa: S102 - our own lines
    return space


@pytest.mark.parametrize("kind", PROPOSED)
def test_the_lines_of_the_message_make_the_network_work(kind):
    family = ScoreFamily(kind, SHAPE, name="mine")
    with pytest.raises(NetworkError) as caught:
        family.assumptions(family.member(0))
    message = str(caught.value)
    assert "\n" not in message
    assert PROPOSED[kind] in message
    assert "its signature is forward(" in message
    told = lines_in(message)
    calling = Calling(told["inputs"], told.get("unpatchify"), source="mine.py")
    stated = ScoreFamily(kind, SHAPE, name="mine", calling=calling)
    member = stated.member(0)
    with torch.no_grad():
        assert member(X, T).shape == X.shape
        stacked = torch.vmap(lambda x: member(x, T))(X[None])  # as networks are stacked
    assert torch.allclose(stacked[0], member(X, T), atol=1e-6)
    assert any("as stated" in words for words in stated.assumptions(member).inputs.values())


def test_a_forward_that_casts_to_half_precision_is_told_how_to_cast():
    class Halved(Body):
        def forward(self, x, t):
            return self.head(self.stem(x.half()))

    family = ScoreFamily(lambda: Halved().half(), SHAPE, name="mine")
    with pytest.raises(NetworkError, match=r"x\.to\(next\(self\.parameters\(\)\)\.dtype\)"):
        family.assumptions(family.member(0))


def test_where_no_layout_fits_the_lines_name_input_and_time():
    class Scalar(Body):
        def forward(self, x, t):
            if t.ndim:
                raise ValueError("one time for all")
            return super().forward(x, t.expand(len(x)))

    family = ScoreFamily(Scalar, SHAPE, name="mine")
    with pytest.raises(NetworkError) as caught:
        family.assumptions(family.member(0))
    assert "and as a list, and nothing fits" in str(caught.value)
    assert 'return {"x": x, "t": t}' in str(caught.value)


def test_what_nothing_fits_is_said():
    class Hopeless(Body):
        def forward(self, x, t, oracle):
            raise ValueError("never")

    family = ScoreFamily(Hopeless, SHAPE, name="mine")
    with pytest.raises(NetworkError, match=r"tried zeros like the input, .* nothing fits; .*WIDTH"):
        family.assumptions(family.member(0))


class KeywordsOnly(Body):
    def forward(self, *, noise_level, x):
        return super().forward(x, noise_level)


class TimeBeforeImage(Body):
    def forward(self, time, img):
        return super().forward(img, time)


class LowResolution(Body):
    def __init__(self):
        super().__init__(2 * CHANNELS)

    def forward(self, x, c_noise, low_res_image):
        return super().forward(torch.cat([x, low_res_image], 1), c_noise)


@dataclass
class Params:
    in_channels: int = 4 * CHANNELS
    vec_in_dim: int = 12
    context_in_dim: int = 10
    guidance_embed: bool = True


class Packed(nn.Module):
    """The signature of the reference code of Flux, its configuration a plain object."""

    def __init__(self):
        super().__init__()
        self.params = Params()
        self.img_in, self.txt_in = nn.Linear(4 * CHANNELS, WIDTH), nn.Linear(10, WIDTH)
        self.vector_in, self.final = nn.Linear(12, WIDTH), nn.Linear(WIDTH, 4 * CHANNELS)

    def forward(self, img, img_ids, txt, txt_ids, timesteps, y, guidance=None):
        shift = self.vector_in(y) + self.txt_in(txt).mean(1) + (guidance * timesteps)[:, None]
        z = torch.tanh(self.img_in(img) + shift[:, None] + img_ids.sum(-1, keepdim=True))
        return self.final(z)


@pytest.mark.parametrize("kind", [KeywordsOnly, TimeBeforeImage, LowResolution, Packed])
def test_these_are_understood_as_they_are(kind):
    family = ScoreFamily(kind, SHAPE, name="mine")
    member = family.member(0)
    with torch.no_grad():
        first, second = member(X, T), member(X, T + 40)
    assert first.shape == X.shape
    assert not torch.allclose(first, second)  # the time is the time
    if kind is TimeBeforeImage:
        assert torch.equal(first, Body.forward(member.network, X, T))


def test_a_dictionary_with_a_part_that_is_no_prediction_is_pointed_at():
    import sads

    class Unusual(Body):
        def forward(self, x, t):
            return {"aux": torch.ones_like(x), "residual": super().forward(x, t)}

    with pytest.raises(NetworkError, match="read from the key aux, and the key residual would"):
        sads.estimate_geometry(Unusual, shape=SHAPE, networks=12)


def test_patches_are_put_together_by_the_line_that_is_proposed():
    """Tokens with their channels last, as DiT has them, against indices one by one."""
    x = torch.zeros(2, 3, 4, 6)
    output = torch.arange(2 * 6 * 12).view(2, 6, 12)
    code = patches_together(output, x)
    space = {"output": output, "x": x}
    whole = eval(code, space)  # noqa: S307 - our own line
    for c, i, j in ((0, 0, 0), (2, 3, 5), (1, 2, 1)):
        token, inside = (i // 2) * 3 + j // 2, ((i % 2) * 2 + j % 2) * 3 + c
        assert whole[1, c, i, j] == output[1, token, inside]
    assert patches_together(output[:, :5], x) == ""
