"""Content to blocks: every kind typed, nothing lost, nothing raised."""

import pytest

from claude_sync.blocks import (
    DocumentBlock,
    ImageBlock,
    McpToolResult,
    McpToolUse,
    RedactedThinking,
    SearchResultBlock,
    ServerToolResult,
    ServerToolUse,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    UnknownBlock,
)
from claude_sync.protocol.block_parsing import DEEPEST, Carrier, parse_blocks

CARRIER = Carrier("parent1", "planner", {"record": 1})


def one(raw, carrier=CARRIER):
    """The block that *raw* is; it keeps *raw* itself."""
    (block,) = parse_blocks([raw], carrier)
    assert block.raw is raw
    return block


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"type": "text", "text": "a"}, TextBlock("a")),
        ({"type": "thinking", "thinking": "hm", "signature": "x"}, ThinkingBlock("hm", "x")),
        ({"type": "thinking", "thinking": "hm"}, ThinkingBlock("hm", "")),
        ({"type": "redacted_thinking", "data": "zz"}, RedactedThinking("zz")),
        (
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
            ToolUse("t1", "Bash", {"command": "ls"}, "parent1", "planner"),
        ),
        (
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": ""},
            ToolUse("t1", "Bash", {}, "parent1", "planner"),
        ),
        (
            {"type": "server_tool_use", "id": "t1", "name": "web_search", "input": {"q": "x"}},
            ServerToolUse("t1", "web_search", {"q": "x"}, "parent1", "planner"),
        ),
        (
            {"type": "mcp_tool_use", "id": "t1", "name": "find", "server_name": "files"},
            McpToolUse("t1", "find", {}, "parent1", "planner", server_name="files"),
        ),
        (
            {"type": "tool_result", "tool_use_id": "t1", "content": "out", "is_error": True},
            ToolResult("t1", "out", True, "parent1", "planner", {"record": 1}),
        ),
        (
            {"type": "tool_result", "tool_use_id": "t1"},
            ToolResult("t1", None, False, "parent1", "planner", {"record": 1}),
        ),
        (
            {"type": "mcp_tool_result", "tool_use_id": "t1", "content": []},
            McpToolResult("t1", (), False, "parent1", "planner", {"record": 1}),
        ),
        (
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
            },
            ImageBlock("image/png", "AAAA"),
        ),
        (
            {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
            ImageBlock("", "", "https://example.org/a.png"),
        ),
        (
            {"type": "image", "mimeType": "image/gif", "data": "BBBB"},
            ImageBlock("image/gif", "BBBB"),
        ),
        (
            {
                "type": "document",
                "title": "Plan",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"},
            },
            DocumentBlock("application/pdf", "AAAA", title="Plan"),
        ),
        (
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "notes"},
            },
            DocumentBlock("text/plain", text="notes"),
        ),
        (
            {"type": "search_result", "source": "s", "title": "t", "content": ["a"]},
            SearchResultBlock("s", "t", (TextBlock("a"),)),
        ),
        ({"type": "hologram", "depth": 3}, UnknownBlock("hologram")),
        ({"text": "no type"}, UnknownBlock("")),
        ({"type": ["text"]}, UnknownBlock("")),
    ],
)
def test_each_kind_has_its_class(raw, expected):
    """A block of each kind is read into its class, with its raw object."""
    block = one(raw)
    assert block == expected
    assert type(block) is type(expected)


@pytest.mark.parametrize(
    "kind", ["web_search_tool_result", "web_fetch_tool_result", "advisor_tool_result"]
)
def test_results_of_the_service_are_known_by_their_ending(kind):
    """A tool of the service that is new today is typed all the same."""
    block = one({"type": kind, "tool_use_id": "t1", "content": [{"type": "hit", "url": "u"}]})
    assert type(block) is ServerToolResult
    assert block.type == kind
    assert block.content == (UnknownBlock("hit"),)
    assert not block.is_error


def test_the_service_reports_failure_with_one_object():
    """An error object in place of the list makes the result an error."""
    failure = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
    block = one({"type": "web_search_tool_result", "tool_use_id": "t1", "content": failure})
    assert block.is_error
    assert block.content[0].raw is failure


def test_a_plain_text_is_one_block():
    """Content without blocks reads like content with one."""
    assert parse_blocks("hello") == (TextBlock("hello"),)
    assert parse_blocks("hello")[0].type == "text"


def test_one_block_alone_is_a_list_of_one():
    """An object in place of the list is the only block."""
    assert parse_blocks({"type": "text", "text": "a"}) == (TextBlock("a"),)


def test_no_content_is_no_blocks():
    """Nothing gives nothing."""
    assert parse_blocks(None) == ()
    assert parse_blocks([]) == ()


def test_what_is_no_block_is_kept():
    """Texts among blocks are text; other values are kept as unknown, none is dropped."""
    blocks = parse_blocks(["a", 5, None, ["x"]])
    assert blocks == (TextBlock("a"), UnknownBlock(""), UnknownBlock(""), UnknownBlock(""))
    assert [block.raw["value"] for block in blocks[1:]] == [5, None, ["x"]]


def test_images_in_a_result_are_typed():
    """The blocks in a tool result are blocks like any other."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    text = {"type": "text", "text": "a"}
    result = one({"type": "tool_result", "tool_use_id": "t1", "content": [text, image]})
    assert result.text == "a"
    assert result.images == (ImageBlock("image/png", "AA").image,)


@pytest.mark.parametrize("kind", ["tool_result", "search_result"])
def test_endless_nesting_does_not_exhaust_the_stack(kind):
    """Blocks in blocks are typed down to a depth, kept raw below it."""
    raw = {"type": "text", "text": "bottom"}
    for _ in range(50000):
        raw = {"type": kind, "content": [raw]}
    block = one(raw)
    for _ in range(DEEPEST + 1):
        assert not isinstance(block, UnknownBlock)
        (block,) = block.content
    assert block.type == kind
    assert isinstance(block, UnknownBlock)
    while raw.get("content"):  # taken apart by hand: freeing it whole would recurse
        raw = raw["content"].pop()
