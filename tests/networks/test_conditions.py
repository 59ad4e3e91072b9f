"""What is passed beside input and time, and where the prediction is read."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from sads.errors import InputError, NetworkError
from sads.geometry import estimate_geometry
from sads.networks import ScoreFamily
from sads.networks.adapters import Calling, adapt
from sads.networks.adapters.arrangements import FramesFirst, Packed, Widened
from sads.networks.adapters.conditions import Computed, Filled, Like, Several, code_of, passed
from sads.networks.adapters.outputs import prediction_in
from sads.path import Schedule
from sads.specs.networks import NetworkSpec

from .zoo import Conv

X = torch.randn(3, 2, 6, 6, generator=torch.Generator().manual_seed(0))
T = torch.tensor([1, 5, 900])


@pytest.mark.parametrize(
    "condition",
    [
        Filled("a", sizes=(1, 4)),
        Filled("a", sizes=(4,), fill=2.5),
        Filled("a", fill=3, kind="int"),
        Filled("a", sizes=(2,), fill=1, kind="bool"),
        Filled("a", sizes=(1, 3), batched=False),
        Like("a"),
        Several("a", "", (Filled("", sizes=(2,)), Filled("", fill=1, kind="int"))),
    ],
)
def test_the_code_of_a_condition_makes_its_value(condition):
    written = eval(code_of([condition])["a"], {"x": X, "torch": torch})  # noqa: S307 - our own
    made = passed([condition], X)["a"]
    pairs = zip(written, made, strict=True) if isinstance(made, list) else [(written, made)]
    for one, other in pairs:
        assert one.dtype == other.dtype
        assert torch.equal(one, other)


def test_entries_of_a_dictionary_are_passed_together():
    both = [Filled("added.a", sizes=(2,)), Filled("added.b"), Computed("n", "", len)]
    given = passed(both, X)
    assert {name: tuple(v.shape) for name, v in given["added"].items()} == {"a": (3, 2), "b": (3,)}
    assert given["n"] == 3


@pytest.mark.parametrize(
    ("arrangement", "shape"),
    [(Packed((2, 3)), (2, 4, 6)), (Packed((1, 2, 2)), (3, 2, 4, 4)), (FramesFirst(), (2, 3, 4, 4))],
)
def test_what_is_laid_out_is_laid_back(arrangement, shape):
    x = torch.randn(2, *shape)
    laid = arrangement.lay_out(x)
    assert laid.shape != x.shape
    assert torch.equal(arrangement.lay_back(laid, x), x)


def test_patches_are_packed_as_flux_takes_them():
    """Token (i, j) holds channel by channel its patch, row by row."""
    x = torch.randn(1, 3, 4, 6)
    tokens = Packed((2, 2)).lay_out(x)
    for i in range(2):
        for j in range(3):
            patch = x[0, :, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2].flatten()
            assert torch.equal(tokens[0, 3 * i + j], patch)


def test_further_channels_are_zero():
    laid = Widened(5).lay_out(X)
    assert laid.shape == (3, 5, 6, 6)
    assert torch.equal(laid[:, :2], X)
    assert not laid[:, 2:].any()


OTHER = torch.zeros(3, 2, 3, 3)
OUTPUTS = [
    (X, "tensor"),
    (SimpleNamespace(sample=X), "`.sample`"),
    ({"mask": OTHER, "noise": X}, "the key noise"),
    ({"extra": X, "sample": OTHER}, "the key extra"),
    ([OTHER, X], "the number 2 of 2"),
    ((X, None), "the first of 2"),
    ({"levels": [OTHER, SimpleNamespace(out=X)]}, "`.out` of the number 2 of 2 of the key levels"),
    (X.movedim(1, -1), "channels last"),
    (torch.complex(X, X), "the real part"),
    (torch.cat([X, X], 1), "the first 2 of 4 channels"),
    (list(X), "a list of 3, one for each input"),
]


@pytest.mark.parametrize(("output", "where"), OUTPUTS, ids=[where for _, where in OUTPUTS])
def test_the_prediction_is_found_in_what_is_returned(output, where):
    located = prediction_in(output, X)
    assert torch.equal(located.value, X)
    assert located.where == where


@pytest.mark.parametrize("output", [None, "text", {}, OTHER, [OTHER]])
def test_what_is_no_prediction_is_left_for_who_asked(output):
    prediction = prediction_in(output, X).value
    assert not isinstance(prediction, torch.Tensor) or prediction.shape != X.shape


def test_a_prediction_that_is_not_found_says_what_to_write():
    class Tokens(Conv):
        def forward(self, x, t):
            return super().forward(x, t).flatten(1)

    family = ScoreFamily(lambda: Tokens(), (2, 6, 6), name="mine")
    with pytest.raises(NetworkError, match=r"got \(1, 72\).*tried.*`def unpatchify\(output, x\):"):
        estimate_geometry(family, networks=12)


def test_compiled_and_half_precision_modules_are_plain_ones_in_float32():
    half = Conv().half()
    weight = half.out.weight.detach().clone()
    adapted = adapt(torch.compile(half), "mine", Schedule())
    assert adapted.network is half
    assert half.out.weight.dtype == torch.float32
    assert torch.equal(half.out.weight.half(), weight)
    in_place = Conv()
    in_place.compile()
    assert adapt(in_place, "mine", Schedule()).network._compiled_call_impl is None


NET = """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(1, 1, 3, padding=1)
        self.seen = None
    def forward(self, x, t, states=None, mask=None, added=None, depth=None):
        self.seen = (states, mask, added, depth)
        return self.layer(x)
