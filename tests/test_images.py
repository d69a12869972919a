"""Images: made by a program and checked, or come from a CLI and taken as they are."""

from __future__ import annotations

import base64
import copy
import io
import pickle
from pathlib import Path

import pytest
from image_samples import JPEG, KINDS, PNG, WEBP, png
from PIL import Image as Pillow

import claude_sync
from claude_sync import tool_results
from claude_sync.blocks import ImageBlock
from claude_sync.errors import UsageError
from claude_sync.images import Image, received_image

SVG = b"<svg xmlns='http://www.w3.org/2000/svg'/>"
ADDRESS = "https://example.org/a.png"


def letters(data):
    """As it comes over the wire."""
    return base64.b64encode(data).decode()


# Made.


@pytest.mark.parametrize(("media_type", "data"), KINDS.items())
@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_an_image_is_known_by_its_content(media_type, data, wrap):
    """Whatever holds the bytes."""
    image = Image(wrap(data))
    assert (image.data, image.media_type, image.url) == (data, media_type, None)
    assert Image(data, media_type) == image
    assert type(image.data) is bytes


def test_an_image_is_public():
    """One class, wherever it is taken from."""
    assert claude_sync.Image is Image is tool_results.Image


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((b"strange",), "png, jpeg, gif or webp"),
        ((b"strange", "image/png"), "png, jpeg, gif or webp"),
        ((b"",), "png, jpeg, gif or webp"),
        ((b"%PDF-1.7",), "png, jpeg, gif or webp"),
        (("picture.png",), r"Image\.open"),
        ((PNG, "image/jpeg"), "is image/png, not image/jpeg"),
        ((SVG, "image/svg+xml"), r"cannot see 'image/svg\+xml'"),
        ((b"%PDF-1.7", "image/png"), "is application/pdf"),
        ((PNG[:-5],), "the image is damaged or cut off"),
        ((png(9000, 1),), "the image has 9000 x 1 pixels"),
    ],
)
def test_what_is_no_good_image_is_refused(arguments, words):
    """Where it is made, saying what would be one: sent, it would spoil the conversation."""
    with pytest.raises(UsageError, match=words):
        Image(*arguments)


def test_an_image_has_a_size():
    """Width first."""
    assert Image(png(4, 2)).size == (4, 2)


def test_an_image_shows_itself_briefly():
    """Without its data."""
    assert repr(Image(PNG)) == f"<Image image/png, {len(PNG)} bytes>"
    assert repr(received_image("image/png", letters(PNG), None)) == "<Image image/png>"
    assert repr(received_image("", "", ADDRESS)) == f"<Image at {ADDRESS}>"


# Opened.


def test_an_image_is_opened_by_its_path(tmp_path):
    """As attachments are, with the same errors."""
    path = tmp_path / "picture.dat"
    path.write_bytes(JPEG)
    assert Image.open(path) == Image.open(str(path)) == Image(JPEG)
    with pytest.raises(UsageError, match="No such file"):
        Image.open(tmp_path / "gone.png")


def test_an_image_is_opened_in_many_forms():
    """A file, bytes, a Pillow image, an image that is one already, and a block."""
    image = Image(PNG)
    block = ImageBlock("image/png", letters(PNG))
    for source in (io.BytesIO(PNG), PNG, image, block):
        assert Image.open(source) == image
    assert Image.open(Pillow.new("RGB", (4, 2))).size == (4, 2)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (b"a text", "the image is no image that Claude can see"),
        (io.StringIO("a text"), "the image is no image that Claude can see"),
        (PNG[:-5], "the image is damaged"),
        (3, "cannot attach int"),
    ],
)
def test_what_is_no_image_is_not_opened(source, words):
    """The error says what it is not."""
    with pytest.raises(UsageError, match=words):
        Image.open(source)


# Come.


@pytest.mark.parametrize(("media_type", "data"), KINDS.items())
@pytest.mark.parametrize("declared", ["image/png", "", "image/bmp"])
def test_what_came_is_known_by_its_content_too(media_type, data, declared):
    """Tools declare what they like; sent again it must be right."""
    image = received_image(declared, letters(data), None)
    assert (image.media_type, image.data, image.size) == (media_type, data, Image(data).size)
    assert image == Image(data)
    assert hash(image) == hash(Image(data))


def test_what_came_may_be_anything():
    """What Claude cannot see has the type it came with, and its bytes, but no size."""
    image = received_image("image/svg+xml", letters(SVG), None)
    assert (image.media_type, image.data, image.size) == ("image/svg+xml", SVG, None)


