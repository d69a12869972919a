"""
Turn what other packages draw into an image file: Pillow images and matplotlib figures.

Neither package is ever imported here. Who attaches such an object has imported its
package, so a Pillow image is known by the class that is loaded; a figure, by ``savefig``,
which plots in it lead to by ``figure``.
"""

from __future__ import annotations

import io
import sys
from typing import Any, Optional

from .errors import UsageError
from .image_files import LARGEST_IMAGE, LARGEST_SIDE

__all__ = ["is_picture", "picture_bytes"]

# Modes of Pillow that a png file has as they are; those of one number a pixel; all others
# become colors.
PNG_MODES = ("1", "L", "LA", "P", "RGB", "RGBA")
NUMBERS = ("I", "F", "I;16", "I;16L", "I;16B", "I;16N")
WITH_ALPHA = ("LA", "PA", "RGBa")

# To what an image that is too large is reduced. CLIs do the same to what they read.
REDUCED_SIDE = 2000
JPEG_QUALITY = 85

# Cameras turn pictures by a note in the file, which png does not have. Pillow's numbers of
# what undoes it.
ORIENTATION = 0x0112
TURNS = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}


def is_picture(value: Any) -> bool:
    """Whether *value* is a Pillow image or a figure that can be saved."""
    return is_pillow_image(value) or savefig_of(value) is not None


def is_pillow_image(value: Any) -> bool:
    """Whether *value* is an image of Pillow, which is loaded then."""
    image_class: Optional[type] = getattr(sys.modules.get("PIL.Image"), "Image", None)
    return image_class is not None and isinstance(value, image_class)


def savefig_of(value: Any) -> Any:
    """What saves the figure that *value* is, or is a part of; None if it is no figure."""
    for figure in (value, getattr(value, "figure", None)):
        savefig = getattr(figure, "savefig", None)
        if callable(savefig):
            return savefig
    return None


def picture_bytes(value: Any, label: str) -> bytes:
    """*value* as an image file. Pillow images that are too large are reduced."""
    try:
        if is_pillow_image(value):
            return pillow_bytes(value)
        return saved(savefig_of(value), format="png")
    except Exception as error:
        raise UsageError(
            f"{label}, a {type(value).__name__}, cannot be made into a png: {error}. Save it "
            "yourself, and attach the file."
        ) from error


def pillow_bytes(image: Any) -> bytes:
    """A Pillow image as png, or if that is too large, smaller, or as jpeg."""
    image = upright(image)
    if image.mode in NUMBERS:
        image = grey(image)
    elif image.mode not in PNG_MODES:
        image = with_colors(image)
    if max(image.size) <= LARGEST_SIDE:
        data = saved(image.save, format="PNG")
        if len(data) <= LARGEST_IMAGE:
            return data
    image = with_colors(image)
    image.thumbnail((REDUCED_SIDE, REDUCED_SIDE))
    data = saved(image.save, format="PNG")
    if len(data) <= LARGEST_IMAGE:
        return data
    return saved(image.convert("RGB").save, format="JPEG", quality=JPEG_QUALITY)


def upright(image: Any) -> Any:
    """The image as the camera meant it."""
    turn = TURNS.get(image.getexif().get(ORIENTATION))
    return image if turn is None else image.transpose(turn)


def with_colors(image: Any) -> Any:
    """A copy of the image in colors."""
    if image.mode == "La":
        image = image.convert("LA")  # which is the only way out of it
    transparent = image.mode in WITH_ALPHA or "transparency" in image.info
    return image.copy() if image.mode == "RGBA" else image.convert("RGBA" if transparent else "RGB")


def grey(image: Any) -> Any:
    """An image of numbers in shades of grey; black is the least one if they do not fit."""
    image = image.convert("F")
    least, greatest = image.getextrema()
    if least < 0 or greatest > 255:
        scale = 255 / ((greatest - least) or 1)
        image = image.point(lambda value: value * scale - least * scale)
    return image.convert("L")


def saved(save: Any, **settings: Any) -> bytes:
    """What *save* writes to a file."""
    file = io.BytesIO()
    save(file, **settings)
    return file.getvalue()
