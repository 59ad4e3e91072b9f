"""Pictures in a folder and its subfolders, sorted by path. Only the chosen ones are opened."""

from functools import partial
from pathlib import Path

import numpy as np
from jaxtyping import Float
from PIL import Image

from ..errors import InputError
from .pictures import Treatment, read_pictures
from .selection import Selection

# Pillow hands EPS to another program (Ghostscript): a folder of pictures must not start one.
_REFUSED = {"EPS"}


def read_folder(
    directory: str | Path, treatment: Treatment, selection: Selection
) -> Float[np.ndarray, "N C H W"]:
    """The pictures in [-1, 1]; files with other suffixes are skipped."""
    root = Path(directory)
    paths = picture_paths(root)
    if not paths:
        raise InputError(f"{root} has no pictures: expected files such as .png or .jpg")
    order = selection.order(len(paths))
    selection.check(len(order), str(root))
    formats = sorted(set(Image.OPEN) - _REFUSED)
    sources = ((str(paths[i]), partial(Image.open, paths[i], "r", formats)) for i in order)
    return read_pictures(sources, treatment, selection, str(root))


def picture_paths(root: Path) -> list[Path]:
    """All files below a folder that look like pictures, hidden ones left out."""
    if not root.is_dir():
        raise InputError(f"no such directory: {root}")
    suffixes = {
        suffix
        for suffix, kind in Image.registered_extensions().items()
        if kind in Image.OPEN and kind not in _REFUSED
    }
    return sorted(
        path
        for path in root.rglob("*")
        if path.suffix.lower() in suffixes
        and not any(part.startswith(".") for part in path.relative_to(root).parts)
        and path.is_file()
    )
