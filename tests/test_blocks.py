"""Blocks: what a program can ask them."""

import base64
import dataclasses
import pickle

import pytest

from claude_sync import blocks
from claude_sync.blocks import (
    DocumentBlock,
    ImageBlock,
    McpToolResult,
    McpToolUse,
    SearchResultBlock,
    ServerToolResult,
    ServerToolUse,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    UnknownBlock,
    join_texts,
)
from claude_sync.images import Image

PIXEL = b"GIF89a not really"


def picture():
    return ImageBlock("image/gif", base64.b64encode(PIXEL).decode())


def test_the_type_is_that_of_the_wire():
    """A block tells its kind as the CLI named it."""
    assert TextBlock("a", {"type": "text"}).type == "text"
    assert ServerToolResult("t", raw={"type": "web_fetch_tool_result"}).type == (
        "web_fetch_tool_result"
    )
    assert UnknownBlock("hologram", {"type": "hologram"}).type == "hologram"
    assert TextBlock("made by hand").type == ""


def test_blocks_cannot_be_changed():
    """A handler cannot alter what the next handler sees."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        TextBlock("a").text = "b"


def test_blocks_compare_by_value_and_not_by_raw():
    """Two blocks that say the same are equal."""
    assert TextBlock("a", {"x": 1}) == TextBlock("a", {"y": 2})
    assert TextBlock("a") != TextBlock("b")
    assert ToolUse("1", "Bash") != ServerToolUse("1", "Bash")


def test_blocks_pickle_with_their_raw_object():
    """A block survives a trip to another process whole."""
    block = ToolResult("t", (picture(),), raw={"type": "tool_result"})
    copy = pickle.loads(pickle.dumps(block))
    assert copy == block
    assert copy.raw == block.raw


def test_every_kind_of_tool_call_is_a_tool_call():
    """Handlers of tool calls and results get those of the service and of its MCP servers too."""
    assert issubclass(ServerToolUse, ToolUse)
    assert issubclass(McpToolUse, ToolUse)
    assert issubclass(ServerToolResult, ToolResult)
    assert issubclass(McpToolResult, ToolResult)


def test_the_text_of_a_result_is_its_text():
    """A result in one text has that text; one of blocks the texts, line by line."""
    assert ToolResult("t", "out").text == "out"
    assert ToolResult("t", (TextBlock("a"), picture(), TextBlock("b"))).text == "a\nb"
    assert ToolResult("t", None).text == ""
    assert ToolResult("t", ()).text == ""


def test_the_images_of_a_result_are_its_images():
    """They are found among the blocks, to be saved and attached; a text has none."""
    first, second = picture(), ImageBlock("", url="https://example.org/a.png")
    images = ToolResult("t", (first, TextBlock("a"), second)).images
    assert all(isinstance(image, Image) for image in images)
    assert images == (first.image, second.image)
    assert [image.url for image in images] == [None, "https://example.org/a.png"]
    assert images[0].data == PIXEL
    assert ToolResult("t", "out").images == ()
    assert ToolResult("t", None).images == ()


def test_an_image_gives_its_bytes():
    """The file inside an image block is decoded when asked for."""
    assert picture().bytes == PIXEL
    assert (picture().image.data, picture().image.media_type) == (PIXEL, "image/gif")


def test_an_image_without_good_data_gives_none():
    """An address, or data that is not base64, is no file and no error."""
    assert ImageBlock("", url="https://example.org/a.png").bytes is None
    assert ImageBlock("image/png", "x").bytes is None
    assert ImageBlock("image/png", "é").bytes is None


def test_the_data_of_an_image_is_not_printed():
    """A message with a picture in it stays readable in a log."""
    assert len(repr(ImageBlock("image/png", "A" * 1000))) < 100


def test_a_document_gives_its_bytes_or_its_text():
    """A file has bytes, a plain text has text."""
    file = DocumentBlock("application/pdf", base64.b64encode(b"%PDF-").decode(), title="Plan")
    assert (file.bytes, file.text, file.title) == (b"%PDF-", "", "Plan")
    text = DocumentBlock("text/plain", text="notes")
    assert (text.bytes, text.text) == (None, "notes")


def test_a_search_result_gives_its_text():
    """What was found is read as one text."""
    found = SearchResultBlock("https://example.org", "Page", (TextBlock("a"), TextBlock("b")))
    assert found.text == "a\nb"


def test_only_texts_are_joined():
    """Thinking and images are no text."""
    assert join_texts((TextBlock("a"), ThinkingBlock("hm"), TextBlock("b")), "") == "ab"


def test_every_public_block_is_exported():
    """The list of names is complete and says nothing that is not there."""
    defined = {
        name
        for name, value in vars(blocks).items()
        if isinstance(value, type) and issubclass(value, blocks.Block)
    }
    assert defined | {"join_texts"} == set(blocks.__all__)
