"""Pillow images and matplotlib figures become image files; neither package is imported."""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from image_samples import PNG, saved
from PIL import Image as Pillow

import claude_sync
from claude_sync import pictures
from claude_sync.errors import UsageError
from claude_sync.image_files import LARGEST_IMAGE, image_fault
from claude_sync.pictures import is_picture, picture_bytes

MODES = [
    *("1", "L", "P", "RGB", "RGBA", "LA", "CMYK", "YCbCr", "LAB", "HSV", "RGBX", "RGBa", "La"),
    *("PA", "I", "F", "I;16", "I;16L", "I;16B"),
]
ROOT = Path(claude_sync.__file__).parent.parent


class Figure:
    """As a figure of matplotlib saves itself."""

    def __init__(self):
        self.calls = []

    def savefig(self, file, **settings):
        self.calls.append(settings)
        file.write(PNG)


class Axes:
    """A plot, which knows the figure it is in."""

    def __init__(self, figure):
        self.figure = figure


def opened(data):
    """A file as Pillow sees it."""
    image = Pillow.open(io.BytesIO(data))
    image.load()
    return image


def noise(width, height, mode="RGB"):
    """What no format makes smaller."""
    return Pillow.frombytes(
        mode, (width, height), random.Random(1).randbytes(width * height * len(mode))
    )


@pytest.mark.parametrize("value", [Pillow.new("L", (1, 1)), Figure(), Axes(Figure())])
def test_pictures_are_known(value):
    """By their class, or by what they can do."""
    assert is_picture(value)


@pytest.mark.parametrize("value", ["a.png", b"", 3, None, Axes(None), object()])
def test_other_things_are_no_pictures(value):
    """Not even nearly."""
    assert not is_picture(value)


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_of_pillow_becomes_a_png(mode):
    """Those that png does not have are converted."""
    data = picture_bytes(Pillow.new(mode, (30, 20)), "it")
    image = opened(data)
    assert (image.format, image.size, image_fault(data)) == ("PNG", (30, 20), None)


def test_colors_stay_what_they_are():
    """Also where the mode is another."""
    red = Pillow.new("RGB", (1, 1), "red")
    for mode in ("RGB", "P", "CMYK", "YCbCr", "HSV"):
        color = opened(picture_bytes(red.convert(mode), "it")).convert("RGB").getpixel((0, 0))
        assert color[0] > 250 and max(color[1:]) < 5, mode


@pytest.mark.parametrize("mode", ["RGBA", "LA", "PA", "RGBa", "La"])
def test_what_is_transparent_stays_so(mode):
    """White that nobody sees is not white."""
    nothing = Pillow.new(mode, (1, 1))
    assert opened(picture_bytes(nothing, "it")).convert("RGBA").getpixel((0, 0))[3] == 0


def test_numbers_become_shades_of_grey():
    """Those that fit as they are; others from the least, black, to the greatest, white."""
    fits = Pillow.new("F", (2, 1))
    fits.putdata([10.0, 200.0])
    assert list(opened(picture_bytes(fits, "it")).tobytes()) == [10, 200]
    for mode, numbers in (("F", [-5.0, 0.0, 5.0]), ("I", [1000, 2000, 3000])):
        image = Pillow.new(mode, (3, 1))
        image.putdata(numbers)
        first, middle, last = opened(picture_bytes(image, "it")).tobytes()
        assert (first, last) == (0, 255) and 126 <= middle <= 128, mode


def test_numbers_that_are_all_the_same_are_no_trouble():
    """There is nothing to spread."""
    assert opened(picture_bytes(Pillow.new("I", (1, 1), 5000), "it")).tobytes() == b"\0"


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_picture_of_a_camera_is_upright(orientation):
    """Its file says how it is to be turned; png files do not."""
    from PIL import ImageOps

    image = Pillow.new("RGB", (4, 2))
    image.putpixel((0, 0), (255, 0, 0))
    image.putpixel((3, 0), (0, 0, 255))
    exif = Pillow.Exif()
    exif[0x0112] = orientation
    taken = opened(saved(image, "PNG", exif=exif))
    meant = ImageOps.exif_transpose(taken)
    seen = opened(picture_bytes(taken, "it"))
    assert (seen.size, seen.tobytes()) == (meant.size, meant.tobytes())


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA", "F"])
def test_what_has_too_many_pixels_is_made_smaller(mode):
    """And the program's own image is left alone."""
    image = Pillow.new(mode, (9000, 90))
    data = picture_bytes(image, "it")
    assert (opened(data).size, image.size) == ((2000, 20), (9000, 90))
    assert image_fault(data) is None


def test_what_is_too_large_is_made_smaller():
    """First of all in pixels."""
    image = noise(3000, 1000, "L")
    image = Pillow.merge("RGB", [image, image, image])
    whole = saved(image, "PNG")
    assert len(whole) > LARGEST_IMAGE
    reduced = opened(picture_bytes(image, "it"))
    assert (reduced.format, reduced.size) == ("PNG", (2000, 667))


def test_what_is_still_too_large_becomes_a_jpeg():
    """As a last resort; it fits then."""
    data = picture_bytes(noise(2500, 2500), "it")
    image = opened(data)
    assert (image.format, image.size, image_fault(data)) == ("JPEG", (2000, 2000), None)


def test_a_figure_is_saved_as_png():
    """In memory; a plot leads to its figure."""
    for of in (lambda figure: figure, Axes):
        figure = Figure()
        assert picture_bytes(of(figure), "it") == PNG
        assert figure.calls == [{"format": "png"}]


def test_a_picture_that_cannot_be_saved_is_told():
    """With the reason, and what to do."""

    class Broken(Figure):
        def savefig(self, file, **settings):
            raise RuntimeError("no backend")

    with pytest.raises(
        UsageError, match=r"attachment 2, a Broken, .* no backend\. Save it"
    ) as caught:
        picture_bytes(Broken(), "attachment 2")
    assert isinstance(caught.value.__cause__, RuntimeError)
    damaged = Pillow.open(io.BytesIO(saved(noise(50, 50), "PNG")[:1000]))
    with pytest.raises(UsageError, match="a PngImageFile, cannot be made into a png"):
        picture_bytes(damaged, "it")


def test_no_package_is_imported_for_it():
    """Who has not loaded Pillow has no image of Pillow."""
    code = (
        "import sys\n"
        "from claude_sync.prompts import user_message\n"
        "user_message('hi', [b'a text'])\n"
        "print(*sorted({name.split('.')[0] for name in sys.modules}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ).stdout.split()
    assert "claude_sync" in loaded
    assert not {"PIL", "matplotlib", "numpy"} & set(loaded)


def test_another_module_of_that_name_is_no_trouble(monkeypatch):
    """Something called PIL.Image without images in it."""
    monkeypatch.setitem(sys.modules, "PIL.Image", object())
    assert not pictures.is_pillow_image(3)
