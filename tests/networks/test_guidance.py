"""A class in the place of the null condition, and guidance between the two."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import sads
from sads.errors import InputError, NetworkError
from sads.geometry import Gaussian, estimate_geometry
from sads.networks import ScoreFamily
from sads.networks.adapters import Calling

from ..paths.test_geometry import agree

SHAPE = (1, 4, 4)
X = torch.randn(3, *SHAPE, generator=torch.Generator().manual_seed(0))
T = torch.tensor([1, 5, 900])
FILE = """
import torch
from torch import nn

class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.num_classes = 5
        self.label_emb = nn.Embedding(6, 8)
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.head = nn.Conv2d(8, 1, 3, padding=1)
    def forward(self, x, t, y):
        return self.head(torch.tanh(self.stem(x) + self.label_emb(y)[:, :, None, None]))

def make():
    return Network()
"""


class Labelled(nn.Module):
    """Five classes and a null label, embedded with some weight."""

    def __init__(self, after=None, classes=5):
        super().__init__()
        self.num_classes, self.after = classes, after
        self.label_emb = nn.Embedding(classes + 1, 8)
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.head = nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, x, t, y):
        shift = self.label_emb(y)[:, :, None, None] + 0.01 * t.to(x.dtype).view(-1, 1, 1, 1)
        z = self.head(F.silu(self.stem(x) + shift))
        return z if self.after is None else self.after(z)


class OneHot(nn.Module):
    label_dim = 4

    def __init__(self):
        super().__init__()
        self.classes, self.head = nn.Linear(4, 16), nn.Linear(16, 16)

    def forward(self, x, t, class_labels):
        return self.head(torch.tanh(x.flatten(1) + self.classes(class_labels))).view(x.shape)


class Text(nn.Module):
    context_dim = 6

    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Linear(6, 16), nn.Linear(16, 16)

    def forward(self, x, t, context):
        return self.head(torch.tanh(x.flatten(1) + self.words(context).mean(1))).view(x.shape)


def family(factory=Labelled, prediction=None, **told) -> ScoreFamily:
    return ScoreFamily(factory, SHAPE, name="mine", prediction=prediction, calling=Calling(**told))


@torch.no_grad()
def test_a_class_takes_the_place_of_the_null_label():
    for label, passed in ((None, 5), (0, 0), (4, 4)):
        member = family(label=label).member(1)
        assert torch.equal(member(X, T), member.network(X, T, torch.full((3,), passed)))
    vectors = family(OneHot, label=2).member(1)
    assert torch.equal(vectors(X, T), vectors.network(X, T, torch.eye(4)[[2, 2, 2]]))


@pytest.mark.parametrize(
    ("factory", "label", "said"),
    [
        (Labelled, 5, "has 5 classes, 0 to 4"),
        (OneHot, 4, "has 4 classes, 0 to 3"),
        (Labelled, -1, "counted from 0"),
        (Text, 1, "takes no labels"),
    ],
)
def test_classes_that_do_not_exist_are_refused(factory, label, said):
    with pytest.raises(InputError, match=said):
        family(factory, label=label).member(0)


@pytest.mark.parametrize("scale", [0.0, 1.0, 3.5])
@pytest.mark.parametrize("after", [None, torch.tanh])
@pytest.mark.parametrize("prediction", ["eps", "x0"])
@torch.no_grad()
def test_guidance_is_the_combination_of_two_calls(scale, after, prediction):
    """In float64, against the definition; for x0 behind the conversion to noise."""
    made = family(partial(Labelled, after), prediction, label=3, guidance=scale)
    linear = after is None or scale in (0, 1)  # one call alone is any network's own output
    assert made.guided_at == ("head" if linear else None)
    member = made.member(1).double()
    x = X.double()
    null, own = (member.network(x, T, torch.full((3,), k)) for k in (5, 3))
    output = null + scale * (own - null)
    if prediction == "x0":
        a, b = (
            torch.from_numpy(table)[T].view(-1, 1, 1, 1)
            for table in (made.schedule.signal, made.schedule.noise)
        )
        output = (x - a * output) / b
    torch.testing.assert_close(member(x, T), output, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("prediction", ["eps", "flow"])
def test_the_guided_geometry_is_integrated_and_agrees_with_naive(prediction):
    made = family(prediction=prediction, label=2, guidance=3.0)
    found = estimate_geometry(made, networks=12, probe=Gaussian(0.7))
    assert found.plan.readout.kind != "sampled", found.plan.note
    agree(made, probe=Gaussian(0.7), timesteps=(300, 900))


def test_what_cannot_be_combined_before_a_layer_is_sampled():
    made = family(partial(Labelled, torch.tanh), label=2, guidance=3.0)
    found = estimate_geometry(made, networks=12, probe=Gaussian(0.7))
    assert found.plan.readout.kind == "sampled"


def test_a_stated_condition_is_guided_against_the_null_condition():
    def inputs(x, t):
        return {"context": x.new_full((len(x), 1, 6), 2.0)}

    member = family(Text, inputs=inputs, guidance=2.0).member(0)
    with torch.no_grad():
        own, null = (member.network(X, T, torch.full((3, 1, 6), value)) for value in (2.0, 0.0))
        torch.testing.assert_close(member(X, T), 2 * own - null, rtol=1e-4, atol=1e-5)
    with pytest.raises(InputError, match="write class=K as well"):
        family(Text, guidance=2.0).member(0)
    with pytest.raises(InputError, match="guidance is a number"):
        Calling(guidance=float("nan"))


def test_the_grammar_says_both_and_results_record_them(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(FILE)
    name = f"{path}:make,class=3,guidance=2"
    made = sads.network(name, shape=SHAPE)
    assert (made.calling.label, made.calling.guidance) == (3, 2.0)
    geometry = sads.estimate_geometry(name, shape=SHAPE, networks=12, out=tmp_path / "g")
    assert geometry.plan.assumptions.inputs == {"y": "3 (class), guidance 2 against 5 (null)"}
    again = sads.load_geometry(tmp_path / "g")
    assert again.plan.assumptions == geometry.plan.assumptions
    names = [f"{path}:make", f"{path}:make,class=3", f"{path}:make,class=4", name]
    prints = {sads.network(one, shape=SHAPE).fingerprint for one in names}
    assert len(prints) == 4
    with pytest.raises(InputError, match="class is a whole number"):
        sads.network(f"{path}:make,class=cat", shape=SHAPE)
    with pytest.raises(InputError, match="takes no labels"):
        sads.network("cnn,class=3", shape=SHAPE).member(0)


def test_training_and_forecasts_refuse_guidance_and_take_classes(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(FILE)
    data = torch.randn(20, *SHAPE, generator=torch.Generator().manual_seed(2)).numpy()
    options = {"shape": SHAPE, "networks": 8, "method": "one step"}
    told = {"shape": SHAPE, "iterations": 2, "batch_size": 4}
    with pytest.raises((InputError, NetworkError), match="leave guidance= out"):
        sads.train(f"{path}:make,class=3,guidance=2", data, **told)
    with pytest.raises((InputError, NetworkError), match="leave guidance= out"):
        sads.forecast(f"{path}:make,class=3,guidance=2", "gaussian", **options)
    trained = sads.train(f"{path}:make,class=3", data, **told)
    assert sads.sample(trained, 2, steps=2).shape == (2, *SHAPE)
    assert sads.forecast(f"{path}:make,class=3", "gaussian", **options) is not None
