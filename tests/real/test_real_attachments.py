"""Attachments and images: what reaches the model through real CLIs, and what comes back."""

from __future__ import annotations

import base64
import io
import random

import pytest
from image_samples import KINDS, PDF, png, sample
from patience import PATIENCE
from PIL import Image as Pillow

import claude_sync
from claude_sync import DocumentBlock, Image, UsageError
from claude_sync.prompts.attachments import attached_blocks
from claude_sync.testing.model import tool_use

# Large enough to be of use, small enough to be left alone by every CLI.
PICTURE = png(300, 200)
GIF = sample("GIF", (300, 200), "P")
ADDRESS = "https://example.org/a.png"


def draw(cut: int = 0) -> list:
    """Draw something.

    Args:
        cut: How much is missing at its end.
    """
    return ["drawn", Image(PICTURE[: len(PICTURE) - cut])]


@pytest.fixture(scope="module")
def chat_options():
    """A client that may read, and has a tool that draws."""
    return {"allowed_tools": ["Read"], "tools": [draw]}


def blocks_sent(model, words):
    """What the model got in the message with *words*, without its texts."""
    request = model.wait_for_request(words)
    message = [each for each in request.messages if words in str(each["content"])][-1]
    return [
        {key: value for key, value in block.items() if key != "cache_control"}
        for block in message["content"]
        if block["type"] != "text"
    ]


def read_image(chat, model, path):
    """Let Claude read an image, and return what the program gets of it."""
    words = f"read {path.name}"
    model.when(words).reply(tool_use("Read", {"file_path": str(path)})).then_reply("seen")
    ((_, result),) = chat.ask(words, timeout=PATIENCE).tool_uses
    return result


def noise(width, height):
    """A picture that no format makes smaller."""
    return Pillow.frombytes("RGB", (width, height), random.Random(1).randbytes(width * height * 3))


def test_attachments_arrive_as_they_were_sent(chat, model, tmp_path):
    """Images of every kind, a PDF and texts: the same bytes, types and titles, in their order."""
    (tmp_path / "paper.dat").write_bytes(PDF)
    (tmp_path / "notes.md").write_text("zwölf\n", encoding="utf-16")
    attach = [
        *KINDS.values(),
        tmp_path / "paper.dat",
        tmp_path / "notes.md",
        io.StringIO("a text, open"),
        Pillow.new("CMYK", (30, 20)),
        {"type": "image", "source": {"type": "url", "url": ADDRESS}},
    ]
    answer = chat.ask("look at all of it", attach=attach, timeout=PATIENCE)
    # New CLIs add where they have put the pictures.
    assert answer.startswith("echo: look at all of it")
    sent = blocks_sent(model, "look at all of it")
    attach[6].seek(0)
    assert sent == attached_blocks(attach)
    assert [block["title"] for block in sent if "title" in block] == ["paper.dat", "notes.md"]
    assert chat.ask("and without", timeout=PATIENCE) == "echo: and without"


def test_a_large_document_arrives(chat, model, forgotten):
    """Some megabytes in one line are no trouble for a CLI."""
    large = PDF + random.Random(1).randbytes(3_000_000)
    chat.ask("look at the large one", attach=[large], timeout=PATIENCE)
    (block,) = blocks_sent(model, "look at the large one")
    assert base64.b64decode(block["source"]["data"]) == large


def test_a_picture_of_pillow_that_is_too_large_arrives_smaller(chat, model, forgotten):
    """Every CLI gets what the service takes; not all would see to that themselves."""
    chat.ask("look at the noise", attach=[noise(2300, 1500)], timeout=PATIENCE)
    (block,) = blocks_sent(model, "look at the noise")
    assert len(block["source"]["data"]) <= 5 * 1024 * 1024
    image = Image(base64.b64decode(block["source"]["data"]))
    assert (image.media_type, image.size) == ("image/jpeg", (2000, 1304))


