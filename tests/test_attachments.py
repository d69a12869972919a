"""From what is attached to content blocks, or to an error before anything is sent."""

from __future__ import annotations

import base64
import codecs
import io
import os
import random
import sys
import tempfile
from pathlib import Path

import pytest
from image_samples import KINDS, PDF, PNG, png, sample, saved
from PIL import Image as Pillow
from PIL import ImageOps
from tables import each

from claude_sync import DocumentBlock, Image, ImageBlock, ToolResult, UsageError
from claude_sync.prompts import attachments, user_message
from claude_sync.support import files
from claude_sync.support.images import LARGEST_IMAGE

ADDRESS = "https://example.org/a.png"


def letters(data):
    """In base64."""
    return base64.b64encode(data).decode()


def image_block(data, kind="image/png"):
    """As an image goes over the wire."""
    source = {"type": "base64", "media_type": kind, "data": letters(data)}
    return {"type": "image", "source": source}


def attached(*attach, prompt="hi"):
    """The blocks that are sent before the prompt."""
    content = user_message(prompt, list(attach))["message"]["content"]
    return content[: len(attach)]


def text_of(source):
    """The text that goes over the wire for an attachment."""
    (block,) = attached(source)
    assert block["type"] == "document"
    assert block["source"]["type"] == "text"
    assert block["source"]["media_type"] == "text/plain"
    return block["source"]["data"]


def refusal(*attach, prompt="hi"):
    """The text of the error."""
    with pytest.raises(UsageError) as caught:
        attached(*attach, prompt=prompt)
    return str(caught.value)


# Images, PDFs and texts.


@each(("kind", "data"), KINDS.items())
def test_an_image_is_known_by_its_content(kind, data, tmp_path):
    """Not by its name, which images do not keep."""
    path = tmp_path / "picture.txt"
    path.write_bytes(data)
    for source in (data, path, io.BytesIO(data), Image(data), ImageBlock("", letters(data))):
        assert attached(source) == [image_block(data, kind)]


def test_what_came_can_be_attached():
    """The images of a result, a document, and addresses, which the service fetches."""
    result = ToolResult("t", (ImageBlock("image/png", letters(PNG)), ImageBlock("", url=ADDRESS)))
    address = {"type": "image", "source": {"type": "url", "url": ADDRESS}}
    assert attached(*result.images) == attached(*result.content) == [image_block(PNG), address]
    source = {"type": "text", "media_type": "text/plain", "data": "notes"}
    raw = {"type": "document", "source": source, "title": "Plan"}
    assert attached(DocumentBlock("text/plain", text="notes", raw=raw)) == [raw]


def test_a_pdf_and_a_text_keep_their_names(tmp_path):
    """They become documents."""
    paper, notes = tmp_path / "paper.dat", tmp_path / "notes.py"
    paper.write_bytes(PDF)
    notes.write_bytes(b"print('\xc3\xa4')\n")
    pdf = {"type": "base64", "media_type": "application/pdf", "data": letters(PDF)}
    text = {"type": "text", "media_type": "text/plain", "data": "print('ä')\n"}
    assert attached(PDF, paper, notes) == [
        {"type": "document", "source": pdf},
        {"type": "document", "source": pdf, "title": "paper.dat"},
        {"type": "document", "source": text, "title": "notes.py"},
    ]


