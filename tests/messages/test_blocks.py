"""Content to blocks: every kind typed, nothing lost, nothing raised; and what blocks answer."""

from __future__ import annotations

import base64
import dataclasses
import pickle

import pytest
from tables import each

from claude_sync import (
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    UnknownBlock,
)
from claude_sync.messages.blocks import blocks_of

PIXEL = b"GIF89a not really"
CARRIER = ("parent1", "planner", {"record": 1})
USE = ("parent1", "planner")
RESULT = (*USE, {"record": 1})
PNG = {"type": "base64", "media_type": "image/png", "data": "AAAA"}


def one(raw):
    """The block that *raw* is; it keeps *raw* itself."""
    (block,) = blocks_of([raw], CARRIER)
    assert block.raw is raw
    return block


def picture():
    """An image block with data in it."""
    return ImageBlock("image/gif", base64.b64encode(PIXEL).decode())


@each(
    ("kind", "fields", "expected"),
    [
        ("text", {"text": "a"}, TextBlock("a")),
        ("thinking", {"thinking": "hm", "signature": "x"}, ThinkingBlock("hm", "x")),
        ("thinking", {"thinking": "hm"}, ThinkingBlock("hm", "")),
        (
            "tool_use",
            {"id": "t1", "name": "Bash", "input": {"command": "ls"}},
            ToolUse("t1", "Bash", {"command": "ls"}, *USE),
        ),
        ("tool_use", {"id": "t1", "name": "Bash", "input": ""}, ToolUse("t1", "Bash", {}, *USE)),
        (
            "server_tool_use",
            {"id": "t1", "name": "web_search", "input": {"q": "x"}},
            ToolUse("t1", "web_search", {"q": "x"}, *USE),
        ),
        (
            "tool_result",
            {"tool_use_id": "t1", "content": "out", "is_error": True},
            ToolResult("t1", "out", True, *RESULT),
        ),
        ("tool_result", {"tool_use_id": "t1"}, ToolResult("t1", None, False, *RESULT)),
        ("image", {"source": PNG}, ImageBlock("image/png", "AAAA")),
        ("image", {"source": {"url": "http://x/a.png"}}, ImageBlock("", "", "http://x/a.png")),
        ("image", {"mimeType": "image/gif", "data": "BBBB"}, ImageBlock("image/gif", "BBBB")),
        (
            "document",
            {"title": "Plan", "source": {**PNG, "media_type": "application/pdf"}},
            DocumentBlock("application/pdf", "AAAA", title="Plan"),
        ),
        (
            "document",
            {"source": {"type": "text", "media_type": "text/plain", "data": "notes"}},
            DocumentBlock("text/plain", text="notes"),
        ),
        ("hologram", {"depth": 3}, UnknownBlock("hologram")),
        (["text"], {}, UnknownBlock("")),
    ],
)
def test_each_kind_has_its_class(kind, fields, expected):
    """A block of each kind is read into its class, and pickles with its raw object."""
    block = one({"type": kind, **fields})
    assert block == expected
    assert type(block) is type(expected)
    with pytest.raises(dataclasses.FrozenInstanceError):
        block.raw = {}
    copy = pickle.loads(pickle.dumps(block))
    assert (copy, copy.raw) == (block, block.raw)


@each("kind", ["web_search_tool_result", "advisor_tool_result"])
def test_results_of_the_service_are_known_by_their_ending(kind):
    """A tool of the service that is new today is typed all the same."""
    block = one({"type": kind, "tool_use_id": "t1", "content": [{"type": "hit", "url": "u"}]})
    assert type(block) is ToolResult
    assert (block.type, block.content, block.is_error) == (kind, (UnknownBlock("hit"),), False)
    failure = {"type": f"{kind}_error", "error_code": "unavailable"}
    block = one({"type": kind, "tool_use_id": "t1", "content": failure})
    assert block.is_error
    assert block.content[0].raw is failure


def test_content_need_not_be_a_list_of_blocks():
    """A text or a block alone is a list of one; what is no block is kept."""
    assert blocks_of("hello") == (TextBlock("hello"),)
    assert blocks_of({"type": "text", "text": "a"}) == (TextBlock("a"),)
    assert blocks_of(None) == blocks_of([]) == ()
    blocks = blocks_of(["a", 5, None, ["x"]])
    assert blocks == (TextBlock("a"), UnknownBlock(""), UnknownBlock(""), UnknownBlock(""))
    assert [block.raw["value"] for block in blocks[1:]] == [5, None, ["x"]]
    assert blocks[0].type == "text"


def test_endless_nesting_does_not_exhaust_the_stack():
    """A result in a result is kept raw."""
    raw = {"type": "text", "text": "bottom"}
    for _ in range(50_000):
        raw = {"type": "tool_result", "content": [raw]}
    (block,) = one(raw).content
    assert (block.type, type(block)) == ("tool_result", UnknownBlock)
    while raw.get("content"):  # taken apart by hand: freeing it whole would recurse
        raw = raw["content"].pop()


@each(
    ("name", "tool"),
    [
        ("Bash", "Bash"),
        ("mcp__claude_sync__page", "page"),
        ("mcp__files__find__all", "find__all"),
        ("mcp__files", "mcp__files"),
        ("my__own__tool", "my__own__tool"),
    ],
)
def test_a_tool_has_its_own_name_beside_the_wires(name, tool):
    """That of the function, without the MCP server it is in."""
    use = ToolUse("t1", name)
    assert (use.name, use.tool) == (name, tool)


def test_a_result_gives_its_text_and_its_images():
    """The texts line by line; images to save and attach."""
    address = ImageBlock("", url="https://example.org/a.png")
    content = (TextBlock("a"), picture(), ThinkingBlock("hm"), TextBlock("b"), address)
    result = ToolResult("t", content)
    assert result.text == "a\nb"
    assert result.images == (picture().image, address.image)
    assert [image.url for image in result.images] == [None, "https://example.org/a.png"]
    for content, text in (("out", "out"), (None, ""), ((), "")):
        assert (ToolResult("t", content).text, ToolResult("t", content).images) == (text, ())


def test_files_are_decoded_when_asked_for():
    """An address, a text, or data that is not base64, is no file and no error."""
    assert (picture().bytes, picture().image.data) == (PIXEL, PIXEL)
    document = DocumentBlock("application/pdf", base64.b64encode(b"%PDF-").decode())
    assert document.bytes == b"%PDF-"
    for data in ("", "x", "é"):
        assert ImageBlock("image/png", data).bytes is None
    assert DocumentBlock("text/plain", text="notes").bytes is None
