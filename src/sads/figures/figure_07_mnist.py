"""Figure 7: samples of networks trained on MNIST under W_min, the identity and W_max.

The paper reports MSW2; so does the verdict.
"""

from matplotlib.figure import Figure

from .data import Data, Request, Rows
from .rotated import SETS, lowest_is_best, rotated_data, wanted
from .samples import draw_samples
from .verdict import Finding

TITLE = "MNIST samples under three rotations"
PARTS = ("mnist",)
POWERLESS = ("smoke",)
SCALES = SETS
METRIC = "msw2"


def check(request: Request) -> None:
    """Refuse to start without the data."""
    wanted(request, PARTS)


def data(request: Request) -> Data:
    """One row for each training."""
    return rotated_data(request, PARTS)


def draw(data: Data) -> Figure:
    """Blocks of samples with alpha and the distance."""
    return draw_samples(data, METRIC)


def verdict(rows: Rows) -> tuple[Finding, ...]:
    """Whether the least alignment is modelled best."""
    return lowest_is_best(rows, METRIC)
