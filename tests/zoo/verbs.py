"""Every verb of the package, applied to one network: the test case of a family.

    @pytest.fixture(scope="module")
    def case(tmp_path_factory):
        return Case(Subject("mine"), tmp_path_factory.mktemp("mine"))

    class TestMine(EveryVerb):
        pass

What is checked does not depend on the network: a result is finite, is about this family, and obeys
an identity that is computed here in another way.
"""

import math
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
import torch

import sads
from sads.data import Dataset
from sads.diffusion import Settings, read_training, sample_chunks, stored_rotation, train
from sads.directions.sets import Eigenvectors, Entries
from sads.geometry import Geometry
from sads.learning.monitor import Monitor
from sads.ranking.zero_cost import zero_cost_scores
from sads.report import build_report
from sads.sweep.describe.plan import plan_trials
from sads.sweep.describe.specification import Specification
from sads.sweep.execute.trial_data import dataset
from tests.sweep.small import InProcess

from .foreign import Subject

NETWORKS = 24
SAMPLES = 40
TRAINING = {"iterations": 3, "batch_size": 8, "learning_rate": 1e-3, "seed": 2}
CONTROL = "mlp,width=4,depth=1"


class Case:
    """A network with what the verbs make of it, each made when it is first asked for.

    Args:
        subject: the network.
        place: a directory for artefacts.
    """

    def __init__(self, subject: Subject, place: Path):
        self.subject, self.place = subject, place

    @property
    def source(self) -> str:
        """What a caller gives."""
        return self.subject.name

    @property
    def family(self) -> sads.ScoreFamily:
        return self.subject.family

    @cached_property
    def data(self) -> Dataset:
        """Samples that vary more in their first entries than in their last ones."""
        size = self.family.size
        rows = np.random.default_rng(0).standard_normal((SAMPLES, size)) * np.linspace(2, 0.2, size)
        return Dataset(rows.reshape(-1, *self.family.shape).astype(np.float32), "slope")

    def estimate(self, **options) -> Geometry:
        settings = {
            "probe": "gaussian:1",
            "networks": NETWORKS,
            "zero_output": self.subject.zero_output,
        }
        return sads.estimate_geometry(self.source, shape=self.family.shape, **settings | options)

    @cached_property
    def geometry(self) -> Geometry:
        return self.estimate(out=self.place / "geometry")

    @cached_property
    def unweighted(self) -> Geometry:
        """Of the predicted noise instead of the score, which is larger by the weights."""
        return self.estimate(weighting="noise")

    @cached_property
    def rotation(self) -> sads.Rotation:
        return sads.rotate(self.geometry, self.data, "min")

    @cached_property
    def training(self) -> Path:
        """A directory with a network that was trained on rotated data."""
        out = self.place / "training"
        options = {"rotation": "min", "geometry": self.place / "geometry", "out": out} | TRAINING
        assert self.geometry.networks == NETWORKS or self.geometry.exact  # is stored by now
        trained = sads.train(self.source, self.data, shape=self.family.shape, **options)
        assert len(trained.losses) == TRAINING["iterations"]
        assert torch.isfinite(trained.losses).all()
        return out

    @cached_property
    def samples(self) -> np.ndarray:
        return sads.sample(self.training, 6, steps=4, seed=1)


