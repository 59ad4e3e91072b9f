"""Figure 10: samples for faces and CIFAR-10 under W_min, the identity and W_max.

Looks do not decide, so the verdict is that of the distances (SW2, as in figure 8).
"""

from matplotlib.figure import Figure

from .data import Data, Request, Rows
from .rotated import SETS, lowest_is_best, rotated_data, wanted
from .samples import draw_samples
from .verdict import Finding

TITLE = "samples of faces and CIFAR-10 under three rotations"
PARTS = ("faces", "cifar")
POWERLESS = ("smoke",)
SCALES = SETS
METRIC = "sw2"


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
