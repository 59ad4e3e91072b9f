"""One small path of each kind, and everything that can be predicted on it."""

import numpy as np
import torch
from torch import Tensor, nn

from sads.path import (
    EDM,
    PREDICTIONS,
    DiffusionPath,
    RectifiedFlow,
    Schedule,
    VarianceExploding,
    prediction_named,
)

STEPS = 50
PATHS: dict[str, DiffusionPath] = {
    "linear": Schedule("linear", STEPS),
    "cosine": Schedule("cosine", STEPS),
    "flow": RectifiedFlow(STEPS),
    "shifted": RectifiedFlow(STEPS, shift=3.0),
    "ve": VarianceExploding(STEPS, 0.1, 10.0),
    "edm": EDM(STEPS, 0.05, 10.0),
}
PAIRS = [(path, prediction) for path in PATHS for prediction in PREDICTIONS]
VARIANCES = np.array([4.0, 1.0, 0.25, 0.01])


class Exact(nn.Module):
    """The closed form for N(0, diag(VARIANCES)): the mean of a prediction given x, times a gain.

    Written from Bayes' rule for each coordinate, not by the conversions that are tested:
    E[x_0 | x] = a v x / (a^2 v + b^2) and E[eps | x] = b x / (a^2 v + b^2).
    """

    def __init__(
        self, path: DiffusionPath, prediction: str, *, reverse: bool = False, gain: float = 1.0
    ):
        super().__init__()
        self.path, self.prediction, self.reverse = path, prediction, reverse
        self.gain = nn.Parameter(torch.tensor(gain))

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        a, b = (
            torch.from_numpy(table)[t][:, None] for table in (self.path.signal, self.path.noise)
        )
        v = torch.from_numpy(VARIANCES)
        total = a**2 * v + b**2
        wide = x.double()
        clean, eps = a * v * wide / total, b * wide / total
        velocity = clean - eps if self.reverse else eps - clean
        known = {
            "eps": eps,
            "x0": clean,
            "v": a * eps - b * clean,
            "flow": velocity,
            "score": -eps / b,
        }
        return self.gain * known[self.prediction].to(x.dtype)


def mixed(
    name: str, path: DiffusionPath, clean: np.ndarray, eps: np.ndarray, t: int, *, reverse: bool
) -> np.ndarray:
    """What is predicted of one sample, from the tables of its mix."""
    p, q = prediction_named(name, reverse=reverse).mix(path)
    return p[t] * clean + q[t] * eps
