"""Images: what their bytes tell, which are refused, and those that came from a CLI."""

from __future__ import annotations

import base64
import copy
import io
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from image_samples import JPEG, KINDS, PDF, PNG, WEBP, chunk, png, sample
from PIL import Image as Pillow
from tables import each

import claude_sync
from claude_sync import Image, ImageBlock, UsageError
from claude_sync.support.images import LARGEST_IMAGE, image_fault, image_size

SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"
ADDRESS = "https://example.org/a.png"
ENDINGS = (".png", ".jpg", ".gif", ".webp")


def letters(data):
    """As it comes over the wire."""
    return base64.b64encode(data).decode()


def came(media_type, data=b"", url=None):
    """An image out of a block that the CLI sent."""
    return ImageBlock(media_type, letters(data), url).image


# What the bytes tell.


@each(
    ("kind", "mode", "settings"),
    [
        ("PNG", "RGB", {}),
        ("JPEG", "L", {"progressive": True}),
        ("JPEG", "CMYK", {"comment": b"\xff\xd9\xff\xc0 looks like more" * 1000}),
        ("GIF", "RGB", {"comment": b"something about it", "save_all": True}),
        ("WEBP", "RGB", {}),
        ("WEBP", "RGBA", {"lossless": True}),
        ("WEBP", "RGBA", {"exif": b"Exif\0\0MM\0*\0\0\0\x08\0\0\0\0\0\0"}),
    ],
)
def test_real_files_have_their_size_and_no_fault(kind, mode, settings):
    """As Pillow wrote them, and with something after their end."""
    for size in ((1, 1), (300, 200), (17, 1999)):
        data = sample(kind, size, mode, **settings)
        assert image_size(data) == size
        assert image_fault(data) is image_fault(data + b"\0 and more") is None


@each(
    "marker",
    [
        b"\xff\xc4\0\x04\0\0",
        b"\xff\xc8\0\x04\0\0",
        b"\xff\xcc\0\x02",
        b"\xff\xff\xff\x01\xff\xd0\xff\xd7",
    ],
)
def test_the_size_of_a_jpeg_may_come_late(marker):
    """After tables, bytes that only fill up, and segments without a length."""
    assert image_size(JPEG[:2] + marker + JPEG[2:]) == (3, 2)


@each(
    "data",
    [
        b"\xff\xd8\xff\xda\0\x02" + b"\0" * 20,  # pixels without a size
        b"\xff\xd8\xff\xe0\0\x02no marker here",
        b"\xff\xd8\xff" + b"\xff" * 50,
        PNG[:8] + chunk(b"CgBI", b"....") + PNG[8:],  # what telephones call a png
        png(0, 1),
        b"GIF89a\0\0\0\0\0\0\0;",
        b"RIFF\x10\0\0\0WEBPVP8 " + b"\0" * 30,
        b"RIFF\x10\0\0\0WEBPVP8L" + b"\0" * 30,
        b"RIFF\x10\0\0\0WEBPVP8X" + b"\0" * 8,
        b"RIFF\x10\0\0\0WEBPABCD" + b"\0" * 30,
        PNG[:-8],
        JPEG[:-2],
        *(data[: min(len(data), 8 if kind == "image/gif" else 16)] for kind, data in KINDS.items()),
    ],
)
def test_damaged_images_are_refused(data):
    """Sent, one would make every later question of its conversation fail."""
    with pytest.raises(UsageError, match="damaged or cut off"):
        Image(data)


@given(st.sampled_from([*KINDS.values()]), st.data())
def test_whatever_the_bytes_are_nothing_else_is_raised(data, draw):
    """Damage of any kind ends in a size or in none."""
    changed = bytearray(data)
    for _ in range(draw.draw(st.integers(1, 6))):
        changed[draw.draw(st.integers(0, len(changed) - 1))] = draw.draw(st.integers(0, 255))
    del changed[draw.draw(st.integers(0, len(changed))) :]
    size = image_size(bytes(changed))
    assert size is None or len(size) == 2
    assert isinstance(image_fault(bytes(changed)), (str, type(None)))


def test_limits_of_an_image():
    """Five megabytes in base64, and eight thousand pixels a side."""
    assert 4 * LARGEST_IMAGE == 3 * 5 * 1024 * 1024
    extra = LARGEST_IMAGE - len(PNG)
    assert len(Image(png(extra=extra)).data) == LARGEST_IMAGE
    assert Image(png(8000, 1)).size == (8000, 1)
    for data in (png(extra=extra + 1), png(8001, 1), png(1, 8001)):
        with pytest.raises(UsageError, match="Make it smaller"):
            Image(data)


