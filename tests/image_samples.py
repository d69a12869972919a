"""Image files to test with, small and valid unless they say otherwise."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image as Pillow

PDF = b"%PDF-1.7\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"


def chunk(name, content):
    """A part of a png file."""
    body = name + content
    return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))


def png(width=1, height=1, extra=0):
    """A red png file; *extra* bytes longer than it need be."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\xff\0\0" * width) * height)
    filling = chunk(b"noTe", b"x" * (extra - 12)) if extra else b""
    parts = (chunk(b"IHDR", header), filling, chunk(b"IDAT", pixels), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def saved(image, kind, **settings):
    """A Pillow image as a file of some kind."""
    file = io.BytesIO()
    image.save(file, kind, **settings)
    return file.getvalue()


def sample(kind, size=(3, 2), mode="RGB", **settings):
    """A file of some kind, made by Pillow."""
    return saved(Pillow.new(mode, size), kind, **settings)


PNG = png()
JPEG = sample("JPEG")
GIF = sample("GIF", mode="P")
WEBP = sample("WEBP")

KINDS = {"image/png": PNG, "image/jpeg": JPEG, "image/gif": GIF, "image/webp": WEBP}
