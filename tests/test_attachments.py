"""From what is attached to content blocks, or to an error before anything is sent."""

from __future__ import annotations

import base64
import codecs
import io
import json
from pathlib import Path

import pytest
from image_samples import KINDS, PDF, PNG, png, sample
from PIL import Image as Pillow

from claude_sync import attachments
from claude_sync.attachments import attached_blocks
from claude_sync.blocks import DocumentBlock, ImageBlock, ToolResult
from claude_sync.errors import UsageError
from claude_sync.images import Image

ADDRESS = "https://example.org/a.png"


def letters(data):
    """In base64."""
    return base64.b64encode(data).decode()


def image_block(data, kind="image/png"):
    """As an image goes over the wire."""
    return {
        "type": "image",
        "source": {"type": "base64", "media_type": kind, "data": letters(data)},
    }


def text_of(source):
    """The text that goes over the wire for an attachment."""
    (block,) = attached_blocks([source])
    assert block["type"] == "document"
    assert block["source"]["type"] == "text"
    assert block["source"]["media_type"] == "text/plain"
    return block["source"]["data"]


def refusal(*attach):
    """The text of the error."""
    with pytest.raises(UsageError) as caught:
        attached_blocks(list(attach))
    return str(caught.value)


# Images.


@pytest.mark.parametrize(("kind", "data"), KINDS.items())
def test_an_image_is_known_by_its_content(kind, data, tmp_path):
    """Not by its name, which images do not keep."""
    path = tmp_path / "picture.txt"
    path.write_bytes(data)
    for source in (data, path, io.BytesIO(data), Image(data), ImageBlock("", letters(data))):
        assert attached_blocks([source]) == [image_block(data, kind)]


def test_pictures_of_other_packages_are_images():
    """Those of Pillow, and figures."""

    class Figure:
        def savefig(self, file, format):
            file.write(PNG)

    first, second = attached_blocks([Pillow.new("RGB", (3, 2)), Figure()])
    assert second == image_block(PNG)
    image = Image(base64.b64decode(first["source"]["data"]))
    assert (image.media_type, image.size) == ("image/png", (3, 2))


def test_the_images_of_a_result_can_be_attached():
    """All of them at once."""
    result = ToolResult("t", (ImageBlock("image/png", letters(PNG)), ImageBlock("", url=ADDRESS)))
    assert attached_blocks(result.images) == [
        image_block(PNG),
        {"type": "image", "source": {"type": "url", "url": ADDRESS}},
    ]
    assert attached_blocks(result.content) == attached_blocks(result.images)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (PNG[:-5], "attachment 2 is damaged or cut off"),
        (png(9000, 1), "attachment 2 has 9000 x 1 pixels"),
        (png(extra=4_000_000), "attachment 2 has 4.00 MB"),
    ],
    ids=["cut", "wide", "large"],
)
def test_an_image_that_the_service_would_refuse_is_refused(data, words):
    """It would stay in the conversation, and end it."""
    assert words in refusal(PNG, data)


def test_an_error_names_the_file(tmp_path):
    """Where there is one."""
    path = tmp_path / "cat.png"
    path.write_bytes(PNG[:-5])
    assert "'cat.png' is damaged" in refusal(path)


# PDFs.


def test_a_pdf_keeps_its_name(tmp_path):
    """A PDF file becomes a document with the name of the file as its title."""
    path = tmp_path / "paper.dat"
    path.write_bytes(PDF)
    source = {"type": "base64", "media_type": "application/pdf", "data": letters(PDF)}
    block = {"type": "document", "source": source}
    assert attached_blocks([PDF, path]) == [block, {**block, "title": "paper.dat"}]


def test_a_pdf_that_is_cut_off_is_refused():
    """It has no end."""
    assert "attachment 1 is cut off" in refusal(PDF.replace(b"%%EOF", b""))


def test_a_document_that_came_can_be_attached():
    """With its title, or as its address."""
    came = DocumentBlock("application/pdf", letters(PDF), title="Plan")
    text = DocumentBlock("text/plain", text="notes")
    address = DocumentBlock("", url="https://example.org/a.pdf")
    blocks = attached_blocks([came, text, address])
    assert [block["source"]["type"] for block in blocks] == ["base64", "text", "url"]
    assert blocks[0]["title"] == "Plan"
    assert blocks[2] == {"type": "document", "source": {"type": "url", "url": address.url}}


# Texts.


def test_a_text_becomes_a_document(tmp_path):
    """With its name."""
    path = tmp_path / "notes.py"
    path.write_bytes(b"print('\xc3\xa4')\n")
    source = {"type": "text", "media_type": "text/plain", "data": "print('ä')\n"}
    assert attached_blocks([path]) == [{"type": "document", "source": source, "title": "notes.py"}]


