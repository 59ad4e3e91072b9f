"""One suite for every estimator: all estimate the same quantity, whatever they draw."""

import numpy as np
import pytest
from scipy.stats import t as student

from sads.directions import FOLDS
from sads.errors import InputError
from sads.geometry import Gaussian, estimate_geometry
from sads.geometry.estimators import ESTIMATORS, ClosedForm, Estimator, Study, estimator_of
from sads.geometry.plan import TimestepLaw
from sads.inspection.checks import check_family

from .families import FAMILIES, SHORT
from .test_agreement import forms

SPAN = (10, 50)
EXAMPLES: list[Estimator] = [e for of in ESTIMATORS.values() for e in of.values()]
EXAMPLES.append(ClosedForm())
each = pytest.mark.parametrize("estimator", EXAMPLES, ids=lambda e: e.name)


@pytest.fixture(scope="module")
def checked():
    return check_family(FAMILIES["linear"], Gaussian(0.7), 0)


def test_every_estimator_passes_this_suite():
    assert {type(e) for e in EXAMPLES} == set(Estimator.__subclasses__())


@each
def test_timesteps_are_drawn_without_bias(checked, estimator):
    """Probability times weight times the plan's scale is that of definition 2."""
    law = TimestepLaw.of(SHORT, SPAN, "score")
    rng = np.random.default_rng(0)
    reading = estimator.read(Study(checked, Gaussian(0.7), law), rng)
    drawn = estimator.proposal(law, reading)
    assert drawn.probabilities.sum() == pytest.approx(1)
    np.testing.assert_allclose(drawn.products * reading.tail.total, law.products, rtol=1e-12)


@pytest.mark.parametrize("name", ESTIMATORS["outputs"])
@pytest.mark.parametrize("family", ["linear", "cnn"])
def test_they_estimate_one_quantity(name, family):
    """Against a naive estimate of other networks."""
    options = {"probe": Gaussian(0.7), "timesteps": SPAN}
    geometry = estimate_geometry(FAMILIES[family], estimator=name, networks=960, seed=1, **options)
    other = estimate_geometry(FAMILIES[family], estimator="naive", networks=1920, **options)
    vectors = np.linalg.eigh(other.matrix())[1]
    (a, a_error), (b, b_error) = forms(geometry, vectors), forms(other, vectors)
    z = np.abs(a - b) / np.hypot(a_error, b_error)
    assert z.max() < student.ppf(1 - 1e-5 / len(z), FOLDS - 1)
    exact = family == "linear" and name == "integrated"
    assert geometry.plan.estimator == ("closed form" if exact else name)


def test_an_unknown_estimator_is_refused():
    with pytest.raises(InputError, match=r"unknown estimator 'best' of outputs: .* integrated"):
        estimator_of("outputs", "best")
    with pytest.raises(InputError, match="of outputs or tangent, got 'weights'"):
        estimator_of("weights")
