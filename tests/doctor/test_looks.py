"""A first look ends an examination only where more networks would say the same."""

import numpy as np
import pytest

import sads
from sads.doctor import diagnosis
from sads.doctor.finding import Undecided
from sads.doctor.findings import borders
from sads.doctor.findings.borders import asymmetric
from sads.doctor.findings.spectrum import low_frequency_share
from sads.doctor.patient import Examined, admit
from sads.geometry import Zero, estimate_geometry, running_estimates
from tests.doctor.patients import family

FIRST, ALL = 48, 192


def said_of(patient, monkeypatch, worth: int):
    monkeypatch.setattr(diagnosis, "FIRST", FIRST)
    monkeypatch.setattr(diagnosis, "WORTH", worth)
    said = diagnosis.diagnose(patient, networks=ALL)
    return {one.code: one.severity for one in said.findings}, said.networks


@pytest.mark.parametrize("defect", ["", "padded", "narrow"])
def test_findings_are_those_of_all_networks(defect, monkeypatch):
    early = said_of(family(defect), monkeypatch, 4)
    whole = said_of(family(defect), monkeypatch, 10**9)
    assert early[0] == whole[0]
    assert whole[1] == ALL
    assert early[1] in (FIRST, ALL)


def test_all_networks_are_looked_at_where_there_is_no_first_look():
    """Estimates on the way to a goal are no result: this one stops at 96 for a look."""
    convolutions = sads.network("cnn,width=4", shape=(1, 8, 8))
    on_the_way = [g.networks for g in running_estimates(convolutions, networks=100)]
    assert on_the_way[0] < on_the_way[-1] == 100
    assert diagnosis.diagnose(convolutions, networks=100).networks == 100


def test_it_ends_early_where_everything_is_decided(monkeypatch):
    said, networks = said_of(sads.network("mlp", shape=(1, 4, 4)), monkeypatch, 4)
    assert networks in (0, FIRST)  # isotropic, whatever is drawn
    assert said == said_of(sads.network("mlp", shape=(1, 4, 4)), monkeypatch, 10**9)[0]


def test_a_first_look_is_followed_by_the_usual_estimate():
    first, last = running_estimates(family(), networks=ALL, first_look=FIRST)
    assert (first.networks, last.networks) == (FIRST, ALL)
    assert (first.state.counts == FIRST // len(first.state.counts)).all()
    assert np.array_equal(last.factor, estimate_geometry(family(), networks=ALL).factor)


@pytest.mark.parametrize(
    ("p_values", "decided"),
    [((0.0005, 0.0004), False), ((0.0004, 0.0004), True), ((0.0004, 0.5), False)],
)
def test_a_first_look_at_flips_must_be_sure_of_both(p_values, decided, monkeypatch):
    """Chance gives one of the smallest p-values too often to be asked twice."""
    patient = admit(family("lopsided"))
    zero = estimate_geometry(family("lopsided"), probe=Zero(), networks=FIRST)
    values = iter(p_values)
    monkeypatch.setattr(borders, "symmetry_p_value", lambda folds, reflection: next(values))
    monkeypatch.setattr(borders, "CERTAIN", 0.0)
    known = vars(patient) | {"zero": zero, "gaussian": zero}
    looks = Examined(**known, looks=2, part=FIRST / ALL)
    if decided:
        assert [one.code for one in asymmetric(looks)] == ["asymmetric"]
    else:
        with pytest.raises(Undecided):
            list(asymmetric(looks))


def test_intervals_that_hold_their_limit_are_undecided_until_the_last_look():
    patient = admit(family())
    zero = estimate_geometry(family(), networks=FIRST)
    known = vars(patient) | {"zero": zero, "gaussian": zero}
    early, last = (Examined(**known, looks=2, part=part) for part in (0.25, 1.0))
    with pytest.raises(Undecided):
        early.settle((0.1, 0.2), (0.4, 0.6), limit=0.5)
    early.settle((0.1, 0.4), (0.6, 0.7), limit=0.5)
    last.settle((0.4, 0.6), limit=0.5)


def test_the_error_of_the_low_frequency_share_is_its_spread_over_seeds():
    """24 seeds: the spread of a spread is 15 %; the bound is three of these."""
    shares = [
        low_frequency_share(estimate_geometry(sads.network("cnn", shape=(1, 6, 6)), **options))
        for options in ({"networks": 48, "seed": seed} for seed in range(24))
    ]
    values, errors = np.array(shares).T
    assert np.sqrt(np.mean(errors**2)) / values.std(ddof=1) == pytest.approx(1.0, abs=0.5)
