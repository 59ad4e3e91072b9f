"""Pictures of a Hugging Face dataset; its library is an extra and is imported only here."""

from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float
from PIL.Image import Image

from ..errors import InputError
from .arrays import reason
from .pictures import Treatment, read_pictures
from .selection import Selection


def read_hugging_face(
    name: str, part: str, treatment: Treatment, selection: Selection
) -> Float[np.ndarray, "N C H W"]:
    """The pictures in [-1, 1]; only the chosen rows are decoded.

    Args:
        name: the name of the dataset, on the hub or a local folder.
        part: the dataset's own split, such as `train` or `test`.
        treatment: how every picture is treated.
        selection: which pictures are used.
    """
    rows = _load(name, part)
    column = _picture_column(name, rows)
    order = selection.order(len(rows))
    selection.check(len(order), f"hf:{name}:{part}")
    sources = (
        (f"row {i} of hf:{name}:{part}", partial(_picture, rows, int(i), column)) for i in order
    )
    return read_pictures(sources, treatment, selection, f"hf:{name}:{part}")


def _picture(rows: Any, index: int, column: str) -> Image:
    # Row first, then column: the other way round would decode the whole set.
    return rows[index][column]


def _load(name: str, part: str) -> Any:
    try:
        from datasets import load_dataset  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise InputError(
            "hf: data needs the Hugging Face library: pip install 'sads[datasets]'"
        ) from error
    try:
        return load_dataset(name, split=part)
    except Exception as error:  # it passes on any error of its readers and of the network
        raise InputError(f"hf:{name}:{part} cannot be loaded: {reason(error)}") from error


def _picture_column(name: str, rows: Any) -> str:
    from datasets import Image as Pictures  # pyright: ignore[reportMissingImports]

    columns = [column for column, kind in rows.features.items() if isinstance(kind, Pictures)]
    if len(columns) != 1:
        have = ", ".join(columns) or "none"
        raise InputError(
            f"hf:{name} must have exactly one column of pictures, got {have}: "
            "save the wanted pictures in a folder and use folder:DIR"
        )
    return columns[0]
