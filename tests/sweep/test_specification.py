"""Specifications: what they expand to, and what is refused."""

from pathlib import Path

import pytest

from sads.errors import InputError, SadsError
from sads.sweep import Specification, load_specification
from sads.sweep.describe.plan import plan_trials
from sads.sweep.execute.check_trials import check_trials

EXAMPLES = Path(__file__).parents[2] / "examples"
HEAD = 'protocol = "smoke"\nseeds = [0, 1]\n'
GRID = '[[grid]]\nnetworks = ["mlp"]\nshape = "1x4x4"\n'


def load(text: str, tmp_path: Path) -> Specification:
    path = tmp_path / "spec.toml"
    path.write_text(text)
    return load_specification(path)


def test_a_product_of_lists(tmp_path):
    grid = GRID.replace('"mlp"', '"mlp", "linear"') + 'bases = ["dct", "haar"]\nindices = [0, 3]\n'
    trials = load(HEAD + grid, tmp_path).trials()
    assert len(trials) == len(set(trials)) == 2 * 2 * 2 * 2
    assert {str(t.data) for t in trials} == {
        f"rank-one:{b}:{i}" for b in ("dct", "haar") for i in (0, 3)
    }
    assert [t.seed for t in trials] == [0] * 8 + [1] * 8  # a part of a sweep has whole seeds


def test_all_indices_and_bands(tmp_path, geometry):
    grid = GRID + f'geometry = "{geometry}"\nindices = "all"\n'
    trials = load(HEAD + grid, tmp_path).trials()
    assert {str(t.data) for t in trials} == {f"rank-one:geometry={geometry}:{i}" for i in range(16)}
    grid = GRID + f'geometry = "{geometry}"\nbands = "all"\n'
    trials = load(HEAD + grid, tmp_path).trials()
    assert {str(t.data) for t in trials} == {
        f"rank-one:geometry={geometry}:band={i}" for i in range(16)
    }
    grid = GRID + 'bases = ["dst"]\nindices = "all"\n'
    assert len(load(HEAD + grid, tmp_path).trials()) == 32


def test_rotations_take_a_geometry_and_ranks_where_they_can(tmp_path, geometry):
    grid = GRID + (
        f'data = ["digits,size=4"]\ngeometry = "{geometry}"\n'
        'rotations = ["identity", "random", "min"]\nranks = [2, 5]\n'
    )
    rotations = {(t.rotation, t.rank, t.geometry) for t in load(HEAD + grid, tmp_path).trials()}
    assert rotations == {
        ("identity", None, None),
        ("random", 2, None),
        ("random", 5, None),
        ("min", 2, str(geometry)),
        ("min", 5, str(geometry)),
    }


def test_a_grid_replaces_seeds_and_protocol(tmp_path):
    grid = GRID + (
        'data = ["digits,size=4"]\nseeds = [7]\nprotocol = { preset = "laptop", samples = 9 }\n'
    )
    (trial,) = load(HEAD + grid, tmp_path).trials()
    assert (trial.seed, trial.protocol.samples, trial.protocol.iterations) == (7, 9, 500)


def test_overlapping_grids_have_each_trial_once(tmp_path):
    grid = GRID + 'bases = ["dct"]\nindices = [0, 1]\n'
    assert len(load(HEAD + grid + grid, tmp_path).trials()) == 4