# Made by a program.


@each(("media_type", "data"), KINDS.items())
@each("wrap", [bytes, bytearray, memoryview])
def test_an_image_is_known_by_its_content(media_type, data, wrap):
    """Whatever holds the bytes; it is a value."""
    image = Image(wrap(data))
    assert (image.data, image.media_type, image.url) == (data, media_type, None)
    assert type(image.data) is bytes
    assert Image(data, media_type) == image == pickle.loads(pickle.dumps(image))
    assert copy.deepcopy(image) == image != "an image"
    assert {image, Image(data)} == {image}
    assert image.block() == {"type": "image", "data": letters(data), "mimeType": media_type}
    assert claude_sync.Image is Image


def test_an_image_is_opened_in_many_forms(tmp_path):
    """A path, a file, bytes, a Pillow image, an image, and a block; what is none is refused."""
    path = tmp_path / "picture.dat"
    path.write_bytes(PNG)
    image = Image(PNG)
    block = ImageBlock("image/png", letters(PNG))
    for source in (path, str(path), io.BytesIO(PNG), PNG, image, block):
        assert Image.open(source) == image
    assert Image.open(Pillow.new("RGB", (4, 2))).size == (4, 2)
    path.write_bytes(PNG[:-8])
    with pytest.raises(UsageError, match="the image is damaged"):
        Image.open(path)
    for source in (b"a text", io.StringIO("a text"), 3, tmp_path / "gone.png"):
        with pytest.raises(UsageError):
            Image.open(source)
    for wrong in ((b"",), (PDF,), ("a.png",), (PNG, "image/jpeg"), (SVG, "image/svg+xml")):
        with pytest.raises(UsageError):
            Image(*wrong)


# Come from a CLI.


def test_what_came_has_the_type_of_its_content():
    """Tools declare what they like; what Claude cannot see has the type it came with, no size."""
    for media_type, data in KINDS.items():
        for declared in ("image/png", "", "image/bmp"):
            image = came(declared, data)
            assert image == Image(data) and hash(image) == hash(Image(data))
            assert (image.media_type, image.size) == (media_type, Image(data).size)
    image = came("image/svg+xml", SVG)
    assert (image.media_type, image.data, image.size) == ("image/svg+xml", SVG, None)
    # Bytes are worth more than an address.
    image = came("image/png", PNG, ADDRESS)
    assert (image.url, image.data) == (None, PNG)
    assert came("", url=ADDRESS) == came("", url=ADDRESS) != came("", url="elsewhere")


@each("image", [came("", url=ADDRESS), *(ImageBlock("image/png", x).image for x in ("", "x", "é"))])
def test_what_came_without_bytes_has_none(image, tmp_path):
    """The error comes when they are asked for; nothing is fetched, and no file is made."""
    for use in (lambda: image.data, lambda: image.size, lambda: image.save(tmp_path / "a.png")):
        with pytest.raises(UsageError, match="Download" if image.url else "raw"):
            use()
    assert list(tmp_path.iterdir()) == []
    assert image._repr_mimebundle_() == {"text/plain": repr(image)}
    assert (ADDRESS in repr(image)) is bool(image.url)


# Kept and shown.


@each(
    ("image", "name", "saved"),
    [
        *((Image(data), "picture", f"picture{end}") for data, end in zip(KINDS.values(), ENDINGS)),
        (came("image/svg+xml", SVG), "drawing", "drawing"),
        (came("image/png", PNG), "picture.dat", "picture.dat"),
        (Image(PNG), "~/picture", "picture.png"),
    ],
)
def test_a_saved_image_has_the_ending_that_fits(tmp_path, monkeypatch, image, name, saved):
    """Where none was given."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    path = image.save(name if name.startswith("~") else str(tmp_path / name))
    assert path == tmp_path / saved
    assert path.read_bytes() == image.data


def test_notebooks_show_an_image():
    """In the form they have for it, and run nothing: an svg could have a script in it."""
    for media_type in ("image/png", "image/jpeg", "image/gif"):
        image = Image(KINDS[media_type])
        shown = image._repr_mimebundle_(include=None, exclude=None)
        assert shown == {media_type: letters(image.data), "text/plain": repr(image)}
    shown = Image(WEBP)._repr_mimebundle_()
    assert shown["text/html"] == f'<img src="data:image/webp;base64,{letters(WEBP)}">'
    assert set(came("image/svg+xml", SVG)._repr_mimebundle_()) == {"text/plain"}