@pytest.mark.parametrize(
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
    """Which is what the error about another encoding says."""
    path = tmp_path / "notes.txt"
    path.write_text("zwölf\n", encoding="latin-1")
    error = refusal(path)
    assert "'notes.txt' seems to be a text, but is not in UTF-8" in error
    assert "attach=[open('notes.txt', encoding='...')]" in error
    with open(path, encoding="latin-1") as file:
        assert text_of(file) == "zwölf\n"
    assert text_of(io.StringIO("zwölf")) == "zwölf"


def test_a_text_may_have_colors_of_a_terminal():
    """Logs do."""
    assert text_of(b"\x1b[31mred\x1b[0m\t\x07\f") == "\x1b[31mred\x1b[0m\t\x07\f"


def test_halves_of_letters_are_replaced():
    """Texts that were read in spite of their encoding have them; the service takes none."""
    text = text_of(io.StringIO("caf\udce9"))
    assert text == "caf?"
    json.dumps(text).encode("utf-8")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b" \r\n", "is blank"),
        (codecs.BOM_UTF8, "is empty"),
        (io.StringIO(" "), "is blank"),
        (b"a\0b", "is of a kind Claude cannot read"),
        (b"\x7fELF\x02\x01\xff", "is of a kind Claude cannot read"),
        ("zwölf".encode("utf-16-le"), "If it is a text in UTF-16, attach it open"),
        (codecs.BOM_UTF16_LE + b"\0\xd8a", "is of a kind Claude cannot read"),
        (b"zw\xf6lf", "attach=[open('notes.txt', encoding='...')]"),
        (sample("BMP"), "is a bmp image, which Claude cannot read. Convert it to png"),
        (sample("TIFF"), "is a tiff image"),
        (sample("ICO"), "is an icon"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "is a heic image"),
        (b"\0\0\0\x18ftypavif\0\0\0\0", "is an avif image"),
        (b"PK\3\4\x14\0\6\0", "is an office document or a zip archive"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "is an office document"),
        (b"\x1f\x8b\x08\0", "is a compressed file"),
    ],
)
def test_what_claude_cannot_read_is_refused(content, words):
    """With what it is, where that is known, and what to do."""
    error = refusal(content)
    assert error.startswith("attachment 1 ")
    assert words in error


@pytest.mark.parametrize("text", [b"BM, the bank", b"II*", b"PK"])
def test_a_text_may_begin_like_something_else(text):
    """It is still a text."""
    assert text_of(text) == text.decode()


# Lists of them.


def test_attachments_keep_their_order():
    """Whatever list they are in."""
    for kind in (list, tuple, iter):
        blocks = attached_blocks(kind([PDF, PNG, b"a text"]))
        assert [block["type"] for block in blocks] == ["document", "image", "document"]


@pytest.mark.parametrize("nothing", [None, [], ()])
def test_nothing_is_nothing(nothing):
    """None as well as an empty list."""
    assert attached_blocks(nothing) == []


