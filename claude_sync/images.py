"""
Images, on their way to Claude and back: what a tool returns, what is attached, what came.

An image that a program makes is checked at once. One that came is taken as it is, and
decoded when somebody asks for its bytes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, Optional, Tuple, Union

from .blocks import decoded
from .errors import UsageError
from .image_files import IMAGE_TYPES, image_fault, image_size
from .image_files import media_type as type_by_content

__all__ = ["Image", "received_image"]

# The first letters of base64 hold all bytes by which a kind is known.
TELLING_LETTERS = 32

# What notebooks show by itself; for the others they need HTML.
SHOWN_BY_NOTEBOOKS = ("image/png", "image/jpeg", "image/gif")


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
        media_type: Such as ``image/png``; found by the content where it is one of the
            kinds that Claude sees.
        url: The address of an image that came without its bytes, or None.

    """

    __slots__ = ("_base64", "_data", "media_type", "url")

    def __init__(self, data: bytes, media_type: Optional[str] = None) -> None:
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise UsageError(
                f"Image() takes the bytes of an image file, not {type(data).__name__}. "
                "Use Image.open(...) for paths, files, Pillow images and figures."
            )
        if media_type is not None and media_type not in IMAGE_TYPES:
            raise UsageError(
                f"Claude cannot see {media_type!r}. Convert the image to png, jpeg, gif or webp."
            )
        self._data: Optional[bytes] = bytes(data)
        self._base64 = ""
        self.url: Optional[str] = None
        found = type_by_content(self._data)
        if found is not None and media_type not in (None, found):
            raise UsageError(
                f"the image is {found}, not {media_type}. Leave media_type out; it is found by "
                "the content."
            )
        fault = image_fault(self._data)
        if fault is not None:
            raise UsageError(f"the image {fault}")
        self.media_type: str = found or ""

    @staticmethod
    def open(source: Any) -> Image:
        """
        The image in a file, given by its path or open for reading; or a Pillow image or
        a matplotlib figure, as png, and if need be smaller or as jpeg.
        """
        from .attachments import image_of

        return image_of(source)

    @property
    def data(self) -> bytes:
        """The bytes of the image file. UsageError for an image that came without."""
        if self._data is None:
            if self.url is not None:
                raise UsageError(
                    f"the image came without its bytes, as an address. Download {self.url!r}."
                )
            self._data = decoded(self._base64)
            if self._data is None:
                raise UsageError(
                    "the image came without data that could be read. See .raw of its block."
                )
            self._base64 = ""
        return self._data

    @property
    def size(self) -> Optional[Tuple[int, int]]:
        """Width and height in pixels; None for what is not png, jpeg, gif or webp."""
        return image_size(self.data)

    def save(self, path: Union[str, os.PathLike[str]]) -> Path:
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

    def block(self) -> Dict[str, Any]:
        """The image as a content block of MCP."""
        return {"type": "image", "data": self._encoded(), "mimeType": self.media_type}

    def __repr__(self) -> str:
        if self.url is not None:
            return f"<Image at {self.url}>"
        if self._data is None:
            return f"<Image {self.media_type}>"
        return f"<Image {self.media_type}, {len(self._data)} bytes>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Image):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _repr_mimebundle_(self, **_wishes: Any) -> Dict[str, str]:
        """How notebooks show it. Nothing is fetched, and nothing shown that could be a program."""
        shown = {"text/plain": repr(self)}
        if self.media_type in IMAGE_TYPES and self._is_readable():
            encoded = self._encoded()
            if self.media_type in SHOWN_BY_NOTEBOOKS:
                shown[self.media_type] = encoded
            else:
                shown["text/html"] = f'<img src="data:{self.media_type};base64,{encoded}">'
        return shown

    def _is_readable(self) -> bool:
        """Whether its bytes are there."""
        try:
            return bool(self.data)
        except UsageError:
            return False

    def _encoded(self) -> str:
        """The bytes in base64."""
        import base64

        return base64.b64encode(self.data).decode("ascii")

    def _identity(self) -> Tuple[str, Optional[str], Union[bytes, str]]:
        """What makes two images the same."""
        return self.media_type, self.url, self.data if self._is_readable() else self._base64


def received_image(declared_type: str, encoded: str, url: Optional[str]) -> Image:
    """An image that came, as base64 or as an address; nothing about it is an error."""
    image = Image.__new__(Image)
    image._data = None
    image._base64 = encoded
    # Some CLIs and tools leave data empty, some the address; bytes are worth more.
    image.url = None if encoded else url
    image.media_type = type_by_letters(encoded) or declared_type
    return image


def type_by_letters(encoded: str) -> Optional[str]:
    """The type of what *encoded* has in base64, if it is an image that Claude sees."""
    found = type_by_content(decoded(encoded[:TELLING_LETTERS]) or b"")
    return found if found in IMAGE_TYPES else None
