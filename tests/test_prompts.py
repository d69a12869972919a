"""From a prompt and its attachments to a message, or to an error that helps."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from claude_sync import prompts
from claude_sync.answers import Answer
from claude_sync.errors import UsageError
from claude_sync.prompts import user_message

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 8
GIF87 = b"GIF87a" + b"\0" * 8
GIF89 = b"GIF89a" + b"\0" * 8
WEBP = b"RIFF\x10\0\0\0WEBPVP8 "
PDF = b"%PDF-1.7\n%\xe2\xe3\n"


def content(prompt, attach=()):
    """The content of the message."""
    return user_message(prompt, attach)["message"]["content"]


def test_a_text_stays_a_text():
    """Without attachments the prompt is sent as it is."""
    assert user_message("  hi\n") == {
        "type": "user",
        "message": {"role": "user", "content": "  hi\n"},
        "parent_tool_use_id": None,
        "session_id": "",
    }


def test_an_answer_can_be_asked_again():
    """A subclass of str is sent as a plain one."""
    assert type(content(Answer("hi"))) is str


@pytest.mark.parametrize("prompt", ["", " ", "\n\t"])
def test_a_blank_prompt_is_refused(prompt):
    """A blank line would end some CLIs, and asks nothing."""
    with pytest.raises(UsageError, match="the prompt is blank"):
        user_message(prompt)


def test_blocks_are_sent_as_they_are():
    """A list of content blocks is passed on, a tuple or a generator too."""
    block = {"type": "text", "text": "hi"}
    assert content([block]) == content((block,)) == content(each for each in [block]) == [block]


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        (None, "not NoneType"),
        (3, "not int"),
        (b"hi", "not bytes"),
        ({"type": "text"}, "not dict"),
        ([], "empty list"),
        (["hi"], "'hi' is not a content block"),
        ([{"text": "hi"}], "is not a content block"),
        ([{"type": 3}], "is not a content block"),
    ],
)
def test_what_is_no_prompt_is_refused(prompt, text):
    """Anything but a text or a list of blocks is a UsageError that shows the right form."""
    with pytest.raises(UsageError, match=text):
        user_message(prompt)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (JPEG, "image/jpeg"),
        (GIF87, "image/gif"),
        (GIF89, "image/gif"),
        (WEBP, "image/webp"),
    ],
)
@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_an_image_is_known_by_its_content(data, kind, wrap):
    """The bytes of an image become an image block before the text."""
    source = {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode()}
    assert content("what is it?", [wrap(data)]) == [
        {"type": "image", "source": source},
        {"type": "text", "text": "what is it?"},
    ]


def test_the_name_of_a_file_does_not_decide(tmp_path):
    """A PNG that is called .txt is an image."""
    path = tmp_path / "picture.txt"
    path.write_bytes(PNG)
    (image, _) = content("what is it?", [path])
    assert image["source"]["media_type"] == "image/png"


@pytest.mark.parametrize("as_given", [str, Path])
def test_a_pdf_keeps_its_name(tmp_path, as_given):
    """A PDF file becomes a document with the name of the file as its title."""
    path = tmp_path / "paper.pdf"
    path.write_bytes(PDF)
    (document, _) = content("summarize", [as_given(path)])
    assert document["type"] == "document"
    assert document["title"] == "paper.pdf"
    assert base64.b64decode(document["source"]["data"]) == PDF


def test_a_text_file_becomes_a_document(tmp_path):
    """A text is sent as text, without its byte order mark."""
    path = tmp_path / "notes.py"
    path.write_bytes(b"\xef\xbb\xbfprint('\xc3\xa4')\n")
    (document, _) = content("review", [path])
    assert document == {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "print('ä')\n"},
        "title": "notes.py",
    }


def test_attachments_come_first_and_in_order():
    """Several attachments keep their order, before blocks as before a text."""
    block = {"type": "text", "text": "compare"}
    kinds = [each["type"] for each in content([block], [PDF, PNG, b"a text"])]
    assert kinds == ["document", "image", "document", "text"]


@pytest.mark.parametrize("attach", ["a.png", b"data", Path("a.png")])
def test_a_single_attachment_is_not_a_list(attach):
    """Forgetting the brackets is told, not taken as letters of a name."""
    with pytest.raises(UsageError, match=r"attach=\[\.\.\.\]"):
        user_message("hi", attach)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "is empty"),
        (b"\x7fELF\x02\x01\xff", "cannot read"),
        (b"a\0b", "cannot read"),
    ],
)
def test_what_claude_cannot_read_is_refused(data, text):
    """Empty and binary attachments are refused before anything is sent."""
    with pytest.raises(UsageError, match=text):
        user_message("hi", [data])


def test_a_missing_file_is_told_by_its_path(tmp_path):
    """A path that does not exist is a UsageError with the path and the reason."""
    with pytest.raises(UsageError, match=r"gone\.png.*No such file") as caught:
        user_message("hi", [tmp_path / "gone.png"])
    assert isinstance(caught.value.__cause__, FileNotFoundError)


def test_a_folder_cannot_be_attached(tmp_path):
    """A folder is a UsageError too."""
    with pytest.raises(UsageError, match="cannot attach"):
        user_message("hi", [tmp_path])


def test_something_else_cannot_be_attached():
    """Neither a path nor bytes: the error names the type."""
    with pytest.raises(UsageError, match="cannot attach int"):
        user_message("hi", [3])


@pytest.mark.parametrize(
    ("limit", "data"),
    [("LARGEST_IMAGE", PNG), ("LARGEST_DOCUMENT", PDF), ("LARGEST_TEXT", b"some text")],
)
def test_what_is_too_large_is_refused(monkeypatch, limit, data):
    """What the service would refuse after the upload is refused before it."""
    monkeypatch.setattr(prompts, limit, len(data))
    content("hi", [data])
    with pytest.raises(UsageError, match="Make it smaller"):
        content("hi", [data + b"x"])


def test_a_prompt_with_attachments_may_not_be_blank():
    """An image alone asks nothing either."""
    with pytest.raises(UsageError, match="blank"):
        user_message(" ", [PNG])