def test_what_the_service_would_refuse_is_not_sent(chat, model, tmp_path):
    """Nor anything else of the question; the conversation goes on."""
    before = len(model.requests)
    for attach in (
        [PICTURE[:-20]],
        [png(9000, 1)],
        [png(extra=4_000_000)],
        [PDF[:-8]],
        [b"zw\xf6lf"],
        [tmp_path],
        [ADDRESS],
    ):
        with pytest.raises(UsageError):
            chat.ask("never asked", attach=attach)
    assert chat.state == "idle"
    assert len(model.requests) == before
    assert chat.ask("still fine", timeout=PATIENCE) == "echo: still fine"


@pytest.mark.parametrize(("name", "data"), [("picture.png", PICTURE), ("picture.gif", GIF)])
def test_an_image_that_claude_reads_comes_back(chat, model, listen, tmp_path, name, data):
    """To be looked at, saved, and attached to the next question."""
    (tmp_path / name).write_bytes(data)
    heard = listen(chat, "tool_result")
    result = read_image(chat, model, tmp_path / name)
    (image,) = result.images
    assert image == Image(data)
    assert image.size == (300, 200)
    assert [each.images for each in heard] == [(image,)]
    saved = image.save(tmp_path / "copy")
    assert (saved.suffix, saved.read_bytes()) == (tmp_path.joinpath(name).suffix, data)
    chat.ask(f"and again {name}", attach=result.images, timeout=PATIENCE)
    assert blocks_sent(model, f"and again {name}") == attached_blocks([data])


def test_a_large_image_that_claude_reads_comes_back_smaller(chat, model, tmp_path):
    """As the CLI has made it, and the model has seen it."""
    path = tmp_path / "large.png"
    path.write_bytes(sample("PNG", (3000, 1500)))
    (image,) = read_image(chat, model, path).images
    assert max(image.size) <= 2000
    assert abs(image.size[0] - 2 * image.size[1]) <= 2


def test_a_pdf_that_claude_reads_comes_back(chat, model, tmp_path):
    """In the result, or on older CLIs in a message after it; it can be attached again."""
    path = tmp_path / "paper.pdf"
    path.write_bytes(PDF)
    model.when("read the paper").reply(tool_use("Read", {"file_path": str(path)})).then_reply("ok")
    answer = chat.ask("read the paper", timeout=PATIENCE)
    ((_, result),) = answer.tool_uses
    blocks = [block for message in answer.messages for block in getattr(message, "content", ())]
    blocks += [] if isinstance(result.content, str) else result.content
    (document,) = [block for block in blocks if isinstance(block, DocumentBlock)]
    assert document.bytes == PDF
    chat.ask("the paper again", attach=[document], timeout=PATIENCE)
    assert blocks_sent(model, "the paper again") == attached_blocks([PDF])


def test_an_image_of_a_tool_comes_back(chat, model):
    """Of the program's own as of any other, and can be attached."""
    model.when("draw it").reply(tool_use("mcp__claude_sync__draw", {})).then_reply("seen")
    ((_, result),) = chat.ask("draw it", timeout=PATIENCE).tool_uses
    assert result.images == (Image(PICTURE),)
    assert result.text.startswith("drawn")
    chat.ask("and what is it?", attach=[result.images[0]], timeout=PATIENCE)
    assert blocks_sent(model, "and what is it?") == attached_blocks([PICTURE])


def test_a_bad_image_of_a_tool_is_an_error_for_claude(chat, model):
    """It never reaches the service, which would refuse the conversation from then on."""
    use = tool_use("mcp__claude_sync__draw", {"cut": 20})
    model.when("draw half of it").reply(use).then_reply("I see")
    assert chat.ask("draw half of it", timeout=PATIENCE) == "I see"
    request = model.requests[-1]
    assert request.images == ()
    assert request.tool_results[0].is_error
    assert "is damaged or cut off" in request.tool_results[0].text


@pytest.mark.everything
def test_one_question_reads_an_open_file_once(new_cli, model, home, tmp_path):
    """The module's ask() checks before it starts a CLI, and the file is not used up by that."""
    path = tmp_path / "notes.txt"
    path.write_text("nota bene")
    with open(path, "rb") as file:
        claude_sync.ask(
            "look into the open one",
            attach=[file],
            cli=new_cli.path,
            cwd=tmp_path,
            env=model.environment(home),
            timeout=90,
        )
    assert blocks_sent(model, "look into the open one") == attached_blocks([path])