class EveryVerb:
    """One network through every verb; a subclass has a fixture `case`."""

    def test_geometry(self, case: Case) -> None:
        plan = case.geometry.plan
        assert plan.is_of(case.family)
        assert (plan.shape, plan.schedule, plan.steps) == (
            case.family.shape,
            case.family.schedule.kind,
            case.family.schedule.steps,
        )
        assert plan.assumptions is not None
        assert plan.assumptions.prediction == case.subject.expected
        assert bool(plan.redrawn) == (case.subject.zero_output != "explain")
        matrix = case.geometry.matrix()
        assert np.isfinite(matrix).all()
        assert np.linalg.eigvalsh(matrix).min() > -1e-9 * np.trace(matrix)
        again = sads.load_geometry(case.place / "geometry")
        assert again.plan == plan
        assert np.array_equal(again.factor, case.geometry.factor)

    def test_its_size_is_that_of_plain_networks(self, case: Case) -> None:
        """Tr G = E_t E|eps|^2 (noise weights) over networks that the factory makes, one by one."""
        naive = case.estimate(weighting="noise", estimator="naive", networks=2 * NETWORKS)
        error = math.hypot(_trace_error(case.unweighted), _trace_error(naive))
        assert abs(naive.trace - case.unweighted.trace) < 6 * error

    def test_directions(self, case: Case) -> None:
        spectrum = case.geometry.spectrum()
        vectors, values = spectrum.eigenvectors, spectrum.eigenvalues
        assert np.allclose(vectors.T @ vectors, np.eye(case.family.size), atol=1e-9)
        assert (np.diff(values) <= 1e-12 * values[0]).all()
        assert (np.diff(spectrum.sads.eigenvalues) >= -1e-12 * values[0]).all()
        assert values.sum() == pytest.approx(case.geometry.trace)
        forms = vectors.T @ case.geometry.matrix() @ vectors
        assert np.abs(forms - np.diag(np.diag(forms))).max() < 1e-9 * forms.max()
        assert sum(band.width for band in spectrum.bands) == case.family.size

    def test_doctor(self, case: Case) -> None:
        diagnosis = sads.diagnose(case.source, shape=case.family.shape, networks=NETWORKS)
        assert (diagnosis.network, diagnosis.shape) == (case.family.name, case.family.shape)
        codes = {finding.code for finding in diagnosis.findings}
        assert ("zero-output" in codes) == (case.subject.zero_output != "explain")
        assert "untrainable" not in codes
        assert not diagnosis.skipped

    def test_align(self, case: Case) -> None:
        alignment = sads.align(case.geometry, case.data)
        rows = case.data.samples.reshape(SAMPLES, -1).astype(np.float64)
        alpha = np.einsum("ni,ij,nj->n", rows, case.geometry.matrix(), rows).mean()
        assert alignment.alpha == pytest.approx(alpha, rel=1e-6)
        assert alignment.alpha_min <= alignment.alpha * (1 + 1e-9)
        assert alignment.alpha <= alignment.alpha_max * (1 + 1e-9)

    def test_rotate(self, case: Case) -> None:
        rotation = case.rotation
        assert rotation.origin.suits(case.family)
        assert rotation.error < 1e-5
        alignment = sads.align(case.geometry, rotation(torch.from_numpy(case.data.samples)).numpy())
        least = sads.align(case.geometry, case.data).alpha_min
        assert alignment.alpha == pytest.approx(least, rel=1e-4)
        rotation.save(case.place / "rotation")
        assert sads.load_rotation(case.place / "rotation").origin == rotation.origin

    def test_rotated_training(self, case: Case) -> None:
        header, _ = read_training(case.training)
        assert header.fingerprint == case.family.fingerprint
        assert (header.schedule, header.steps) == (
            case.family.schedule.kind,
            case.family.schedule.steps,
        )
        assert case.geometry.plan.is_of(case.family)
        rotation = stored_rotation(case.training, read_training(case.training)[0])
        assert rotation is not None
        assert torch.equal(rotation.matrix, case.rotation.matrix)

    def test_a_trained_network_is_found_again(self, case: Case) -> None:
        trained = sads.load_trained(case.training)
        assert trained.family.fingerprint == case.family.fingerprint
        before = case.family.member(TRAINING["seed"]).state_dict()
        after = trained.network.state_dict()
        assert before.keys() == after.keys()
        assert any(not torch.equal(before[name], after[name]) for name in before)

    def test_sampling(self, case: Case) -> None:
        """Samples are in the coordinates of the data, those of the network are turned back."""
        trained = sads.load_trained(case.training)
        family = trained.family
        chunks = sample_chunks(trained.network, family.shape, 6, family.schedule, steps=4, seed=1)
        turned = case.rotation.inverse(torch.cat(list(chunks))).numpy()
        assert case.samples.shape == (6, *case.family.shape)
        assert np.isfinite(case.samples).all()
        assert np.array_equal(case.samples, turned)

    def test_compare(self, case: Case) -> None:
        same = sads.compare(case.geometry, case.estimate(seed=3))
        assert not same.different
        assert 0 < same.p_value <= 1
        assert not any("other parameters" in note for note in same.notes)
        assert sads.compare(case.geometry, case.unweighted).different

    def test_rank(self, case: Case) -> None:
        ranking = sads.rank(
            [case.source, CONTROL],
            case.data,
            shape=case.family.shape,
            schedule=case.family.schedule,
            pilot=sads.PilotProtocol(steps=2, seeds=2, points=2, batch_size=4),
        )
        assert {entry.network for entry in ranking.entries} == {case.family.name, CONTROL}
        for entry in ranking.entries:
            assert entry.total >= entry.constant > 0
            assert math.isfinite(entry.total)
        own = zero_cost_scores(case.family, case.data.samples)
        assert own.parameters == sum(p.numel() for p in case.family.member(0).parameters())
        assert own.jacobian is None or math.isfinite(own.jacobian)
        assert (own.jacobian is None) == (case.subject.zero_output != "explain")

    def test_sweep(self, case: Case) -> None:
        specification = Specification.model_validate(
            {
                "protocol": {
                    "preset": "smoke",
                    "iterations": 3,
                    "samples": 8,
                    "steps": 3,
                    "train": 9,
                },
                "seeds": [0],
                "grid": [
                    {
                        "networks": [case.subject.name],
                        "shape": "x".join(map(str, case.family.shape)),
                        "data": ["gaussian"],
                        "geometry": str(case.place / "geometry"),
                        "rotations": ["min"],
                    }
                ],
            }
        )
        assert case.geometry.plan.is_of(case.family)
        sads.run_sweep(specification, case.place / "sweep", engine=InProcess())
        [row] = sads.load_results(case.place / "sweep").rows
        assert row["status"] == "done", row
        assert np.isfinite([row["sw2"], row["msw2"]]).all()
        trial = plan_trials(specification)[0].trial
        samples = dataset(trial, case.family.shape, "train", 9)
        settings = Settings(iterations=3, batch_size=16, learning_rate=1e-3, seed=0)
        rotation = sads.rotate(case.geometry, samples, "min")
        own = train(case.family, torch.from_numpy(samples.samples), settings, rotation=rotation)
        assert row["loss"] == pytest.approx(float(own.losses[-1]), rel=1e-5)

    def test_report(self, case: Case) -> None:
        assert case.geometry.plan.is_of(case.family)
        report = build_report(
            [case.place / "geometry"],
            data="gaussian,count=20",
            trainings=[case.training] if len(case.family.shape) == 3 else [],  # pictures
            doctor=True,
        )
        assert case.family.name in report.html
        assert "Not examined" not in report.html

    def test_risk(self, case: Case) -> None:
        risk = sads.risk(
            case.training,
            data="gaussian",
            directions=Entries(case.family.shape),
            exact=True,
            tolerance=0.3,
        )
        assert risk.exact
        assert (risk.nats is None) == (case.family.schedule.kind == "flow")
        assert risk.nats is None or math.isfinite(risk.nats)
        assert (risk.by_direction >= 0).all()
        assert risk.total == pytest.approx(risk.by_direction.sum(), rel=1e-6)

    def test_forecast(self, case: Case) -> None:
        forecast = sads.forecast(
            case.source,
            case.data,
            shape=case.family.shape,
            directions=Eigenvectors(case.family.shape, case.geometry.spectrum()),
            optimiser="sgd",
            batch_size=8,
            method="one step",
            networks=8,
        )
        assert forecast.networks == 8
        assert np.isfinite(forecast.drift).all()
        assert (forecast.noise >= 0).all()
        assert forecast.noise.max() > 0  # batches differ, and so do the steps along some direction

    def test_monitor(self, case: Case) -> None:
        """Over all directions the monitor adds up to the loss of an ordinary training loop."""
        family = case.family
        monitor = Monitor(family.shape, schedule=family.schedule, bins=1)
        x = torch.from_numpy(case.data.samples)
        t = torch.arange(SAMPLES) * (family.schedule.steps // SAMPLES)
        noise = torch.from_numpy(np.random.default_rng(1).standard_normal(x.shape)).float()
        with torch.no_grad():
            predicted = family.member(0).eval()(x, t)
        monitor.update(predicted, noise, t)
        summed = float((monitor.loss()[:, 0] * monitor.directions.widths).sum())
        squared = (predicted - noise).square().flatten(1).sum(dim=1)
        assert summed == pytest.approx(float(squared.mean()), rel=1e-5)

    def test_summary(self, case: Case) -> None:
        summary = sads.summary(case.source, case.family.shape, data=case.data, networks=NETWORKS)
        untrained = list(case.family.member(0).parameters())
        assert (summary.network, summary.shape) == (case.family.name, case.family.shape)
        assert summary.parameters == sum(p.numel() for p in untrained)
        assert summary.assumptions is not None
        assert summary.assumptions.prediction == case.subject.expected
        assert summary.diagnosis is not None
        codes = {finding.code for finding in summary.diagnosis.findings}
        assert ("zero-output" in codes) == (case.subject.zero_output != "explain")
        assert not summary.untold
        assert summary.effective is not None
        assert 1 <= summary.effective <= case.family.size
        assert case.family.name in str(summary)

    def test_distance(self, case: Case) -> None:
        samples = Dataset(case.samples, "samples")
        apart, same = (sads.distance(samples, other) for other in (case.data, samples))
        assert math.isfinite(apart.sw2)
        assert apart.sw2 > same.sw2 == pytest.approx(0, abs=1e-6)


def _trace_error(geometry: Geometry) -> float:
    """Standard error of the trace, from the folds; none for closed forms."""
    if geometry.exact:
        return 0.0
    values = [geometry.structure.copies * np.trace(fold) for fold in geometry.each_fold]
    return float(np.std(values, ddof=1) / math.sqrt(len(values)))
