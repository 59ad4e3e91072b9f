"""Our eigenvalues against those of an independent public reproduction of the paper.

It drew a million naive networks of the 16x16 U-Net. Its eigenvalues are not corrected for noise: of
7,400 networks that count, by the weights of the timesteps, the large ones are too large and the
small ones too small by some per cent.
"""

import numpy as np

from sads.geometry import estimate_geometry
from sads.networks.presets import preset_family

THEIRS = {
    0: 134.9,
    31: 6.70,
    63: 3.81,
    95: 2.51,
    127: 1.73,
    159: 1.16,
    191: 0.76,
    223: 0.44,
    255: 0.094,
}


def test_eigenvalues_agree_with_the_public_reproduction():
    ours = estimate_geometry(preset_family("iddpm-16"), networks=480).spectrum().eigenvalues
    ratios = np.array([value / ours[index] for index, value in THEIRS.items()])
    assert (ratios > 0.9).all()
    assert (ratios < 1.05).all()
