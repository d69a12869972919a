"""
Turn the content of a message into typed blocks; the part of ``parsing`` below a message.

Content comes as a list of blocks, as a plain text, as one block alone, or not
at all, and what stands in a list need not be a block: nothing of it makes this
raise. Blocks in blocks are typed down to a fixed depth, so that no nesting
exhausts the stack; below it they are kept as ``UnknownBlock``.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple, Type, Union

from ..blocks import (
    Block,
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
from ..wire_fields import Raw, flag_of, mapping_of, optional_text_of, text_of

__all__ = ["Carrier", "parse_blocks"]

# A tool result holds blocks, a search result in it some more; nothing known goes deeper.
DEEPEST = 4


class Carrier(NamedTuple):
    """What blocks take over from the message they come in."""

    parent_tool_use_id: Optional[str] = None
    agent: Optional[str] = None
    tool_use_result: Any = None


NO_CARRIER = Carrier()


def parse_blocks(content: Any, carrier: Carrier = NO_CARRIER, depth: int = 0) -> Tuple[Block, ...]:
    """The blocks of *content*."""
    if isinstance(content, list):
        return tuple([parse_block(item, carrier, depth) for item in content])
    if content is None:
        return ()
    return (parse_block(content, carrier, depth),)


def parse_block(raw: Any, carrier: Carrier, depth: int) -> Block:
    """One block, whatever stands in its place."""
    if isinstance(raw, str):
        return TextBlock(raw, {"type": "text", "text": raw})
    if not isinstance(raw, dict):
        return UnknownBlock("", {"value": raw})
    kind = text_of(raw.get("type"))
    if depth > DEEPEST:
        return UnknownBlock(kind, raw)
    parser = BLOCKS.get(kind)
    if parser is not None:
        return parser(raw, carrier, depth)
    # Each tool of the service has a type of its own: web_search_tool_result, ...
    if kind.endswith("_tool_result"):
        return tool_result(raw, carrier, depth)
    return UnknownBlock(kind, raw)


def text_block(raw: Raw, _carrier: Carrier, _depth: int) -> Block:
    """``text``."""
    return TextBlock(text_of(raw.get("text")), raw)


def thinking_block(raw: Raw, _carrier: Carrier, _depth: int) -> Block:
    """``thinking``; without a signature where a model has none."""
    return ThinkingBlock(text_of(raw.get("thinking")), text_of(raw.get("signature")), raw)


def redacted_thinking(raw: Raw, _carrier: Carrier, _depth: int) -> Block:
    """``redacted_thinking``."""
    return RedactedThinking(text_of(raw.get("data")), raw)


TOOL_USES: Dict[str, Type[ToolUse]] = {"tool_use": ToolUse, "server_tool_use": ServerToolUse}


def tool_use(raw: Raw, carrier: Carrier, _depth: int) -> Block:
    """``tool_use`` and ``server_tool_use``; the input is an empty text while it still streams."""
    return TOOL_USES[raw["type"]](
        text_of(raw.get("id")),
        text_of(raw.get("name")),
        mapping_of(raw.get("input")),
        carrier.parent_tool_use_id,
        carrier.agent,
        raw,
    )


def mcp_tool_use(raw: Raw, carrier: Carrier, _depth: int) -> Block:
    """``mcp_tool_use``."""
    return McpToolUse(
        text_of(raw.get("id")),
        text_of(raw.get("name")),
        mapping_of(raw.get("input")),
        carrier.parent_tool_use_id,
        carrier.agent,
        raw,
        text_of(raw.get("server_name")),
    )


TOOL_RESULTS: Dict[str, Type[ToolResult]] = {
    "tool_result": ToolResult,
    "mcp_tool_result": McpToolResult,
}


def tool_result(raw: Raw, carrier: Carrier, depth: int) -> Block:
    """``tool_result`` and every ``*_tool_result``."""
    value = raw.get("content")
    content: Union[str, Tuple[Block, ...], None]
    if value is None or isinstance(value, str):
        content = value
    else:
        content = parse_blocks(value, carrier, depth + 1)
    # Tools of the service say it with one object in place of the list.
    failed = isinstance(value, dict) and text_of(value.get("type")).endswith("_error")
    return TOOL_RESULTS.get(raw["type"], ServerToolResult)(
        text_of(raw.get("tool_use_id")),
        content,
        failed or flag_of(raw.get("is_error")),
        carrier.parent_tool_use_id,
        carrier.agent,
        carrier.tool_use_result,
        raw,
    )


def image_block(raw: Raw, _carrier: Carrier, _depth: int) -> Block:
    """``image``, in the form of the Messages API or, from a tool, in that of MCP."""
    source = mapping_of(raw.get("source"))
    return ImageBlock(
        text_of(source.get("media_type") or raw.get("mimeType")),
        text_of(source.get("data") or raw.get("data")),
        optional_text_of(source.get("url")),
        raw,
    )


def document_block(raw: Raw, _carrier: Carrier, _depth: int) -> Block:
    """``document``; the data of a plain text document is its text."""
    source = mapping_of(raw.get("source"))
    data = text_of(source.get("data"))
    is_text = source.get("type") == "text"
    return DocumentBlock(
        text_of(source.get("media_type")),
        "" if is_text else data,
        data if is_text else "",
        optional_text_of(source.get("url")),
        optional_text_of(raw.get("title")),
        raw,
    )


def search_result(raw: Raw, carrier: Carrier, depth: int) -> Block:
    """``search_result``."""
    return SearchResultBlock(
        text_of(raw.get("source")),
        text_of(raw.get("title")),
        parse_blocks(raw.get("content"), carrier, depth + 1),
        raw,
    )


BLOCKS: Dict[str, Callable[[Raw, Carrier, int], Block]] = {
    "text": text_block,
    "thinking": thinking_block,
    "redacted_thinking": redacted_thinking,
    "tool_use": tool_use,
    "server_tool_use": tool_use,
    "mcp_tool_use": mcp_tool_use,
    "tool_result": tool_result,
    "image": image_block,
    "document": document_block,
    "search_result": search_result,
}
