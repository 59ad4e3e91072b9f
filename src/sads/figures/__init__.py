"""The figures of the paper, and four beyond it, each with its claim tested on our own numbers.

One module a figure. Each has

- `SCALES`: the sizes of the experiment at `smoke`, `laptop` and `paper` scale;
- `data(request)`: computes the rows, going on from what is known;
- `draw(data)` and `verdict(rows)`: functions of the data alone.
"""

from .catalogue import FIGURES, SCALES
from .run import make_figure, make_figures
from .verdict import Finding, Verdict

__all__ = ["FIGURES", "SCALES", "Finding", "Verdict", "make_figure", "make_figures"]
