"""
Look into the bytes of an image file: what kind it is, how large, and whether it is whole.

Only headers are read, and no pixel is decoded. It is worth the trouble: an image that
the service refuses stays in the conversation, and every later question fails with it.
"""

from __future__ import annotations

import struct
from typing import Optional, Tuple

__all__ = [
    "IMAGE_TYPES",
    "LARGEST_IMAGE",
    "LARGEST_SIDE",
    "image_fault",
    "image_size",
    "media_type",
]

#: The kinds of images that Claude sees, with the ends of names that fit.
IMAGE_TYPES = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
}

# Limits of the Messages API. That of the size counts base64, which is a third longer.
LARGEST_IMAGE = 5 * 1024 * 1024 * 3 // 4
LARGEST_SIDE = 8000

SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)

# Segments of a JPEG file that begin a frame, and so tell its size; and those without a length.
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD8)})
SCAN = 0xDA
END_OF_IMAGE = b"\xff\xd9"

MAKE_SMALLER = "Make it smaller; an image that was opened with Pillow is made to fit by itself."

Size = Tuple[int, int]


def media_type(data: bytes) -> Optional[str]:
    """The type of an image or a PDF, which the first bytes give away; None for all else."""
    for signature, kind in SIGNATURES:
        if data.startswith(signature):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def image_fault(data: bytes) -> Optional[str]:
    """Why an image cannot be sent, and what to do; None if it can. Reads like "is cut off"."""
    kind = media_type(data)
    if kind not in IMAGE_TYPES:
        return "is no image that Claude can see. Convert it to png, jpeg, gif or webp."
    if len(data) > LARGEST_IMAGE:
        return (
            f"has {len(data) / 1e6:.2f} MB, and an image may have {LARGEST_IMAGE / 1e6:.2f}. "
            f"{MAKE_SMALLER}"
        )
    size = image_size(data)
    if size is None or not all(size):
        return f"is damaged: it begins like {kind}, but has no size. Save it once more."
    if max(size) > LARGEST_SIDE:
        return (
            f"has {size[0]} x {size[1]} pixels, and {LARGEST_SIDE} a side is the most. "
            f"{MAKE_SMALLER}"
        )
    if not is_whole(data, kind):
        return "is damaged or cut off: its end is missing. Copy or download it again."
    return None


def image_size(data: bytes) -> Optional[Size]:
    """Width and height in pixels, as the header has them; None where it cannot be read."""
    try:
        return SIZES[media_type(data) or ""](data)
    except (KeyError, IndexError, struct.error):  # no image, or a header that is cut off
        return None


def is_whole(data: bytes, kind: str) -> bool:
    """Whether the file goes on to its own end; what comes after that does not matter."""
    try:
        return ENDS[kind](data)
    except (IndexError, struct.error):
        return False


# PNG: a signature, then chunks of a length, a name, the content and a checksum.


def png_size(data: bytes) -> Optional[Size]:
    """From the header, which must come first."""
    if data[12:16] != b"IHDR":
        return None
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def png_is_whole(data: bytes) -> bool:
    """Whether the chunks go on to the last one, with pixels among them."""
    position, name, has_pixels = 8, b"", False
    while name != b"IEND":
        length, name = struct.unpack_from(">I4s", data, position)
        has_pixels = has_pixels or name == b"IDAT"
        position += 12 + length
    return has_pixels and position <= len(data)


# JPEG: segments of a marker, a length and the content, then the pixels, then an end.


def jpeg_frame(data: bytes) -> Optional[int]:
    """Where the segment with the size begins."""
    position = 2
    while data[position] == 0xFF:
        marker = data[position + 1]
        if marker in FRAMES:
            return position
        if marker == SCAN:
            return None
        if marker == 0xFF:  # fills up
            position += 1
        elif marker in WITHOUT_LENGTH:
            position += 2
        else:
            position += 2 + int.from_bytes(data[position + 2 : position + 4], "big")
    return None


def jpeg_size(data: bytes) -> Optional[Size]:
    """From the frame, which may come late."""
    frame = jpeg_frame(data)
    if frame is None:
        return None
    height, width = struct.unpack_from(">HH", data, frame + 5)
    return width, height


def jpeg_is_whole(data: bytes) -> bool:
    """Whether the pixels have an end."""
    # Before the frame there may be a small preview, with an end of its own.
    frame = jpeg_frame(data)
    return frame is not None and data.find(END_OF_IMAGE, frame) > 0


# GIF: a header, a table of colors, then blocks, each a chain of short ones.


def gif_size(data: bytes) -> Optional[Size]:
    """From the header."""
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def gif_is_whole(data: bytes) -> bool:
    """Whether its first picture is there: Claude sees no other."""
    position = 13 + color_table_length(data[10])
    while data[position] == 0x21:  # something about the picture
        position = after_chain(data, position + 2)
    if data[position] != 0x2C:
        return False
    position += 10
    after_chain(data, position + color_table_length(data[position - 1]) + 1)
    return True


def color_table_length(flags: int) -> int:
    """How many bytes of colors there are, by the flags before them."""
    return 3 * 2 ** ((flags & 0x07) + 1) if flags & 0x80 else 0


def after_chain(data: bytes, position: int) -> int:
    """Where a chain of short blocks has ended; IndexError if it does not."""
    while data[position]:
        position += 1 + data[position]
    return position + 1


# WebP: a container with its length, then one of three kinds of picture.


def webp_size(data: bytes) -> Optional[Size]:
    """From the first part of the container."""
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


def webp_is_whole(data: bytes) -> bool:
    """Whether the container is as long as it says."""
    return int.from_bytes(data[4:8], "little") + 8 <= len(data)


SIZES = {
    "image/png": png_size,
    "image/jpeg": jpeg_size,
    "image/gif": gif_size,
    "image/webp": webp_size,
}
ENDS = {
    "image/png": png_is_whole,
    "image/jpeg": jpeg_is_whole,
    "image/gif": gif_is_whole,
    "image/webp": webp_is_whole,
}
