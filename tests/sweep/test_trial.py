"""A trial's identity: what it depends on, and what not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sads.errors import InputError
from sads.foundation.versions import code_version
from sads.geometry import load_geometry
from sads.specs import NetworkSpec
from sads.sweep import PROTOCOLS, Trial
from sads.sweep.describe.protocol import protocol_fields

SMOKE = PROTOCOLS["smoke"]


def trial(**changes) -> Trial:
    fields = {"network": "mlp", "data": "rank-one:dct:0", "protocol": SMOKE, "seed": 0}
    return Trial(**(fields | changes))


def test_a_trial_is_frozen_hashable_and_survives_json():
    one = trial()
    with pytest.raises(ValidationError):
        one.seed = 1
    again = Trial.model_validate_json(one.model_dump_json())
    assert again == one
    assert len({again, one}) == 1
    assert again.identity() == one.identity()


def test_the_identity_is_that_of_a_stored_one():
    # A change here makes every stored sweep useless: change FORMAT with it.
    assert trial().identity() == "8f1d7ae4f93f8d62"


@pytest.mark.parametrize("prediction", ["eps", "flow", "score", "v", "x0"])
def test_only_trials_of_another_target_than_once_are_other_trials(prediction, monkeypatch):
    """Those that predict v or x0 were trained on noise once: their rows are of other trials."""
    one = trial(network=f"mlp,prediction={prediction}")
    now = one.identity()
    monkeypatch.setattr("sads.sweep.describe.trial.OWN_TARGETS", ())
    assert (one.identity() != now) == (prediction in ("v", "x0"))


@pytest.mark.parametrize(
    "change",
    [
        {"network": "mlp,width=8"},
        {"data": "rank-one:dct:1"},
        {"shape": "1x8x8"},
        {"rotation": "random"},
        {"rank": 3},
        {"seed": 1},
        {"protocol": SMOKE.model_copy(update={"iterations": 21})},
        {"protocol": SMOKE.model_copy(update={"learning_rate": 1.0000001e-3})},
        {"protocol": SMOKE.model_copy(update={"projections": 7})},
    ],
    ids=str,
)
def test_every_field_is_part_of_the_identity(change):
    assert trial(**change).identity() != trial().identity()


@given(st.floats(1e-9, 1e3), st.integers(0, 2**62))
def test_json_keeps_the_identity_of_any_numbers(rate, seed):
    one = trial(protocol=SMOKE.model_copy(update={"learning_rate": rate}), seed=seed)
    assert Trial.model_validate_json(one.model_dump_json()).identity() == one.identity()


def test_the_content_of_a_file_counts_and_its_place_does_not(tmp_path):
    first, second = tmp_path / "a.npy", tmp_path / "b.npy"
    np.save(first, np.zeros((20, 4)))
    np.save(second, np.zeros((20, 4)))
    one, other = trial(data=f"npy:{first}"), trial(data=f"npy:{second}")
    before = one.identity()
    assert before == other.identity()
    np.save(second, np.ones((20, 4)))
    assert other.identity() != before
    assert one.identity() == before
    assert trial(data=f"npy:{first},scale").identity() != before


def test_a_factory_is_known_by_its_source(tmp_path):
    file = tmp_path / "net.py"
    file.write_text("def make(): return 1\n")
    one = trial(network=f"{file}:make", shape="4")
    before = one.identity()
    assert trial(network=f"{file}:other", shape="4").identity() != before
    file.write_text("def make(): return 2\n")
    assert one.identity() != before
    inside = trial(network="tests.execution.calls:shout", shape="4")
    assert inside.identity() != trial(network="tests.execution.calls:fail", shape="4").identity()


def test_a_folder_is_known_by_names_and_contents(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.png").write_bytes(b"x")
    one = trial(data=f"folder:{tmp_path},size=8")
    before = one.identity()
    (tmp_path / "a" / "1.png").rename(tmp_path / "a" / "2.png")
    renamed = one.identity()
    assert renamed != before
    (tmp_path / "a" / "2.png").write_bytes(b"y")
    assert one.identity() != renamed


def test_a_geometry_is_known_by_its_values_and_not_by_the_time_it_took(geometry, tmp_path):
    one = trial(data=f"rank-one:geometry={geometry}:3")
    again = load_geometry(geometry)
    later = replace(again.state, seconds=again.state.seconds + 5)
    replace(again, state=later).save(tmp_path)
    same = trial(data=f"rank-one:geometry={tmp_path}:3")
    assert same.identity() == one.identity()
    again.state.sums[0] *= 1.001
    again.save(tmp_path)
    assert same.identity() != one.identity()


MOMENT = "gaussian:moment=sphere:geometry=ROOT/a:band=3"


@pytest.mark.parametrize(
    ("field", "text", "seen"),
    [
        ("data", "rank-one:dct:3", None),
        ("data", "digits,size=16", None),
        ("data", "hf:user/name:train,size=8", None),
        ("data", "folder:a/b,size=8", "folder:ROOT/a/b,size=8"),
        ("data", "npz:a.npz:key,scale", "npz:ROOT/a.npz:key,scale"),
        ("data", "sphere:geometry=a/b:0,1,2", "sphere:geometry=ROOT/a/b:0,1,2"),
        ("data", "gaussian:moment=npy:a.npy,scale", "gaussian:moment=npy:ROOT/a.npy,scale"),
        ("data", "gaussian:moment=sphere:geometry=a:band=3", MOMENT),
        ("network", "iddpm-16,mults=1x1", None),
        ("network", "a/b.py:make", "ROOT/a/b.py:make"),
        ("network", "diffusers:a.json,prediction=v", "diffusers:ROOT/a.json,prediction=v"),
        ("network", "package.module:make", None),
        ("rotation", "random", None),
        ("rotation", "runs/w", "ROOT/runs/w"),
        ("geometry", "runs/g", "ROOT/runs/g"),
    ],
)
def test_where_the_path_is(tmp_path, field, text, seen):
    text_seen = str(getattr(trial(**{field: text}).seen_from(tmp_path), field))
    assert text_seen == (text if seen is None else seen.replace("ROOT", str(tmp_path)))


def test_a_worker_elsewhere_sees_the_same_trial(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.zeros((5, 4)))
    monkeypatch.chdir(tmp_path)
    one = trial(data="npy:x.npy")
    before = one.identity()
    seen = one.seen_from(tmp_path)
    monkeypatch.chdir("/")
    assert str(seen.data) == f"npy:{tmp_path}/x.npy"
    assert seen.identity() == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"data": "rank-one:dct:0,count=5"}, "count is not given with the data"),
        ({"data": "digits,seed=1"}, "seed is not given"),
        ({"data": "digits, split=train"}, "split is not given"),
        ({"rotation": "min"}, "needs a geometry"),
        ({"seed": -1}, "greater than or equal"),
        ({"rank": 0}, "greater than or equal"),
        ({"colour": "red"}, "Extra inputs"),
    ],
    ids=str,
)
def test_bad_trials(change, said):
    with pytest.raises(ValidationError, match=said):
        trial(**change)


def test_a_missing_file_is_named():
    with pytest.raises(InputError, match=r"no such file or directory: nowhere\.npy"):
        trial(data="npy:nowhere.npy").identity()
    with pytest.raises(InputError, match="cannot be imported"):
        trial(network="no_such_module:make", shape="4").identity()


@pytest.mark.parametrize("line", ["raise RuntimeError('no')", "raise SystemExit(0)"])
def test_a_package_that_cannot_be_imported_is_named(tmp_path, monkeypatch, line):
    package = tmp_path / "sads_test_broken"
    package.mkdir()
    (package / "__init__.py").write_text(line)
    (package / "models.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r"sads_test_broken\.models cannot be imported"):
        NetworkSpec.parse("sads_test_broken.models:make").digest()


def test_a_package_that_hangs_is_named(tmp_path, monkeypatch):
    package = tmp_path / "sads_test_hanging"
    package.mkdir()
    (package / "__init__.py").write_text("import time\ntime.sleep(600)\n")
    (package / "models.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("sads.specs.factories.IMPORT_SECONDS", 0.5)
    with pytest.raises(InputError, match="did not finish within"):
        NetworkSpec.parse("sads_test_hanging.models:make").digest()


def test_a_relative_folder_of_a_dataset_is_seen_from_the_sweeps_directory(tmp_path):
    (tmp_path / "pictures").mkdir()
    seen = trial(data="hf:pictures:train").seen_from(tmp_path)
    assert str(seen.data) == f"hf:{tmp_path}/pictures:train"
    elsewhere = trial(data="hf:nobody/nothing")
    assert elsewhere.seen_from(tmp_path) == elsewhere


def test_presets():
    assert PROTOCOLS["paper"].steps == 1000
    assert PROTOCOLS["paper"].samples == 10_000
    assert PROTOCOLS["paper"].iterations is None  # table 1's for the network
    changed = protocol_fields({"preset": "laptop", "iterations": 7})
    assert (changed["iterations"], changed["batch_size"]) == (7, 256)
    with pytest.raises(InputError, match="smoke, laptop, paper"):
        protocol_fields("fast")
    with pytest.raises(InputError, match="smoke, laptop, paper"):
        protocol_fields({"iterations": 3})


def test_the_code_version_is_the_sources():
    assert code_version().startswith("0.1.0+")
    assert code_version() == code_version()