def make():
    return Net()
def other():
    return Net()
"""
FUNCTIONS = """
def inputs(x, t):
    return {"depth": t.float()}
def other_inputs(x, t):
    return {"depth": 7}
def unpatchify():
    return "takes no arguments, so it is another function"
"""
TOML = """
[inputs]
mask = { sizes = [4], fill = 1, kind = "int" }
states = [{ sizes = [1, 8] }, { sizes = [1, 2], batched = false }]
[inputs.added]
label = 3
"""


def family_of(path, factory="make"):
    return NetworkSpec.parse(f"{path}:{factory}").family((1, 4, 4))


def test_a_file_and_toml_beside_it_state_what_is_passed(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(NET + FUNCTIONS)
    (tmp_path / "mine.toml").write_text(TOML)
    family = family_of(path)
    member = family.member(0)
    member(torch.zeros(2, 1, 4, 4), T[:2])
    states, mask, added, depth = member.network.seen
    assert [tuple(one.shape) for one in states] == [(2, 1, 8), (1, 2)]
    assert mask.tolist() == [[1] * 4] * 2
    assert added["label"].tolist() == [3, 3]
    assert depth.tolist() == [1.0, 5.0]
    said = family.assumptions(member).inputs
    assert said["added.label"] == "3, as stated in mine.py and mine.toml"
    assert said["mask"] == "ones of 4, as stated in mine.py and mine.toml"
    assert said["depth"] == "float32, as stated in mine.py and mine.toml"
    other = family_of(path, "other").member(0)
    other(torch.zeros(2, 1, 4, 4), T[:2])
    assert other.network.seen[3] == 7


def test_what_toml_states_is_part_of_the_identity(tmp_path):
    path, beside = tmp_path / "mine.py", tmp_path / "mine.toml"
    path.write_text(NET)
    spec = NetworkSpec.parse(f"{path}:make")
    plain = spec.digest()
    beside.write_text("[project]\nname = 'another use of this name'\n")
    assert spec.digest() == plain
    assert family_of(path).calling.conditions == ()
    beside.write_text(TOML)
    stated = spec.digest()
    beside.write_text(TOML.replace("3", "4"))
    assert len({plain, stated, spec.digest()}) == 3


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("inputs = 3", "must be a table"),
        ("[inputs]\ny = 'text'", "y must be a number or a table"),
        ("[inputs]\ny = { sizes = [0] }", "from 1 to"),
        ("[inputs]\ny = { sizes = [2], of = 3 }", "y must be a number or a table"),
        ("[inputs]\ny = { fill = 1, kind = 'half' }", "y must be a number or a table"),
        ("[inputs", "not a TOML file"),
    ],
)
def test_toml_that_cannot_be_read_is_refused(tmp_path, toml, said):
    path = tmp_path / "mine.py"
    path.write_text(NET)
    path.with_suffix(".toml").write_text(toml)
    with pytest.raises(InputError, match=said):
        family_of(path)


def test_inputs_that_are_no_dictionary_are_refused():
    family = ScoreFamily(
        Conv,
        (2, 6, 6),
        name="mine",
        calling=Calling(inputs=lambda x, t: [x]),  # pyright: ignore
    )
    with pytest.raises(NetworkError, match="must return a dictionary"):
        family.member(0)(X, T)


def test_a_label_may_be_a_vector_or_a_number():
    class Vector(Conv):
        label_dim = 4

        def forward(self, x, t, class_labels):
            assert class_labels.shape == (len(x), self.label_dim)
            return super().forward(x, t)

    assert adapt(Vector(), "mine", Schedule())(X, T).shape == X.shape
    stated = adapt(
        Vector(),
        "mine",
        Schedule(),
        calling=Calling(conditions=(Filled("class_labels", "", (4,), 1),)),
    )
    assert stated(X, T).shape == X.shape


def test_the_width_of_a_context_is_told_by_keys_and_queries():
    class Attending(Conv):
        def __init__(self):
            super().__init__()
            self.to_q, self.to_k = nn.Linear(8, 8), nn.Linear(5, 8)

        def forward(self, x, t, context=None):
            return super().forward(x + self.to_k(context).mean() * 0, t)

    assert adapt(Attending(), "mine", Schedule())(X, T).shape == X.shape
