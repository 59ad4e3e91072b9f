"""Networks drawn in a stack are those that the constructor makes, in distribution.

Outputs would not tell: after a last normalisation their spread hardly depends on inner parameters.
So the parameters are compared one by one, and the stacked evaluation with that of single modules.
"""

import numpy as np
import pytest
import torch
from scipy.stats import ks_2samp

from sads.geometry import Gaussian
from sads.geometry.ensemble import DrawnEnsemble
from sads.inspection.reader_modules import Outputs
from sads.networks.initialisation import Uniform

from .families import FAMILIES

CPU = torch.device("cpu")
COUNT = 60  # networks of each kind
ERROR_RATE = 1e-5  # of each test, shared by its parameters


def drawn_ensemble(name: str) -> DrawnEnsemble:
    member = FAMILIES[name].factory()
    return DrawnEnsemble(Outputs(member), member.distributions(), CPU)


def differing(name: str, ensemble: DrawnEnsemble) -> set[str]:
    """Parameters whose drawn and constructed values are told apart."""
    rng = np.random.default_rng(1)
    drawn = ensemble.draw(COUNT, rng)
    built = [dict(FAMILIES[name].member(seed).named_parameters()) for seed in range(COUNT)]
    names = set()
    for key in built[0]:
        values = torch.stack([member[key].detach() for member in built])
        constant = ensemble.constants.get(f"network.{key}")
        if constant is not None:
            same = bool((values == constant.value).all())
        else:
            pair = (
                v.reshape(COUNT, -1)[:, :100].numpy() for v in (drawn[f"network.{key}"], values)
            )
            level = ERROR_RATE / len(built[0])
            same = ks_2samp(*(v.ravel() for v in pair)).pvalue > level
        names |= set() if same else {key}
    return names


@pytest.mark.parametrize("name", FAMILIES)
def test_drawn_parameters_are_like_constructed_ones(name):
    assert differing(name, drawn_ensemble(name)) == set()


def test_a_wrong_start_would_be_noticed():
    """The comparison has power: twice the spread of eight parameters a network is seen."""
    ensemble = drawn_ensemble("ssm")
    key = "blocks.1.filter.step"
    declared = ensemble.drawn[f"network.{key}"]
    assert isinstance(declared, Uniform)
    ensemble.drawn[f"network.{key}"] = Uniform(2 * declared.bound)
    assert differing("ssm", ensemble) == {key}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_stack_is_evaluated_like_single_modules(name):
    family, ensemble = FAMILIES[name], drawn_ensemble(name)
    t = np.array([1, 20, 49])
    rng = np.random.default_rng(4)
    x = Gaussian(1.0).draw(t, family.shape, family.schedule, rng).double()
    features = ensemble.evaluate(x, t, np.random.default_rng(5), torch.float64).h
    stacked = ensemble.draw(len(t), np.random.default_rng(5))
    for i, step in enumerate(t):
        module = family.factory().double().eval()
        with torch.no_grad():
            for key, parameter in module.named_parameters():
                if f"network.{key}" in stacked:
                    parameter.copy_(stacked[f"network.{key}"][i])
            expected = module(x[i : i + 1], torch.tensor([step]))[0]
        torch.testing.assert_close(features[i], expected, rtol=1e-8, atol=1e-10)
