"""The exact risk in sweeps: against brute force, at moments, without samples, in older stores."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import sads
from sads.data import Normal, element
from sads.errors import InputError
from sads.presentation.sweep import means
from sads.sweep import PROTOCOLS, Trial, load_specification, read_rows, run_sweep
from sads.sweep.describe.plan import plan_trials
from sads.sweep.describe.protocol import Protocol
from sads.sweep.execute.check_trials import check_trials
from sads.sweep.execute.run_sweep import dry_run
from sads.sweep.store.database import VERSION, Store
from sads.sweep.store.layout import Layout, read_published
from sads.sweep.store.table import write_csv

from .small import InProcess, lasting

GOLDEN = Path(__file__).parents[1] / "golden"
RISKS = ("risk", "risk_along", "risk_off", "nats")
SPEC = """
protocol = {{ preset = "smoke", iterations = {iterations}, samples = {samples}, steps = 3, train = 32{more} }}
seeds = [0]
[[grid]]
networks = ["mlp,width=8,depth=1"]
shape = "1x4x4"
data = {data}
"""  # noqa: E501


def swept(place, *, iterations=6, samples=0, data=("rank-one:dct:5",), moments=(), **options):
    """The rows of a small sweep by their data."""
    place.mkdir(exist_ok=True)
    spec = place / "spec.toml"
    more = f", moments = {list(moments)}" if moments else ""
    spec.write_text(
        SPEC.format(iterations=iterations, samples=samples, data=json.dumps(data), more=more)
    )
    run_sweep(spec, place / "out", engine=InProcess(), **options)
    return {row["data"]: row for row in read_rows(place / "out")[1]}


@pytest.mark.parametrize("data", ["rank-one:dct:5", "gaussian"])
def test_the_risk_is_that_of_brute_force(tmp_path, data):
    row = swept(tmp_path, data=[data])[data]
    trained = sads.train(
        "mlp,width=8,depth=1",
        f"{data},seed=0,count=32",
        shape="1x4x4",
        **{"iterations": 6, "batch_size": 16, "learning_rate": 1e-3, "seed": 0},
    )
    law = Normal.white(16) if data == "gaussian" else Normal.rank_one(element("dct", (1, 4, 4), 5))
    rng = np.random.default_rng(7)
    count = 100_000
    t = rng.integers(1000, size=count)
    abar = trained.family.schedule.abar[t]
    eps = rng.standard_normal((count, 16))
    x = np.sqrt(abar)[:, None] * law.draw(count, rng) + np.sqrt(1 - abar)[:, None] * eps
    # The closed form of Gaussian data: eps* = sqrt(s) (a C + s I)^-1 x.
    variances = law.basis * np.sqrt(law.variances)
    moment = variances @ variances.T + law.rest * np.eye(16)
    best = np.empty_like(x)
    for step in range(1000):
        own, a = t == step, trained.family.schedule.abar[step]
        best[own] = np.sqrt(1 - a) * np.linalg.solve(a * moment + (1 - a) * np.eye(16), x[own].T).T
    with torch.no_grad():
        inputs = torch.from_numpy(x.astype("f4")).view(-1, 1, 4, 4)
        residual = trained.predict(inputs, torch.from_numpy(t)).numpy().reshape(count, 16) - best
    energy = (residual**2).sum(1)
    error = np.hypot(row["risk_error"], energy.std() / np.sqrt(count))
    assert abs(row["risk"] - energy.mean()) < 4 * error
    assert row["risk_error"] < 0.02 * row["risk"]
    if data == "gaussian":
        assert row["risk_along"] is row["risk_off"] is None
    else:
        along = (residual @ law.basis[:, 0]) ** 2
        error = np.hypot(row["risk_along_error"], along.std() / np.sqrt(count))
        assert abs(row["risk_along"] - along.mean()) < 4 * error
        assert row["risk_along"] + row["risk_off"] == pytest.approx(row["risk"])
    assert row["nats"] > row["nats_error"] > 0


def test_without_samples_nothing_is_sampled(tmp_path):
    row = swept(tmp_path)["rank-one:dct:5"]
    assert row["status"] == "done"
    assert all(row[name] is None for name in ("sw2", "msw2", "p_value", "projections"))
    assert all(row[name] > 0 for name in (*RISKS, "loss"))
    assert row["sample_seconds"] == 0
    kept = read_published(Layout(tmp_path / "out"), row["artefact"])
    assert kept["samples"].shape == (0, 1, 4, 4)
    header = means([row])[0].split()
    assert header == ["network", "data", "rotation", "seeds", "loss", *RISKS]
    plan, cost = dry_run(tmp_path / "spec.toml", workers=1)
    assert len(plan) == 1
    assert cost.kinds[0][2].sample_seconds == cost.kinds[0][2].distance_seconds == 0


def test_data_without_a_law_has_no_risk(tmp_path):
    rows = swept(tmp_path, data=["digits,size=4", "sphere:dct:0,1,2"], samples=16)
    assert all(rows["digits,size=4"][name] is None for name in RISKS)
    assert rows["digits,size=4"]["sw2"] > 0
    assert all(rows["sphere:dct:0,1,2"][name] > 0 for name in RISKS)


def test_moments_are_trainings_that_stop_there(tmp_path):
    plain = swept(tmp_path / "plain", samples=16)["rank-one:dct:5"]
    row = swept(tmp_path / "moments", samples=16, moments=(2, 5))["rank-one:dct:5"]
    assert [moment["step"] for moment in row["moments"]] == [2, 5]
    for moment in row["moments"]:
        stopped = swept(tmp_path / f"{moment['step']}", iterations=moment["step"])
        expected = {name: stopped["rank-one:dct:5"][name] for name in moment if name != "step"}
        assert {name: moment[name] for name in expected} == expected
    # What is measured at the end does not know that the training stopped on its way.
    different = ("id", "protocol", "moments", "artefact")
    one, other = (
        {name: value for name, value in lasting([own])[0].items() if name not in different}
        for own in (plain, row)
    )
    assert one == other
    assert row["artefact"] == plain["artefact"]


def test_moments_survive_the_end_of_a_worker(tmp_path, monkeypatch):
    whole = swept(tmp_path / "whole", moments=(2, 5))["rank-one:dct:5"]
    from sads.sweep.execute import run_trial

    measured = []

    def interrupted(trained, law, seed):
        measured.append(trained.run.step)
        if len(measured) == 2:
            raise RuntimeError("the lights went out")
        return original(trained, law, seed)

    original = run_trial.risk_numbers
    monkeypatch.setattr(run_trial, "risk_numbers", interrupted)
    row = swept(tmp_path / "killed", moments=(2, 5))["rank-one:dct:5"]
    assert measured == [2, 5, 5, 6]  # the first was not measured again
    assert row["attempts"] == 2
    assert lasting([row]) == lasting([whole])


def test_a_table_takes_risks_and_moments_along(tmp_path):
    row = swept(tmp_path / "first", moments=(2, 5))["rank-one:dct:5"]
    write_csv(tmp_path / "known.csv", [row])
    again = swept(tmp_path / "second", moments=(2, 5), seed_from=tmp_path / "known.csv")
    assert again["rank-one:dct:5"] | {"artefact": row["artefact"]} == row


@pytest.mark.parametrize("version", [1, 2])
def test_stores_without_risk_are_read_and_brought_up_to_date(tmp_path, version):
    shutil.copytree(GOLDEN / f"sweep-{version}", tmp_path / "sweep")
    before = read_rows(tmp_path / "sweep")
    store = Store(Layout(tmp_path / "sweep"))
    statuses = store.statuses()
    store.close()
    assert statuses
    assert read_rows(tmp_path / "sweep") == before
    assert {row["risk"] for row in before[1]} == {None}
    assert {len(row["moments"]) for row in before[1]} == {0}
    assert {row["leakage"] for row in before[1]} == {None}
    assert VERSION == 4


def test_identities_know_moments_only_where_there_are_some():
    fields = {"network": "mlp", "data": "rank-one:dct:0", "seed": 0}
    smoke = PROTOCOLS["smoke"]
    identities = {
        Trial(protocol=smoke.model_copy(update={"moments": moments}), **fields).identity()
        for moments in ((), (5,), (5, 10))
    }
    assert len(identities) == 3
    assert "8f1d7ae4f93f8d62" in identities  # that of before there were moments


@pytest.mark.parametrize("moments", [(0, 3), (3, 3), (5, 2)])
def test_moments_are_ascending_steps(moments):
    with pytest.raises(ValueError, match="in ascending order"):
        Protocol(moments=moments)


def test_too_few_samples_are_no_samples():
    with pytest.raises(ValueError, match="0 leaves them out"):
        Protocol(samples=3)


@pytest.mark.parametrize(
    ("data", "moments", "said"),
    [
        ("digits,size=4", (2,), "needs data of a known law, digits,size=4 is not"),
        ("rank-one:dct:5", (2, 7), "from 1 to 6, got 7"),
    ],
)
def test_moments_that_cannot_be_measured_are_refused_before_any_trial_runs(
    tmp_path, data, moments, said
):
    spec = tmp_path / "spec.toml"
    more = f", moments = {list(moments)}"
    spec.write_text(SPEC.format(iterations=6, samples=0, data=json.dumps([data]), more=more))
    with pytest.raises(InputError, match=said):
        check_trials(plan_trials(load_specification(spec)))
