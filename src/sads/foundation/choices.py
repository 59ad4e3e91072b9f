"""Options that take one of a few words, as types.

Python callers, type checkers and the command line read the same lists. Nothing is imported here, so
that `sads --help` need not wait for torch.
"""

from typing import Literal

Criterion = Literal["constant", "total"]
EstimatorName = Literal["integrated", "naive"]
ForecastMethod = Literal["auto", "one step", "tangent flow", "pilot"]
Optimiser = Literal["adam", "adamw", "sgd"]
Prediction = Literal["eps", "v", "x0", "flow", "score"]
Quantity = Literal["outputs", "tangent"]
RiskOf = Literal["noise", "clean"]
RotationKind = Literal["min", "max", "random", "identity", "whiten"]
Severity = Literal["error", "warning", "note"]
SolverName = Literal["ddpm", "ddim", "euler", "heun"]
Weighting = Literal["score", "noise"]
ZeroOutput = Literal["explain", "last", "all"]
