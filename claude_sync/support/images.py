"""
Images: what the bytes of a file say about it, and the class that programs hold.

Only headers are read; no pixel is decoded. The checks are worth their trouble: CLIs keep an
image that the service refuses in the conversation, and every later question fails with it. So
an image that a program makes is checked at once. One that came from a CLI is taken as it is.
"""

from __future__ import annotations

import base64
import os
import struct
from pathlib import Path
from typing import Any

from ..errors import UsageError

#: The kinds of images that Claude sees, with the usual endings of their names.
IMAGE_TYPES = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
}

# Limits of the Messages API. The first one counts base64 there, which is a third longer.
LARGEST_IMAGE = 5 * 1024 * 1024 * 3 // 4
LARGEST_SIDE = 8000
MAKE_SMALLER = "Make it smaller, or attach it opened with Pillow: then it is made to fit."

SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": "application/pdf",
}
# What a whole file has somewhere; a copy that was cut off has not.
ENDS = {"image/png": b"IEND", "image/jpeg": b"\xff\xd9"}

# Notebooks show these by themselves; the other kinds need HTML.
SHOWN_BY_NOTEBOOKS = ("image/png", "image/jpeg", "image/gif")


def media_type_of(data: bytes) -> str | None:
    """The type of an image or a PDF, found by its first bytes; None for everything else."""
    for signature, kind in SIGNATURES.items():
        if data.startswith(signature):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def image_fault(data: bytes) -> str | None:
    """Why an image cannot be sent, and what to do; None if it can. Reads like "is cut off"."""
    kind = media_type_of(data)
    if kind not in IMAGE_TYPES:
        return "is not an image that Claude can read. Convert it to png, jpeg, gif or webp."
    if len(data) > LARGEST_IMAGE:
        limit = LARGEST_IMAGE / 1e6
        return f"has {len(data) / 1e6:.2f} MB; the limit is {limit:.2f} MB. {MAKE_SMALLER}"
    size = image_size(data)
    if size is None or not all(size) or ENDS.get(kind, b"") not in data:
        return f"is damaged or cut off: it begins like {kind}. Copy or save it once more."
    if max(size) > LARGEST_SIDE:
        shown = f"{size[0]} x {size[1]} pixels; the limit is {LARGEST_SIDE} a side"
        return f"has {shown}. {MAKE_SMALLER}"
    return None


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height in pixels, as the header has them; None where it cannot be read."""
    try:
        match media_type_of(data):
            case "image/png":
                return struct.unpack_from(">II", data, 16) if data[12:16] == b"IHDR" else None
            case "image/gif":
                return struct.unpack_from("<HH", data, 6)
            case "image/jpeg":
                return jpeg_size(data)
            case "image/webp":
                return webp_size(data)
    except (IndexError, struct.error):  # the header is cut off
        pass
    return None


def jpeg_size(data: bytes) -> tuple[int, int] | None:
    """The size of a JPEG: segments of a marker and a length come before the one that has it."""
    position = 2
    while data[position] == 0xFF:
        marker = data[position + 1]
        if marker == 0xFF:  # fills up
            position += 1
        elif 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, position + 5)
            return width, height
        elif marker == 0xDA:  # the pixels begin, and no size came
            return None
        elif marker == 0x01 or 0xD0 <= marker <= 0xD7:  # has no length
            position += 2
        else:
            position += 2 + int.from_bytes(data[position + 2 : position + 4], "big")
    return None


def webp_size(data: bytes) -> tuple[int, int] | None:
    """The size of a WebP: a container of three kinds of picture."""
    kind = data[12:16]
    if kind == b"VP8X":
        width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
        return (width, height) if len(data) >= 30 else None
    if kind == b"VP8L" and data[20] == 0x2F:
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None


class Image:
    """
    An image: returned by a tool, attached to a question, or come with a tool's result::

        image = claude_sync.Image.open("plot.png")
        client.ask("What is this?", attach=[image])

        @client.on_tool_result
        def keep(result):
            for number, image in enumerate(result.images):
                image.save(f"{result.tool_use_id}-{number}")

    Attributes:
        media_type: Such as ``image/png``; found by the content where Claude sees the kind.
        url: The address of an image that came without its bytes, or None.

    """

    __slots__ = ("_data", "media_type", "url")

    def __init__(self, data: bytes, media_type: str | None = None) -> None:
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise UsageError(
                f"Image() takes the bytes of an image file, not {type(data).__name__}. "
                "Use Image.open(...) for paths, files, Pillow images and figures."
            )
        self._data: bytes | None = bytes(data)
        self.url: str | None = None
        self.media_type = media_type_of(self._data) or ""
        fault = image_fault(self._data)
        if fault is not None:
            raise UsageError(f"the image {fault}")
        if media_type not in (None, self.media_type):
            raise UsageError(
                f"the image is {self.media_type}, not {media_type}. Leave media_type out; the "
                "content decides."
            )

    @staticmethod
    def open(source: Any) -> Image:
        """
        The image in a file, given by its path or open for reading; or a Pillow image or
        a matplotlib figure, as png, and if need be smaller or as jpeg.
        """
        from .files import image_of

        return image_of(source)

    @property
    def data(self) -> bytes:
        """The bytes of the image file. UsageError for an image that came without."""
        if self._data is None:
            advice = "See .raw of its block." if self.url is None else f"Download {self.url!r}."
            raise UsageError(f"the image came without readable data. {advice}")
        return self._data

    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height in pixels; None for what is not png, jpeg, gif or webp."""
        return image_size(self.data)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """
        Write the image file to *path* and return where it is.

        A name without an ending gets the one that fits. The image is not converted.
        """
        data = self.data
        target = Path(path).expanduser()
        if not target.suffix:
            target = Path(f"{target}{IMAGE_TYPES.get(self.media_type, '')}")
        target.write_bytes(data)
        return target

    def block(self) -> dict[str, Any]:
        """The image as a content block of MCP."""
        encoded = base64.b64encode(self.data).decode("ascii")
        return {"type": "image", "data": encoded, "mimeType": self.media_type}

    def __repr__(self) -> str:
        if self.url is not None:
            return f"<Image at {self.url}>"
        return f"<Image {self.media_type}, {len(self._data or b'')} bytes>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Image) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[object, ...]:
        return self.media_type, self.url, self._data

    def _repr_mimebundle_(self, **_wishes: Any) -> dict[str, str]:
        """How notebooks show it. Nothing is fetched; what could hold a script is not shown."""
        shown = {"text/plain": repr(self)}
        if self._data is not None and self.media_type in IMAGE_TYPES:
            encoded = self.block()["data"]
            if self.media_type in SHOWN_BY_NOTEBOOKS:
                shown[self.media_type] = encoded
            else:
                shown["text/html"] = f'<img src="data:{self.media_type};base64,{encoded}">'
        return shown


def received_image(declared_type: str, encoded: str, url: str | None) -> Image:
    """An image that came from the CLI, as base64 or as an address; whatever it is, it is taken."""
    image = Image.__new__(Image)
    image._data = decoded(encoded)
    # Some CLIs and tools leave data empty, some the address; bytes are worth more.
    image.url = None if encoded else url
    # Tools declare what they like; sent again, the type must be right.
    found = media_type_of(image._data or b"")
    image.media_type = found if found in IMAGE_TYPES else declared_type
    return image


def decoded(encoded: str) -> bytes | None:
    """The bytes that *encoded* holds in base64; None for nothing and for anything else."""
    try:
        return base64.b64decode(encoded) or None
    except ValueError:
        return None
