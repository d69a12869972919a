"""What the bytes of an image file give away, without decoding a pixel."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from image_samples import GIF, JPEG, KINDS, PDF, PNG, WEBP, chunk, png, sample, saved
from PIL import Image as Pillow

from claude_sync import image_files
from claude_sync.image_files import image_fault, image_size, media_type

SIZES = [(1, 1), (300, 200), (17, 1999)]


@pytest.mark.parametrize(("kind", "data"), [*KINDS.items(), ("application/pdf", PDF)])
def test_the_kind_is_found_by_the_first_bytes(kind, data):
    """Each kind that Claude reads is known."""
    assert media_type(data) == kind


@pytest.mark.parametrize("data", [b"", b"GIF", b"text", b"RIFF....WAVE", b"BM\0\0", PNG[1:]])
def test_other_bytes_have_no_kind(data):
    """A text, another image, nothing at all."""
    assert media_type(data) is None
    assert image_size(data) is None
    assert "Convert it to png, jpeg, gif or webp" in image_fault(data)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("kind", "mode", "settings"),
    [
        ("PNG", "RGB", {}),
        ("PNG", "P", {"bits": 4}),
        ("JPEG", "RGB", {}),
        ("JPEG", "L", {"progressive": True, "optimize": True}),
        ("JPEG", "CMYK", {"comment": b"\xff\xd9 looks like an end" * 1000}),
        ("GIF", "P", {}),
        ("GIF", "RGB", {"comment": b"something about it", "save_all": True, "loop": 2}),
        ("WEBP", "RGB", {}),
        ("WEBP", "RGBA", {"lossless": True}),
        ("WEBP", "RGBA", {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0"}),
    ],
)
def test_real_files_have_their_size_and_no_fault(kind, mode, settings, size):
    """As Pillow wrote it, and with something after its end."""
    data = sample(kind, size, mode, **settings)
    assert image_size(data) == size
    assert image_fault(data) is None
    assert image_fault(data + b"\0 and more") is None


@pytest.mark.parametrize("data", KINDS.values(), ids=KINDS)
def test_a_file_that_is_cut_off_is_told(data):
    """Wherever it ends too early: the service would refuse it, and all that comes after it."""
    # Of a gif only the mark of its end may be missing.
    for length in range(12, len(data) - 1):
        fault = image_fault(data[:length])
        assert fault is not None and "is damaged" in fault, length


def test_a_jpeg_is_not_whole_because_its_preview_is():
    """The end of the small picture inside is not the end of the large one."""
    preview = b"\xff\xe1" + struct.pack(">H", len(JPEG) + 2) + JPEG
    data = JPEG[:2] + preview + JPEG[2:]
    assert image_fault(data) is None
    assert "cut off" in image_fault(data[:-2])


@pytest.mark.parametrize("marker", [0xC4, 0xC8, 0xCC])
def test_tables_of_a_jpeg_may_come_before_its_size(marker):
    """Their marks look like those of a frame."""
    table = bytes([0xFF, marker, 0, 9]) + b"\x01" * 7
    assert image_size(JPEG[:2] + table + JPEG[2:]) == (3, 2)


def test_a_jpeg_may_fill_up_between_its_segments():
    """Bytes that only fill, and segments without a length, are passed over."""
    assert image_size(JPEG[:2] + b"\xff\xff\xff\x01" + JPEG[2:]) == (3, 2)


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xd8\xff\xda\0\x02" + b"\0" * 20,  # pixels without a size
        b"\xff\xd8\xff\xe0\0\x02no marker here",
        b"\xff\xd8\xff" + b"\xff" * 50,
        PNG[:8] + chunk(b"CgBI", b"....") + PNG[8:],  # what telephones call a png
        png(0, 1),
        png(1, 0),
        b"GIF89a\0\0\0\0\0\0\0;",
        b"RIFF\x10\0\0\0WEBPVP8 " + b"\0" * 30,
        b"RIFF\x10\0\0\0WEBPVP8L" + b"\0" * 30,
        b"RIFF\x10\0\0\0WEBPVP8X" + b"\0" * 8,
        b"RIFF\x10\0\0\0WEBPABCD" + b"\0" * 30,
    ],
)
def test_a_file_without_a_size_is_damaged(data):
    """It begins like an image, and is none."""
    assert "is damaged: it begins like image/" in image_fault(data)


@pytest.mark.parametrize(
    "data",
    [
        PNG.replace(b"IDAT", b"IDOT"),
        GIF[:13] + b"\0" * 900,  # no picture
        JPEG[:-2],
        WEBP[:-1],
    ],
)
def test_a_file_without_pixels_is_damaged(data):
    """Its header alone is right."""
    assert image_size(data) is not None
    assert "is damaged or cut off" in image_fault(data)


def test_a_gif_may_have_colors_of_its_own_for_a_picture():
    """The second table of colors is passed over as well."""
    frames = [Pillow.new("RGB", (4, 4), color) for color in ("red", "blue")]
    data = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    # No common table, and that of the first picture in its place.
    table = data[13 : 13 + image_files.color_table_length(data[10])]
    rest = data[13 + len(table) :]
    at = rest.index(b"\x2c")
    own = bytes([rest[at + 9] | 0x80 | (data[10] & 7)])
    moved = data[:10] + b"\0" + data[11:13] + rest[: at + 9] + own + table + rest[at + 10 :]
    assert image_fault(moved) is None


def test_the_limit_of_the_size_counts_base64():
    """Five megabytes of letters are three quarters of that in bytes."""
    assert 4 * image_files.LARGEST_IMAGE == 3 * 5 * 1024 * 1024
    most = png(extra=image_files.LARGEST_IMAGE - len(PNG))
    assert len(most) == image_files.LARGEST_IMAGE
    assert image_fault(most) is None
    fault = image_fault(png(extra=image_files.LARGEST_IMAGE - len(PNG) + 1))
    assert "has 3.93 MB" in fault and "Make it smaller" in fault


@pytest.mark.parametrize("size", [(8001, 1), (1, 8001)])
def test_neither_side_may_be_too_long(size):
    """Eight thousand pixels are the most."""
    assert image_fault(png(8000, 1)) is None
    fault = image_fault(png(*size))
    assert f"has {size[0]} x {size[1]} pixels" in fault and "Make it smaller" in fault


@given(st.sampled_from([*KINDS.values()]), st.data())
def test_whatever_the_bytes_are_nothing_is_raised(data, draw):
    """Damage of any kind is told, never an exception, and it ends."""
    changed = bytearray(data)
    for _ in range(draw.draw(st.integers(1, 6))):
        place = draw.draw(st.integers(0, len(changed) - 1))
        changed[place] = draw.draw(st.integers(0, 255))
    del changed[draw.draw(st.integers(0, len(changed))) :]
    size = image_size(bytes(changed))
    assert size is None or len(size) == 2
    assert isinstance(image_fault(bytes(changed)), (str, type(None)))
