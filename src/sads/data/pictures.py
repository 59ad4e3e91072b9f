"""Pictures of any format to arrays of one shape: upright, cropped, resized, grey or in colour.

A picture whose header promises more pixels than Pillow's limit (`PIL.Image.MAX_IMAGE_PIXELS`) is
refused before it is unpacked: a small file can unfold to gigabytes.
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image, ImageOps

from ..errors import InputError
from .arrays import scaled
from .selection import Selection

LARGEST_SIDE = 4096

Source = tuple[str, Callable[[], Image.Image]]  # a name for messages, and how to open it


@dataclass(frozen=True)
class Treatment:
    """How every picture is treated.

    Attributes:
        size: pixels a side after a Lanczos resize to a square; None keeps the size.
        grey: whether to use one channel of luminance instead of red, green and blue.
        crop: whether to cut out the largest centred square before resizing.
        skip_corrupt: whether to leave out unreadable pictures instead of raising an error.
    """

    size: int | None = None
    grey: bool = False
    crop: bool = False
    skip_corrupt: bool = False

    def __post_init__(self) -> None:
        if self.size is not None and not 1 <= self.size <= LARGEST_SIDE:
            raise InputError(f"size is 1 to {LARGEST_SIDE} pixels a side, got {self.size}")

    def apply(self, image: Image.Image) -> UInt8[np.ndarray, "C H W"]:
        """One picture as bytes, channel first."""
        if image.mode in ("I", "F"):
            raise InputError("has 32-bit pixels of unknown range: convert it to 8 or 16 bits")
        if image.mode.startswith("I;16"):  # Pillow's own conversion would clip at 255
            image = Image.fromarray(np.rint(np.asarray(image) / 257).astype(np.uint8))
        image = ImageOps.exif_transpose(image).convert("L" if self.grey else "RGB")
        if self.crop:
            side = min(image.size)
            left, top = (image.width - side) // 2, (image.height - side) // 2
            image = image.crop((left, top, left + side, top + side))
        if self.size is not None:
            image = image.resize((self.size, self.size), Image.Resampling.LANCZOS)
        pixels = np.asarray(image)
        return pixels[None] if self.grey else np.ascontiguousarray(pixels.transpose(2, 0, 1))


def read_pictures(
    sources: Iterable[Source], treatment: Treatment, selection: Selection, name: str
) -> Float[np.ndarray, "N C H W"]:
    """Pictures in [-1, 1], taken in order until the requested number is reached."""
    pictures: list[np.ndarray] = []
    for source, opener in sources:
        if len(pictures) == selection.count:
            break
        picture = _read(source, opener, treatment)
        if picture is None:
            continue
        if pictures and picture.shape != pictures[0].shape:
            first, other = ("x".join(map(str, p.shape[1:])) for p in (pictures[0], picture))
            raise InputError(
                f"{source} is {other}, but those before it are {first}: "
                "make them alike with size=PIXELS"
            )
        pictures.append(picture)
    if not pictures:
        raise InputError(f"{name} has no readable picture")
    selection.check(len(pictures), name)
    return scaled(np.stack(pictures), name)


def _read(
    name: str, opener: Callable[[], Image.Image], treatment: Treatment
) -> UInt8[np.ndarray, "C H W"] | None:
    try:
        with warnings.catch_warnings():
            # Pillow only warns up to twice its limit, and about harmless oddities of files.
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with opener() as image:
                return treatment.apply(image)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise InputError(
            f"{name} would unpack to more than {Image.MAX_IMAGE_PIXELS:,} pixels: "
            "shrink it or take it out"
        ) from error
    except InputError as error:
        raise InputError(f"{name} {error}") from error
    except Exception as error:  # every decoder of Pillow raises its own errors
        if treatment.skip_corrupt:
            return None
        raise InputError(
            f"{name} is not a readable picture: mend it, or leave such out with skip-corrupt"
        ) from error
