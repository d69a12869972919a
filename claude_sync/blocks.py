"""
The pieces of a message: text, thinking, tool calls and their results, images.

Frozen dataclasses; each keeps the JSON object it was made of in ``raw``. A kind
this release does not know is an :class:`UnknownBlock`, never an error.
"""

# raw_field() returns dataclasses.field(), which is no call at class level.
# ruff: noqa: RUF009

from __future__ import annotations

import binascii
import dataclasses
from typing import TYPE_CHECKING, Any, Optional, Sequence, Tuple, Union

from .wire_fields import Raw, raw_field, text_of

if TYPE_CHECKING:
    from .images import Image

__all__ = [
    "Block",
    "DocumentBlock",
    "ImageBlock",
    "McpToolResult",
    "McpToolUse",
    "RedactedThinking",
    "SearchResultBlock",
    "ServerToolResult",
    "ServerToolUse",
    "TextBlock",
    "ThinkingBlock",
    "ToolResult",
    "ToolUse",
    "UnknownBlock",
    "join_texts",
]


class Block:
    """The base of every piece of a message."""

    raw: Raw

    @property
    def type(self) -> str:
        """The kind of block, as the wire names it."""
        return text_of(self.raw.get("type"))


@dataclasses.dataclass(frozen=True)
class TextBlock(Block):
    """Text of a message, complete."""

    text: str
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class ThinkingBlock(Block):
    """What Claude thought; the text is empty where the model keeps it to itself."""

    thinking: str
    signature: str = ""
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class RedactedThinking(Block):
    """Thinking that came encrypted."""

    data: str
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class ToolUse(Block):
    """
    Claude calls a tool.

    Attributes:
        id: The call; its :class:`ToolResult` carries it as ``tool_use_id``.
        name: The tool. Subagents are ``Task`` on older CLIs and ``Agent`` on newer ones.
        input: The arguments.
        parent_tool_use_id: The call that started the subagent this comes from, or None.
        agent: The kind (or else the id) of that subagent, or None.

    """

    id: str
    name: str
    input: Raw = dataclasses.field(default_factory=dict)
    parent_tool_use_id: Optional[str] = None
    agent: Optional[str] = None
    raw: Raw = raw_field()


@dataclasses.dataclass(frozen=True)
class ServerToolUse(ToolUse):
    """Claude calls a tool that runs at the service, such as web search."""


@dataclasses.dataclass(frozen=True)
class McpToolUse(ToolUse):
    """Claude calls a tool of an MCP server that the service itself is connected to."""

    server_name: str = ""


@dataclasses.dataclass(frozen=True)
class ToolResult(Block):
    """
    What a tool returned.

    Attributes:
        tool_use_id: The call it answers.
        content: Text, or blocks, or None where nothing was returned.
        is_error: Whether the tool failed or was refused.
        parent_tool_use_id: The call that started the subagent this comes from, or None.
        agent: The kind (or else the id) of that subagent, or None.
        tool_use_result: The CLI's structured record of the call, of any JSON type, or None.

    """

    tool_use_id: str
    content: Union[str, Tuple[Block, ...], None] = None
    is_error: bool = False
    parent_tool_use_id: Optional[str] = None
    agent: Optional[str] = None
    tool_use_result: Any = None
    raw: Raw = raw_field()

    @property
    def text(self) -> str:
        """The text in it; several texts are joined by line ends."""
        if isinstance(self.content, str):
            return self.content
        return join_texts(self.content or (), "\n")

    @property
    def images(self) -> Tuple[Image, ...]:
        """The images in it, to look at, to save, or to attach to the next question."""
        if not self.content or isinstance(self.content, str):
            return ()
        return tuple(block.image for block in self.content if isinstance(block, ImageBlock))


@dataclasses.dataclass(frozen=True)
class ServerToolResult(ToolResult):
    """What a tool that runs at the service returned; ``type`` tells which tool."""


@dataclasses.dataclass(frozen=True)
class McpToolResult(ToolResult):
    """What a tool of an MCP server that the service is connected to returned."""


@dataclasses.dataclass(frozen=True)
class ImageBlock(Block):
    """
    An image.

    Attributes:
        media_type: Such as ``image/png``; empty for an address.
        data: The image in base64, or empty.
        url: Its address, or None.

    """

    media_type: str
    data: str = dataclasses.field(default="", repr=False)
    url: Optional[str] = None
    raw: Raw = raw_field()

    @property
    def image(self) -> Image:
        """The same as an :class:`Image`, which can be saved, shown and attached."""
        from .images import received_image

        return received_image(self.media_type, self.data, self.url)

    @property
    def bytes(self) -> Optional[bytes]:
        """The image file; None where only an address came, or data that is not base64."""
        return decoded(self.data)


@dataclasses.dataclass(frozen=True)
class DocumentBlock(Block):
    """
    A document.

    Attributes:
        media_type: Such as ``application/pdf`` or ``text/plain``; empty for an address.
        data: The document in base64, or empty.
        text: The text of a plain text document, or empty.
        url: Its address, or None.
        title: Its title, or None.

    """

    media_type: str
    data: str = dataclasses.field(default="", repr=False)
    text: str = ""
    url: Optional[str] = None
    title: Optional[str] = None
    raw: Raw = raw_field()

    @property
    def bytes(self) -> Optional[bytes]:
        """The document file; None where text or only an address came."""
        return decoded(self.data)


@dataclasses.dataclass(frozen=True)
class SearchResultBlock(Block):
    """Something a search found, for Claude to cite."""

    source: str
    title: str = ""
    content: Tuple[Block, ...] = ()
    raw: Raw = raw_field()

    @property
    def text(self) -> str:
        """The text that was found."""
        return join_texts(self.content, "\n")


@dataclasses.dataclass(frozen=True)
class UnknownBlock(Block):
    """A kind of block this release does not know; everything is in ``raw``."""

    # Declared here, where the base class reads it from raw, so that repr() shows it.
    type: str = ""
    raw: Raw = raw_field()


def join_texts(blocks: Sequence[Block], separator: str) -> str:
    """The texts of the text blocks among *blocks*."""
    return separator.join(block.text for block in blocks if isinstance(block, TextBlock))


def decoded(data: str) -> Optional[bytes]:
    """The bytes that *data* holds in base64; None for nothing and for anything else."""
    try:
        return binascii.a2b_base64(data) or None
    except ValueError:
        return None
