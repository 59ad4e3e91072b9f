"""Summaries: the effective rank is the participation ratio of the second moment."""

import numpy as np
import pytest

from sads.data import Dataset
from sads.data.effective_rank import trace_and_rank
from sads.presentation.data import sentences, summary


@pytest.mark.parametrize("shape", [(3000, 7), (5, 40)])
def test_moments_agree_with_the_eigenvalues(shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32) + 0.5
    values = np.linalg.eigvalsh(x.T.astype(float) @ x / len(x))
    trace, rank = trace_and_rank(x)
    assert trace == pytest.approx(values.sum())
    assert rank == pytest.approx(values.sum() ** 2 / np.square(values).sum())


def test_rank_of_equal_directions():
    x = np.zeros((9, 5), dtype=np.float32)
    x[np.arange(9), np.arange(9) % 3] = 2
    assert trace_and_rank(x)[1] == pytest.approx(3)
    assert trace_and_rank(np.zeros((4, 2), dtype=np.float32)) == (0, 0)


def test_summary_and_words():
    samples = np.linspace(-1, 2, 24, dtype=np.float32).reshape(4, 1, 2, 3)
    values = summary(Dataset(samples, "mine"))
    assert (values["data"], values["count"], values["shape"]) == ("mine", 4, [1, 2, 3])
    assert (values["minimum"], values["maximum"]) == (-1, 2)
    assert values["mean"] == pytest.approx(0.5)
    assert values["second_moment_trace"] == pytest.approx(np.square(samples).sum() / 4)
    assert "4 samples of 1x2x3" in sentences(Dataset(samples, "mine"))[0]