def test_what_came_is_decoded_when_it_is_asked_for(monkeypatch):
    """And only once: an answer may have many images that nobody looks at."""
    image = received_image("image/png", letters(PNG), None)
    assert image._data is None
    first = image.data
    assert image.data is first


def test_an_address_has_no_bytes():
    """Whoever wants them is told where they are."""
    image = received_image("", "", ADDRESS)
    assert (image.url, image.media_type) == (ADDRESS, "")
    for wanted in ("data", "size"):
        with pytest.raises(UsageError, match=f"Download '{ADDRESS}'"):
            getattr(image, wanted)
    assert image == received_image("", "", ADDRESS) != received_image("", "", "elsewhere")


@pytest.mark.parametrize("encoded", ["", "x", "é"])
def test_data_that_cannot_be_read_is_told(encoded):
    """When somebody asks for it, not before."""
    image = received_image("image/png", encoded, None)
    with pytest.raises(UsageError, match=r"See \.raw"):
        image.data  # noqa: B018
    assert image._repr_mimebundle_() == {"text/plain": "<Image image/png>"}
    assert image == received_image("image/png", encoded, None) != Image(PNG)


def test_bytes_are_worth_more_than_an_address():
    """Where both came."""
    image = received_image("image/png", letters(PNG), ADDRESS)
    assert (image.url, image.data) == (None, PNG)


# Kept.


@pytest.mark.parametrize(
    ("data", "suffix"),
    [(PNG, ".png"), (JPEG, ".jpg"), (KINDS["image/gif"], ".gif"), (WEBP, ".webp")],
)
@pytest.mark.parametrize("as_given", [str, Path])
def test_a_saved_image_has_the_ending_that_fits(tmp_path, data, suffix, as_given):
    """Where none was given; save() tells where it is."""
    path = Image(data).save(as_given(tmp_path / "picture"))
    assert path == tmp_path / f"picture{suffix}"
    assert path.read_bytes() == data


def test_a_given_ending_stays(tmp_path):
    """The program knows what it wants."""
    path = received_image("image/png", letters(PNG), None).save(tmp_path / "picture.dat")
    assert path == tmp_path / "picture.dat"
    assert path.read_bytes() == PNG


def test_an_unknown_kind_is_saved_as_it_is(tmp_path):
    """Without an ending, rather than with a wrong one."""
    path = received_image("image/svg+xml", letters(SVG), None).save(tmp_path / "drawing")
    assert path == tmp_path / "drawing"
    assert path.read_bytes() == SVG


def test_what_has_no_bytes_leaves_no_file(tmp_path):
    """It is told before a file is made."""
    with pytest.raises(UsageError, match="Download"):
        received_image("", "", ADDRESS).save(tmp_path / "picture.png")
    assert list(tmp_path.iterdir()) == []


def test_an_image_is_saved_at_home(tmp_path, monkeypatch):
    """A path may begin with ~, as that of an attachment."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert Image(PNG).save("~/picture.png") == tmp_path / "picture.png"


@pytest.mark.parametrize(
    "image", [Image(PNG), received_image("image/png", letters(PNG), None)], ids=["made", "come"]
)
def test_an_image_can_be_copied_and_sent_away(image):
    """To another process, too."""
    assert pickle.loads(pickle.dumps(image)) == copy.deepcopy(image) == image
    assert image != "an image"
    assert {image, Image(PNG)} == {image}


# Shown.


@pytest.mark.parametrize("media_type", ["image/png", "image/jpeg", "image/gif"])
def test_notebooks_show_an_image(media_type):
    """In the form they have for it."""
    shown = Image(KINDS[media_type])._repr_mimebundle_(include=None, exclude=None)
    assert base64.b64decode(shown[media_type]) == KINDS[media_type]
    assert set(shown) == {media_type, "text/plain"}


def test_notebooks_show_webp_by_html():
    """They have no form of their own for it."""
    shown = Image(WEBP)._repr_mimebundle_()
    assert shown["text/html"] == f'<img src="data:image/webp;base64,{letters(WEBP)}">'


@pytest.mark.parametrize(
    "image",
    [received_image("image/svg+xml", letters(SVG), None), received_image("image/png", "", ADDRESS)],
    ids=["svg", "address"],
)
def test_notebooks_run_and_fetch_nothing(image):
    """An svg could have a script in it, and an address tells somebody that it was looked at."""
    assert image._repr_mimebundle_() == {"text/plain": repr(image)}