@each(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_text_may_say_its_encoding_by_a_mark(mark, encoding):
    """Which is no part of the text."""
    assert text_of(mark + "zwölf 𝄞\r\n".encode(encoding)) == "zwölf 𝄞\r\n"


def test_a_text_may_be_open_with_its_encoding(tmp_path):
    """Which is what the error about another encoding advises."""
    path = tmp_path / "notes.txt"
    path.write_text("zwölf\n", encoding="latin-1")
    assert "'notes.txt' is of a kind" in refusal(path) and "encoding='...'" in refusal(path)
    with open(path, encoding="latin-1") as file:
        assert text_of(file) == "zwölf\n"
    # Halves of letters, from texts that were read in spite of their encoding.
    assert text_of(io.StringIO("caf\udce9")) == "caf?"


@each(
    "content",
    [
        *(b"", b" \r\n", codecs.BOM_UTF8, b"a\0b", b"\x7fELF\x02\x01\xff", b"PK\3\4\x14\0\6\xff"),
        "zwölf".encode("utf-16-le"),
        codecs.BOM_UTF16_LE + b"\0\xd8a",
        sample("BMP"),
        PDF.replace(b"%%EOF", b""),
        PNG[:-8],
        png(9000, 1),
        png(extra=4_000_000),
    ],
)
def test_what_claude_cannot_read_is_refused(content):
    """It would stay in the conversation, and every later question would fail."""
    assert refusal(PNG, content).startswith("attachment 2 ")


# Where they come from.


def test_a_path_may_begin_at_home(tmp_path, monkeypatch):
    """~ is the home folder, unless there is a file of that name."""
    home, here = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    (here / "~").mkdir(parents=True)
    (home / "notes.txt").write_bytes(b"at home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.chdir(here)
    assert text_of("~/notes.txt") == text_of(Path("~", "notes.txt")) == "at home"
    (here / "~" / "notes.txt").write_bytes(b"here")
    assert text_of("~/notes.txt") == "here"
    if sys.platform == "linux":  # a name that is no text: its bytes are replaced
        path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.txt")
        with open(path, "wb") as file:
            file.write(b"abc")
        assert attached(os.fsdecode(path))[0]["title"] == "caf?.txt"


@each(
    "path",
    [
        *("gone.png", "", "a\0b", "https://example.org/a.png", "data:image/png;base64,AAAA"),
        *("first line\nsecond line", "word " * 10_000),
    ],
)
def test_what_is_no_path_is_refused(path):
    """Briefly, with the first cause."""
    with pytest.raises(UsageError) as caught:
        attached(path)
    assert len(str(caught.value)) < 500
    assert isinstance(caught.value.__cause__, (OSError, ValueError))
    assert ("data=" in str(caught.value)) is path.startswith(("first line", "word"))


def test_what_is_no_file_is_not_opened(tmp_path):
    """Folders, what nobody may ever write into, what has no end, and what is too large."""
    with open(tmp_path / "large", "wb") as file:
        file.truncate(10**9)
    paths = {tmp_path: "is a folder", tmp_path / "large": "is too large, 1000 MB"}
    if os.name != "nt":
        os.mkfifo(tmp_path / "pipe")
        paths.update(dict.fromkeys([tmp_path / "pipe", "/dev/zero"], "is a pipe or a device"))
    for path, words in paths.items():
        assert f"{str(path)!r} {words}" in refusal(path)


def test_an_open_file_gives_what_is_left_in_it(tmp_path):
    """Opened in whatever way; files in memory have no name."""
    path = tmp_path / "notes.txt"
    path.write_bytes(b"header\nthe rest")
    for how in ({"mode": "rb"}, {"encoding": "latin-1"}, {"mode": "rb", "buffering": 0}):
        with open(path, **how) as file:
            file.readline()
            (block,) = attached(file)
        assert (block["title"], block["source"]["data"]) == ("notes.txt", "the rest")
    with tempfile.TemporaryFile() as file:  # its name is a number
        file.write(b"abc")
        file.seek(0)
        assert "title" not in attached(file)[0]
    unnamed = io.BytesIO(b"abc")
    unnamed.name = "<stdin>"
    assert "title" not in attached(unnamed)[0]


@each("source", [3, None, ["a.png"], ToolResult("t", "out"), {}, {"type": 3}, {"kind": "image"}])
def test_other_things_are_refused(source):
    """The error says what can be attached."""
    assert refusal(source)


# Pictures of other packages.


class Figure:
    """As a figure of matplotlib saves itself."""

    def savefig(self, file, format):
        file.write(PNG)


class Axes:
    """A plot, which knows the figure it is in."""

    def __init__(self, figure):
        self.figure = figure


def pixels_of(image):
    """What is sent of a Pillow image, as Pillow sees it."""
    (block,) = attached(image)
    seen = Pillow.open(io.BytesIO(base64.b64decode(block["source"]["data"])))
    seen.load()
    return seen


@each(
    "mode",
    [
        *("1", "L", "P", "RGB", "RGBA", "LA", "CMYK", "YCbCr", "LAB", "HSV", "RGBX"),
        *("RGBa", "PA"),
    ],
)
def test_every_mode_of_pillow_becomes_a_png(mode):
    """Those that png does not have are converted; the program's own image stays as it is."""
    image = Pillow.new(mode, (9000, 90))
    assert (pixels_of(image).size, image.size) == ((2000, 20), (9000, 90))
    seen = pixels_of(Pillow.new(mode, (8000, 1)))
    assert (seen.format, seen.size) == ("PNG", (8000, 1))
    assert seen.mode == mode or mode not in ("1", "L", "LA", "P", "RGB", "RGBA")
    if mode in ("RGBA", "LA", "PA", "RGBa"):
        assert seen.convert("RGBA").getpixel((0, 0))[3] == 0


@each("mode", ["I", "F", "I;16"])
def test_numbers_are_no_colors(mode):
    """What is white among them, only the program knows."""
    assert "shades of 'L'" in refusal(Pillow.new(mode, (2, 1)))


def test_a_picture_of_a_camera_is_upright():
    """Its file says how it is to be turned; png files do not."""
    image = Pillow.new("RGB", (4, 2))
    image.putpixel((0, 0), (255, 0, 0))
    exif = Pillow.Exif()
    exif[0x0112] = 6
    taken = Pillow.open(io.BytesIO(saved(image, "PNG", exif=exif)))
    seen, meant = pixels_of(taken), ImageOps.exif_transpose(taken)
    assert (seen.size, seen.tobytes()) == (meant.size, meant.tobytes()) and seen.size == (2, 4)


@each(("width", "height", "mode", "format"), [(300, 100, "L", "PNG"), (250, 250, "RGB", "JPEG")])
def test_what_is_too_large_is_made_smaller(monkeypatch, width, height, mode, format):
    """First of all in pixels; if need be as a jpeg. The limits are those in earnest, scaled."""
    monkeypatch.setattr(files, "LARGEST_IMAGE", LARGEST_IMAGE // 100)
    monkeypatch.setattr(files, "REDUCED_SIDE", 200)
    noise = random.Random(1).randbytes(width * height * len(mode))
    image = Pillow.frombytes(mode, (width, height), noise)
    if mode == "L":
        image = Pillow.merge("RGB", [image] * 3)
    assert len(saved(image, "PNG")) > files.LARGEST_IMAGE
    seen = pixels_of(image)
    assert (seen.format, max(seen.size)) == (format, 200)
    assert len(base64.b64decode(attached(image)[0]["source"]["data"])) <= files.LARGEST_IMAGE


def test_a_figure_is_saved_as_png():
    """A plot leads to its figure."""
    assert attached(Figure(), Axes(Figure())) == [image_block(PNG)] * 2
    assert "cannot attach Axes" in refusal(Axes(None))

    class Broken:
        def savefig(self, file, format):
            raise RuntimeError("no backend")

    assert "no backend" in refusal(Broken())


# Lists of them, and limits.


def test_attachments_come_first_and_in_order():
    """Whatever list they are in; before blocks as before a text."""
    block = {"type": "text", "text": "compare"}
    for kind in (list, tuple, iter):
        for prompt in ("compare", [block]):
            content = user_message(prompt, kind([PDF, PNG, b"text"]))["message"]["content"]
            assert [each["type"] for each in content] == ["document", "image", "document", "text"]
            assert content[-1] == block


@each(
    "attach",
    [
        *("a.png", b"data", memoryview(b"data"), Path("a.png"), io.BytesIO(PNG), Image(PNG)),
        *(Pillow.new("L", (1, 1)), Figure(), {"type": "text", "text": "a"}, 3),
    ],
)
def test_a_single_attachment_is_not_a_list(attach):
    """Forgotten brackets are an error; a path is not taken for a list of letters."""
    with pytest.raises(UsageError, match=r"attach=\[\.\.\.\]"):
        user_message("hi", attach)


def test_the_limit_of_a_request_counts_everything(monkeypatch):
    """The prompt, attachments, results of tools, in bytes as they are sent; there is room left."""
    assert files.LARGEST_TOTAL + 500_000 < 32_000_000
    monkeypatch.setattr(attachments, "LARGEST_TOTAL", 500)
    wide = "中" * 100
    result = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "text", "text": wide}],
    }
    attached(wide.encode())
    for attach, prompt in (
        ([wide.encode()], [result]),
        ([wide.encode()], wide),
        ([PDF + b" " * 400], "hi"),
        ([], [image_block(PNG), {**result, "content": wide * 2}]),
    ):
        assert "Ask about some of them at a time" in refusal(*attach, prompt=prompt)


def test_many_images():
    """At most 600; with more than twenty, two thousand pixels a side are the most."""
    wide, image = png(2001, 1), image_block(PNG)
    result = {"type": "tool_result", "tool_use_id": "t", "content": [image, image]}
    assert len(attached(wide, *[PNG] * 19)) == 20
    assert "attachment 21 has 2001 x 1" in refusal(*[PNG] * 19, b"a text", wide, PNG)
    assert "block 2 of the prompt has 2001 x 1" in refusal(
        PNG, prompt=[image, {**result, "content": [image_block(wide)]}, *[image] * 19]
    )
    address = {"type": "image", "source": {"type": "url", "url": ADDRESS}}
    attached(address, png(2000, 1), *[PNG] * 19)
    attached(image, prompt=[result] * 299)
    assert "601 images" in refusal(image, prompt=[result] * 300)


def test_an_image_that_is_too_large_as_a_block_is_refused():
    """It is counted in base64 anyway."""
    most = "A" * (5 * 1024 * 1024)
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": most}}
    attached(block)
    block["source"]["data"] += "AAAA"
    assert "attachment 1 has 5.2 MB" in refusal(block)
    assert "block 1 of the prompt has 5.2 MB" in refusal(prompt=[block])
