"""The colours of everything that is drawn: plots, notebooks and the figures of the paper.

They are Okabe and Ito's, which colour-blind readers can tell apart. The report's page has shades of
its own in `report.css`, since text needs more contrast, on light and dark backgrounds.
"""

BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
SKY, YELLOW, GREY, BLACK = "#56B4E9", "#E69F00", "#777777", "#222222"
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, SKY, YELLOW)

CERTIFIED, UNCERTIFIED, DATA = BLUE, ORANGE, GREEN
SIGNED, MAGNITUDE = "RdBu_r", "magma"  # colour maps: around zero; above zero
