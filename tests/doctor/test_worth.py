"""What the doctor's advice was worth: verdicts from paired trainings, and how they are told."""

import json

import numpy as np
import pytest
from scipy import stats

from benchmarks.pages import remedies
from sads.doctor import Diagnosis, Finding
from sads.doctor.worth import Worth, worth_of
from sads.presentation import doctor as words


def row(interval, seeds=5, **changed):
    about = {"finding": "time-blind", "network": "cnn", "remedy": "width=64", "data": "digits"}
    numbers = {"before": 4.0, "after": 1.0, "difference": 3.0}
    return Worth(**about | numbers | changed, interval=interval, seeds=seeds)


@pytest.mark.parametrize(
    ("interval", "seeds", "verdict"),
    [
        ((2.0, 4.0), 5, "worth it"),
        ((-4.0, -2.0), 5, "harmful"),
        ((-0.1, 4.0), 5, "open"),
        ((2.0, 4.0), 4, "open"),  # too few seeds, whatever the interval
        (None, 1, "open"),
    ],
)
def test_a_remedy_is_judged_by_its_interval_and_its_seeds(interval, seeds, verdict):
    assert row(interval, seeds).verdict == verdict


def test_findings_without_a_trial_have_none():
    assert worth_of("no-such-finding") == ()
    assert words.worth_of_remedies(()) is None


def test_trials_are_told_with_their_numbers(monkeypatch):
    monkeypatch.setattr(words, "worth_of", lambda code: (row((2.0, 4.0)),))
    finding = Finding("time-blind", "warning", "seen", "bad", "mend it")
    diagnosis = Diagnosis("cnn", (1, 8, 8), (finding,), 768, ())
    (line,) = (line for line in words.sentences(diagnosis) if "worth:" in line)
    assert "SW2 4 to 1 on digits" in line
    assert "2 to 4" in line
    (told,) = words.as_fields(diagnosis)["findings"]
    assert told["worth"][0]["verdict"] == "worth it"


def planted(path, gaps):
    """Rows of the advice experiment in which `groups=8` lowers SW2 by the gaps."""
    lines = ["status,network,data,rotation,seed,sw2"]
    for seed, gap in enumerate(gaps):
        lines += [
            f'done,iddpm-16,"digits,size=16",identity,{seed},{9.0 + seed}',
            f'done,"iddpm-16,groups=8","digits,size=16",identity,{seed},{9.0 + seed - gap}',
        ]
    (path / "claims-advice.csv").write_text("\n".join(lines) + "\n")


def test_rows_become_what_the_package_keeps(tmp_path, monkeypatch):
    """Difference and interval against SciPy's paired t-test."""
    gaps = [8.0, 7.0, 9.5, 8.2, 6.9]
    planted(tmp_path, gaps)
    monkeypatch.setattr(remedies, "ROWS", tmp_path)
    (kept,) = json.loads(remedies.worth_of_advice())
    expected = stats.ttest_1samp(gaps, 0.0).confidence_interval(0.95)
    assert kept["difference"] == pytest.approx(np.mean(gaps), rel=1e-3)
    assert kept["interval"] == pytest.approx(list(expected), rel=1e-3)
    assert (kept["finding"], kept["remedy"], kept["seeds"]) == ("time-blind", "groups=8", 5)
    assert kept["before"] - kept["after"] == pytest.approx(kept["difference"], rel=1e-3)
    assert any("worth it" in line for line in remedies.advice())
