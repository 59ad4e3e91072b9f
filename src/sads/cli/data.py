"""`sads data`: look at a dataset before anything is trained on it."""

import json as jsonlib
from pathlib import Path

from .options import Flag


def data(
    data: str,
    *,
    shape: str | None = None,
    png: Path | None = None,
    force: Flag = False,
    json: Flag = False,
) -> None:
    """Summarise a dataset and draw a contact sheet.

    Example: `sads data digits,size=16,split=held-out --png digits.png`

    Args:
        data: `digits[,size=16]`, `mnist:DIR`, `npy:FILE`, `npz:FILE[:KEY]`
            (`scale`, `scale=0.18215`, `scale=channels`),
            `folder:DIR` or `hf:NAME[:SPLIT]` (`size=56`, `grey`, `crop`, `skip-corrupt`),
            `rank-one:BASIS:I` (canonical, dct, dst, hadamard, haar), `rank-one:geometry=DIR:I`,
            `rank-one:geometry=DIR:band=K`, `sphere:geometry=DIR:I,J,K`, `gaussian`,
            `gaussian:moment=DATA` or `mixture:FILE.npz` (arrays means, deviations or covariances,
            weights); all take `count=`,
            `seed=` and `split=train|held-out`, after commas.
        shape: shape of one sample, CxHxW, for data without a shape of its own.
        png: draw the first samples into this file.
        force: replace an existing picture.
        json: print the result as one JSON object.
    """
    from ..presentation.data import sentences, summary
    from ..specs import parse_shape
    from ..specs.coercion import as_dataset
    from ..storage.files import refuse_existing

    if png is not None:
        refuse_existing(png, force=force)
    dataset = as_dataset(data, shape=None if shape is None else parse_shape(shape))
    if png is not None:
        from ..presentation.plots.contact_sheet import draw_contact_sheet
        from ..presentation.plots.directions import save_figure

        save_figure(draw_contact_sheet(dataset), png)
    if json:
        print(jsonlib.dumps(summary(dataset)))
        return
    print("\n".join(sentences(dataset)))
    if png is not None:
        print(f"Drawn in {png}.")
