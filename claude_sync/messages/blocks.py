"""
The pieces of a message: text, thinking, tool calls and their results, images.

Frozen values; each keeps the JSON object it was made of in ``raw``. A kind this release does
not know is an :class:`UnknownBlock`, never an error.

Content comes as a list of blocks, as a plain text, as one block alone, or not at all, and what
stands in a list need not be a block. A tool result in a tool result is an ``UnknownBlock``: so no
nesting exhausts the stack.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from .fields import Raw, Wire, at, build, mapping_of, optional_text_of, passed, text_of

if TYPE_CHECKING:
    from ..support.images import Image


#: The class of each type of block.
BLOCKS: dict[str, type[Block]] = {}

# What blocks take over from the message they come in: the call that started the subagent, its
# kind, and the record of a tool call.
Carrier = tuple[Union[str, None], Union[str, None], Any]


class Block(Wire):
    """The base of every piece of a message; a subclass registers itself under its type."""

    def __init_subclass__(cls, type: str = "") -> None:
        super().__init_subclass__()
        BLOCKS.update(dict.fromkeys(type.split(), cls))

    @classmethod
    def read(cls, raw: Raw, _carrier: Carrier) -> Block:
        """A block of this class, made of *raw*."""
        return build(cls, raw)


class TextBlock(Block, type="text"):
    """Text of a message, complete."""

    text: str = ""


class ThinkingBlock(Block, type="thinking"):
    """What Claude thought; the text is empty where the model keeps it to itself."""

    thinking: str = ""
    signature: str = ""


class ToolUse(Block, type="tool_use server_tool_use mcp_tool_use"):
    """
    Claude calls a tool; ``type`` tells those that run at the service, such as web search.

    Attributes:
        id: The call; its :class:`ToolResult` carries it as ``tool_use_id``.
        name: The tool, as the wire names it; ``tool`` is the function's own
            name. Subagents are ``Task`` on older CLIs and ``Agent`` on newer ones.
        input: The arguments.
        parent_tool_use_id: The call that started the subagent this comes from, or None.
        agent: The kind (or else the id) of that subagent, or None.

    """

    id: str = ""
    name: str = ""
    input: Raw = at(default=dict)
    parent_tool_use_id: str | None = passed()
    agent: str | None = passed()

    @classmethod
    def read(cls, raw: Raw, carrier: Carrier) -> Block:
        """A block of this class, made of *raw*; the input is an empty text while it streams."""
        return build(cls, raw, parent_tool_use_id=carrier[0], agent=carrier[1])

    @property
    def tool(self) -> str:
        """The tool without its MCP server: ``page`` of ``mcp__claude_sync__page``."""
        parts = self.name.split("__", 2)
        return parts[2] if len(parts) == 3 and parts[0] == "mcp" else self.name


class ToolResult(Block, type="tool_result"):
    """
    What a tool returned; ``type`` tells those of tools that run at the service.

    Attributes:
        tool_use_id: The call it answers.
        content: Text, or blocks, or None where nothing was returned.
        is_error: Whether the tool failed or was refused.
        parent_tool_use_id: The call that started the subagent this comes from, or None.
        agent: The kind (or else the id) of that subagent, or None.
        tool_use_result: The CLI's structured record of the call, of any JSON type, or None.

    """

    tool_use_id: str = ""
    content: str | tuple[Block, ...] | None = None
    is_error: bool = passed(False)
    parent_tool_use_id: str | None = passed()
    agent: str | None = passed()
    tool_use_result: Any = passed()

    @classmethod
    def read(cls, raw: Raw, carrier: Carrier) -> Block:
        """A block of this class, made of *raw*."""
        content = raw.get("content")
        # Tools of the service report a failure with one object in place of the list.
        failed = text_of(mapping_of(content).get("type")).endswith("_error")
        is_text = content is None or isinstance(content, str)
        parent, agent, record = carrier
        return build(
            cls,
            raw,
            content=content if is_text else blocks_of(content),
            is_error=failed or raw.get("is_error") is True,
            parent_tool_use_id=parent,
            agent=agent,
            tool_use_result=record,
        )

    @property
    def text(self) -> str:
        """The text in it; several texts are joined by line ends."""
        if isinstance(self.content, str):
            return self.content
        return join_texts(self.content or (), "\n")

    @property
    def images(self) -> tuple[Image, ...]:
        """The images in it, to look at, to save, or to attach to the next question."""
        blocks = () if isinstance(self.content, str) else self.content or ()
        return tuple(block.image for block in blocks if isinstance(block, ImageBlock))


class _FileBlock(Block):
    """A file, or its address."""

    media_type: str = at("media_type", "mimeType", default="")
    data: str = dataclasses.field(default="", repr=False)
    url: str | None = None

    @property
    def bytes(self) -> bytes | None:
        """The file; None for an address, a text, or data that is not base64."""
        from ..support.images import decoded

        return decoded(self.data)


class ImageBlock(_FileBlock, type="image"):
    """
    An image.

    Attributes:
        media_type: Such as ``image/png``; empty for an address.
        data: The image in base64, or empty.
        url: Its address, or None.

    """

    @classmethod
    def read(cls, raw: Raw, _carrier: Carrier) -> Block:
        """A block of this class, in the form of the Messages API or, from a tool, of MCP."""
        return build(cls, mapping_of(raw.get("source")) or raw, raw=raw)

    @property
    def image(self) -> Image:
        """The same as an :class:`Image`, which can be saved, shown and attached."""
        from ..support.images import received_image

        return received_image(self.media_type, self.data, self.url)


class DocumentBlock(_FileBlock, type="document"):
    """
    A document.

    Attributes:
        media_type: Such as ``application/pdf`` or ``text/plain``; empty for an address.
        data: The document in base64, or empty.
        url: Its address, or None.
        text: The text of a plain text document, or empty.
        title: Its title, or None.

    """

    text: str = ""
    title: str | None = None

    @classmethod
    def read(cls, raw: Raw, _carrier: Carrier) -> Block:
        """A block of this class; the data of a plain text document is its text."""
        source = mapping_of(raw.get("source"))
        fields: dict[str, Any] = {"raw": raw, "title": optional_text_of(raw.get("title"))}
        if source.get("type") == "text":
            fields.update(data="", text=text_of(source.get("data")))
        return build(cls, source, **fields)


class UnknownBlock(Block):
    """A kind of block this release does not know; everything is in ``raw``."""

    # Declared here, where the base class reads it from raw, so that repr() shows it.
    type: str = ""


def blocks_of(content: Any, carrier: Carrier | None = None) -> tuple[Block, ...]:
    """The blocks of a message, or without a *carrier* of a tool result."""
    if isinstance(content, list):
        return tuple([block_of(item, carrier) for item in content])
    return () if content is None else (block_of(content, carrier),)


def block_of(raw: Any, carrier: Carrier | None) -> Block:
    """One block, whatever stands in its place."""
    if isinstance(raw, str):
        return TextBlock(raw, raw={"type": "text", "text": raw})
    if not isinstance(raw, dict):
        return UnknownBlock(raw={"value": raw})
    kind = text_of(raw.get("type"))
    found = BLOCKS.get(kind)
    if found is None and kind.endswith("_tool_result"):
        found = ToolResult  # each tool of the service has its own type: web_search_tool_result
    if found is None or (carrier is None and found is ToolResult):
        return UnknownBlock(kind, raw=raw)
    return found.read(raw, carrier or (None, None, None))


def join_texts(blocks: Sequence[Block], separator: str) -> str:
    """The texts of the text blocks among *blocks*."""
    return separator.join(block.text for block in blocks if isinstance(block, TextBlock))
