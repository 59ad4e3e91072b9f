"""How many networks are compared in two precisions."""

import pytest

from sads.geometry.precision import networks_to_compare
from sads.inspection.readout import Convolution


@pytest.mark.parametrize(
    ("width", "planned", "compared"),
    [
        (320, None, 26),  # two times 64 x 64 positions over the rank
        (320, 60, 7),
        (320, 8, 4),
        (4, None, 32),
        (4, 10_000, 32),
        (100_000, None, 4),
    ],
)
def test_every_direction_is_seen_but_the_check_stays_small(width, planned, compared):
    readout = Convolution((4, 64, 64), width, 1.0, 0.0, (1, 1))
    assert networks_to_compare(readout, planned) == compared