def test_places_in_the_spectrum(tmp_path, geometry):
    grid = GRID + f'geometry = "{geometry}"\nindices = [0, 15]\nbands = [3]\n'
    checked = check_trials(plan_trials(load(HEAD + grid, tmp_path)))
    places = {p.trial.data.places[0]: p.place for p in checked}
    assert [places[k].first for k in ("0", "15", "band=3")] == [0, 15, 3]
    assert [places[k].window for k in ("0", "15", "band=3")] == [0, 0, 0]  # a closed form
    # Eigenvalues of the linear network are 16, 15, ..., 1 up to a constant.
    assert places["0"].eigenvalue == pytest.approx(16 * places["15"].eigenvalue)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("protocol = ", "is not TOML"),
        ("day = 2020-01-01\n", "dates have no place"),
        ("", "protocol: Field required"),
        (HEAD, "grid: Field required"),
        ("seedz = [0]\n" + GRID + 'data = ["digits"]\n', "unknown key 'seedz'.*'seeds'"),
        (HEAD + "grid = []\n", "grid: .*at least one"),
        (HEAD.replace("[0, 1]", "[]") + GRID + 'data = ["digits"]\n', "seeds: .*at least one"),
        (HEAD.replace("[0, 1]", "5") + GRID + 'data = ["digits"]\n', "seeds: .*valid array"),
        (HEAD.replace("[0, 1]", "[-1]") + GRID + 'data = ["digits"]\n', "seed: .*greater than"),
        (HEAD.replace("[0, 1]", "[true]") + GRID + 'data = ["digits"]\n', "valid integer"),
        (HEAD + "colour = 1\n" + GRID + 'data = ["digits"]\n', r"unknown key 'colour'.*known are"),
        (HEAD + GRID + 'datas = ["digits"]\n', r"unknown key 'datas' \(grid 1 datas\).*'data'"),
        (
            HEAD.replace('"smoke"', '{ preset = "smoke", step = 3 }') + GRID + 'data = ["digits"]',
            r"unknown key 'step'.*'steps'",
        ),
        (HEAD.replace("smoke", "fast") + GRID + 'data = ["digits"]\n', "protocol is smoke, laptop"),
        (HEAD + GRID + "data = []\n", "grid 1 data.*at least one"),
        (HEAD + GRID, "a grid needs data"),
        (HEAD + GRID + 'bases = ["dct"]\n', "bases needs indices"),
        (HEAD + GRID + 'bases = ["dct"]\nindices = []\n', "indices.*at least one"),
        (HEAD + GRID + 'data = ["digits"]\nindices = [0]\n', "either data, or indices"),
        (HEAD + GRID + 'data = ["digits,seed=3"]\n', "seed is not given with the data"),
        (HEAD + GRID + 'data = ["digits"]\nrotations = ["min"]\n', "min needs a geometry"),
        (HEAD + '[[grid]]\nnetworks = []\ndata = ["digits"]\n', "networks: .*at least one"),
    ],
)
def test_bad_specifications(tmp_path, text, said):
    with pytest.raises(InputError, match=said) as caught:
        load(text, tmp_path).trials()
    assert "\n" not in str(caught.value)


def test_a_missing_file():
    with pytest.raises(InputError, match=r"no such file: nowhere\.toml"):
        load_specification("nowhere.toml")


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ('bases = ["dct"]\nindices = [16]\n', "16"),
        ('bases = ["dct"]\nindices = [-1]\n', "-1"),
        ('bases = ["fourier"]\nindices = [0]\n', "fourier"),
        ('geometry = "GEOMETRY"\nindices = [16]\n', "indices 0 to 15"),
        ('geometry = "GEOMETRY"\nindices = [-2]\n', "index or band=K from 0 on"),
        ('geometry = "GEOMETRY"\nbands = [16]\n', "bands 0 to 15"),
        ('geometry = "nowhere"\nindices = [0]\n', "no geometry in nowhere: make one"),
        ('data = ["nothing"]\n', "unknown data"),
        ('data = ["digits"]\ngeometry = "GEOMETRY"\nrotations = ["max"]\n', "belongs to linear"),
        ('data = ["npy:nowhere.npy"]\n', "no such file"),
    ],
)
def test_trials_that_cannot_run_are_refused_before_any_does(tmp_path, geometry, grid, said):
    text = HEAD + GRID + grid.replace("GEOMETRY", str(geometry))
    if "digits" in text:
        text = text.replace("digits", "digits,size=4")
    with pytest.raises(SadsError, match=said):
        check_trials(plan_trials(load(text, tmp_path)))


def test_a_network_of_another_shape_than_the_geometry(tmp_path, geometry):
    grid = GRID.replace("1x4x4", "1x8x8") + f'geometry = "{geometry}"\nindices = [0]\n'
    with pytest.raises(InputError, match="is of 1x4x4, the network of 1x8x8"):
        check_trials(plan_trials(load(HEAD + grid, tmp_path)))


def test_the_smoke_example_has_forty_trials():
    trials = load_specification(EXAMPLES / "smoke.toml").trials()
    assert len(set(trials)) == 40


def test_the_figure_6_example_has_the_papers_indices():
    specification = load_specification(EXAMPLES / "figure-06-laptop.toml")
    unet = next(
        grid for grid in specification.grid if grid.model_dump()["networks"] == ("iddpm-16",)
    )
    assert unet.indices == (0, 31, 63, 95, 127, 159, 191, 223, 255)
