"""
Read what a program passes as a file: a path, bytes, an open file, a picture of another package.

Nothing here waits for ever: a path that is a pipe is not opened, and reading stops where it is
more than can be sent. Neither Pillow nor matplotlib is imported: a program that has such an
object has imported its package, so a Pillow image is known by the class that is loaded, and a
figure by its ``savefig``.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from typing import Any

from ..errors import UsageError
from .images import LARGEST_IMAGE, LARGEST_SIDE, Image
from .text import short

# The Messages API takes requests of 32 MB, counted in base64. This leaves room for what else is
# in one; reading stops here.
LARGEST_TOTAL = 30 * 1024 * 1024

# An error shows this much of a path; some are no paths, but megabytes of text.
SHOWN = 200
SOURCES = (
    "Pass the path of a file, its bytes, an open file, a claude_sync.Image, a Pillow image or "
    "a matplotlib figure."
)
NOT_READ = (
    "Check the path, which is relative to the program's working folder, and your permissions. "
    "Download a URL first."
)
NO_PATH = "A str is the path of a file. For a text use data=..., or attach text.encode()."

# An image that is too large is reduced to this. CLIs do the same to files that they read.
REDUCED_SIDE = 2000
JPEG_QUALITY = 85


def content_of(source: Any, label: str) -> tuple[bytes | str, str | None]:
    """The content of *source*, whatever it is, and its name if it has one."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), None
    if isinstance(source, (str, os.PathLike)):
        return content_at(os.fsdecode(source))
    if isinstance(source, Image):
        return source.data, None
    if is_picture(source):
        return picture_bytes(source, label), None
    if callable(getattr(source, "read", None)):
        return content_left(source, label)
    raise UsageError(f"cannot attach {type(source).__name__}. {SOURCES}")


def image_of(source: Any) -> Image:
    """The image that *source* is or holds; what :meth:`Image.open` does."""
    source = getattr(source, "image", source)  # an ImageBlock has one
    if isinstance(source, Image):
        return source
    content, _ = content_of(source, "the image")
    return Image(content if isinstance(content, bytes) else b"")  # an open text is no image


def content_at(path: str) -> tuple[bytes, str]:
    """The file at a path, which may begin with ``~``; nothing else is opened."""
    if path.startswith("~") and not os.path.exists(path):
        path = os.path.expanduser(path)
    try:
        found = os.stat(path)
        if stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST_TOTAL:
            with open(path, "rb") as file:
                return file.read(), sendable(os.path.basename(path))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        advice = NO_PATH if "\n" in path or len(path) > 255 else NOT_READ
        raise UsageError(f"cannot attach {short(path, SHOWN)}: {reason}. {advice}") from error
    what, advice = "a pipe or a device", "Read it yourself, and attach the bytes."
    if stat.S_ISDIR(found.st_mode):
        what, advice = "a folder", "Attach files in it, or let Claude read it in its own folders."
    elif stat.S_ISREG(found.st_mode):
        what = f"too large, {found.st_size / 1e6:.0f} MB"
        advice = "Attach a part of it, or let Claude read the file itself."
    raise UsageError(f"{path!r} is {what}. {advice}")


def content_left(file: Any, label: str) -> tuple[bytes | str, str | None]:
    """What is left in an open file, and its name."""
    name = getattr(file, "name", None)
    # The number of a descriptor, and <stdin>, are no names.
    shown = os.path.basename(name) if isinstance(name, str) and name[:1] != "<" else ""
    label = repr(shown) if shown else label
    try:
        content = file.read(LARGEST_TOTAL + 1)
    except Exception as error:  # an object of the program's may raise anything
        reason = f"{type(error).__name__}: {error}"[:SHOWN]
        advice = "Open it for reading: images and PDFs with 'rb', texts with their encoding."
        raise UsageError(f"cannot read {label}: {reason}. {advice}") from error
    if not content or not isinstance(content, (bytes, str)):
        raise UsageError(f"nothing is left to read in {label}. Go back first: file.seek(0).")
    return content, sendable(shown) or None


def sendable(text: str) -> str:
    """*text* without halves of letters, which names and texts of unknown encoding may have."""
    return text.encode("utf-8", "replace").decode("utf-8")


# Pictures of other packages.


def is_picture(value: Any) -> bool:
    """Whether *value* is a Pillow image or a figure that can be saved."""
    return is_pillow_image(value) or savefig_of(value) is not None


def is_table(value: Any) -> bool:
    """Whether *value* is a data frame, or a column of one: of pandas, or of polars."""
    writers = ("to_csv", "write_csv")
    return hasattr(value, "shape") and any(hasattr(value, each) for each in writers)


def is_pillow_image(value: Any) -> bool:
    """Whether *value* is an image of Pillow, which is loaded then."""
    image_class = getattr(sys.modules.get("PIL.Image"), "Image", None)
    return image_class is not None and isinstance(value, image_class)


def savefig_of(value: Any) -> Any:
    """What saves the figure that *value* is, or that a plot is in; None for anything else."""
    figure = value if hasattr(value, "savefig") else getattr(value, "figure", None)
    return getattr(figure, "savefig", None)


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
    from PIL import ImageOps

    if image.mode[0] in "IF":  # to cut them to eight bits could make everything white
        raise ValueError(f"its mode {image.mode!r} has numbers; make them shades of 'L' first")
    # Cameras turn pictures by a note in the file, which png does not have.
    image = ImageOps.exif_transpose(image)
    if max(image.size) <= LARGEST_SIDE:
        image = image if image.mode in ("1", "L", "LA", "P", "RGB", "RGBA") else colored(image)
        data = saved(image.save, format="PNG")
        if len(data) <= LARGEST_IMAGE:
            return data
    image = colored(image)
    image.thumbnail((REDUCED_SIDE, REDUCED_SIDE))
    data = saved(image.save, format="PNG")
    if len(data) > LARGEST_IMAGE:
        data = saved(image.convert("RGB").save, format="JPEG", quality=JPEG_QUALITY)
    return data


def colored(image: Any) -> Any:
    """A copy of the image in colors."""
    transparent = image.mode in ("RGBA", "LA", "PA", "RGBa") or "transparency" in image.info
    return image.convert("RGBA" if transparent else "RGB")


def saved(save: Any, **settings: Any) -> bytes:
    """What *save* writes to a file."""
    file = io.BytesIO()
    save(file, **settings)
    return file.getvalue()