@pytest.mark.parametrize(
    "attach",
    [
        "a.png",
        b"data",
        bytearray(b"data"),
        memoryview(b"data"),
        Path("a.png"),
        io.BytesIO(PNG),
        io.StringIO("text"),
        Image(PNG),
        ImageBlock("image/png", letters(PNG)),
        Pillow.new("L", (1, 1)),
        {"type": "text", "text": "a"},
        3,
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_single_attachment_is_not_a_list(attach):
    """Forgetting the brackets is told, not taken as letters or lines."""
    with pytest.raises(UsageError, match=r"attach=\[\.\.\.\]"):
        attached_blocks(attach)


def test_blocks_are_passed_on():
    """As they are on the wire: an address that the service is to fetch, a document with context."""
    block = {"type": "image", "source": {"type": "url", "url": ADDRESS}}
    context = {"type": "document", "source": {"type": "content", "content": []}, "context": "x"}
    assert attached_blocks([block, context]) == [block, context]


@pytest.mark.parametrize("block", [{}, {"type": 3}, {"kind": "image"}])
def test_data_is_no_block(block):
    """A dict that is not for the wire is told how to become an attachment."""
    assert "attach json.dumps(...).encode()" in refusal(block)


# Limits.


def test_a_pdf_that_is_too_large_is_refused(monkeypatch):
    """In base64, as it is sent."""
    monkeypatch.setattr(attachments, "LARGEST_TOTAL", 4 * len(PDF) // 3 + 4)
    attached_blocks([PDF])
    error = refusal(PDF + b" " * 12)
    assert "attachment 1 has" in error and "let Claude read the file itself" in error


def test_a_text_that_is_too_large_is_refused(monkeypatch):
    """It would not fit into any model."""
    monkeypatch.setattr(attachments, "LARGEST_TEXT", 9)
    assert text_of(b"some text") == "some text"
    assert "let Claude read the file itself" in refusal(b"some texts")


def test_attachments_that_are_too_much_together_are_refused(monkeypatch):
    """A request has a limit, too."""
    monkeypatch.setattr(attachments, "LARGEST_TOTAL", 2 * len(letters(PNG)))
    assert len(attached_blocks([PNG, PNG])) == 2
    assert "Ask about some of them at a time" in refusal(PNG, PNG, b"x")


def test_the_limit_of_a_request_leaves_room():
    """Thirty-two megabytes are its limit, however they are counted."""
    assert attachments.LARGEST_TOTAL + 500_000 < 32_000_000


def test_lengths_are_those_of_utf_8(monkeypatch):
    """As the service counts them: one letter may be four bytes."""
    monkeypatch.setattr(attachments, "LARGEST_TEXT", 12)
    assert text_of("中文字符".encode()) == "中文字符"
    assert text_of(io.StringIO("a\udce9")) == "a?"
    assert "let Claude read the file itself" in refusal("中文字符x".encode())
    monkeypatch.setattr(attachments, "LARGEST_TOTAL", 24)
    assert len(attached_blocks(["中文字符".encode()] * 2)) == 2
    assert "have 0.0 MB together" in refusal("中文字符".encode(), "中文字符".encode(), b"x")


def test_the_blocks_of_the_prompt_count_as_well(monkeypatch):
    """Whatever they are, and however deep their content is; only attachments are returned."""
    text = {"type": "text", "text": "中文"}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [text, image_block(PNG)]}
    said = {"type": "tool_result", "tool_use_id": "t", "content": "中文"}
    monkeypatch.setattr(attachments, "LARGEST_TOTAL", 2 * len(letters(PNG)) + 12)
    assert attached_blocks([PNG], [text, result]) == [image_block(PNG)]
    for more in (text, said, {"type": "document", "source": {"type": "text", "data": "x"}}):
        with pytest.raises(UsageError, match="the prompt and its attachments have"):
            attached_blocks([PNG], [text, result, more])


def test_images_in_the_prompt_are_counted():
    """With those that are attached, and with those in the results of tools."""
    image = image_block(PNG)
    result = {"type": "tool_result", "tool_use_id": "t", "content": [image, image]}
    attached_blocks([image], [result] * 299)
    with pytest.raises(UsageError, match="601 images are too many"):
        attached_blocks([image], [result] * 300)
    wide = image_block(png(2001, 1))
    with pytest.raises(UsageError, match="block 2 of the prompt has 2001 x 1 pixels"):
        attached_blocks([PNG], [*[image], {**result, "content": [wide]}, *[image] * 19])


def test_blocks_may_be_as_deep_as_they_like():
    """Somewhere, nobody looks any further."""
    block = image_block(PNG)
    for _ in range(5000):
        block = {"type": "tool_result", "content": [block]}
    assert attached_blocks([block]) == [block]


@pytest.mark.parametrize("kind", ["image", "document"])
@pytest.mark.parametrize("data", ["abc", "é", "A" * 5])
@pytest.mark.parametrize("number", [1, 21])
def test_a_block_that_is_no_base64_is_refused(kind, data, number):
    """However many there are; it would stay in the conversation."""
    bad = {"type": kind, "source": {"type": "base64", "media_type": "image/png", "data": data}}
    assert f"attachment {number} has no data in base64" in refusal(*[PNG] * (number - 1), bad)
    with pytest.raises(UsageError, match=r"block 1 of the prompt has no data in base64.*b64encode"):
        attached_blocks([PNG] * (number - 1), [bad])


@pytest.mark.parametrize(
    "source",
    [
        {"type": "file", "file_id": "x", "data": "é"},
        {"type": "base64", "data": 3},
        {"type": "base64"},
        "x",
        None,
    ],
)
def test_sources_of_other_kinds_are_passed_on(source):
    """A later service may know them."""
    blocks = [{"type": "image", "source": source}] * 21
    assert attached_blocks(blocks) == blocks


def test_an_image_that_is_too_large_as_a_block_is_refused():
    """It is counted in base64 anyway."""
    data = "A" * (5 * 1024 * 1024)
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    assert attached_blocks([block]) == [block]
    block["source"]["data"] += "AAAA"
    assert "attachment 1 has 5.2 MB as it is sent, and an image may have 5.2. Make it" in refusal(
        block
    )
    with pytest.raises(UsageError, match=r"block 1 of the prompt has 5\.2 MB"):
        attached_blocks((), [block])


def test_too_many_images_are_refused(monkeypatch):
    """Texts are not counted."""
    monkeypatch.setattr(attachments, "MOST_IMAGES", 2)
    assert len(attached_blocks([PNG, PNG, b"text"])) == 3
    assert "3 images are too many" in refusal(PNG, PNG, PNG)


def test_many_images_must_be_smaller():
    """More than twenty, and two thousand pixels a side are the most."""
    wide = png(2001, 1)
    assert len(attached_blocks([wide, *[PNG] * 19])) == 20
    error = refusal(*[PNG] * 19, b"a text", wide, PNG)
    assert "attachment 21 has 2001 x 1 pixels. With more than 20 images" in error
    address = {"type": "image", "source": {"type": "url", "url": ADDRESS}}
    assert len(attached_blocks([address, png(2000, 1), *[PNG] * 19])) == 21
