"""
What a tool can know about its call, and what Claude gets of what it returned.

Texts go as they are, everything else as JSON text; an object also as structured content.
Values without a form in JSON are an error that says which.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..schema.values import as_text, plain_value
from ..support.images import Image as Image

# The service refuses an empty text.
NOTHING_RETURNED = "Done."
BLANK_RETURNED = "(empty text)"

# The keys and the blocks of a result that is written in the form of MCP itself.
RESULT_KEYS = frozenset({"content", "isError", "is_error", "structuredContent", "_meta"})
BLOCK_TYPES = frozenset({"text", "image", "audio", "resource", "resource_link"})


class ToolError(Exception):
    """Raised by a tool to tell Claude that it failed: the text goes to Claude as it is."""


class ToolContext:
    """
    What a tool can know about its call; given to a parameter annotated with this class.

    ::

        def search(words: str, context: claude_sync.ToolContext) -> str:
            for number, place in enumerate(places):
                if context.cancelled.is_set():
                    raise claude_sync.ToolError("stopped")
                context.progress(number, len(places))

    Attributes:
        tool_use_id: The call in the conversation, or None.
        session_id: The conversation, or None.
        cancelled: An event that is set when the CLI no longer waits for the result.

    """

    def __init__(
        self,
        tool_use_id: str | None = None,
        session_id: str | None = None,
        cancelled: threading.Event | None = None,
        report: Callable[[float, float | None, str | None], object] | None = None,
    ) -> None:
        self.tool_use_id = tool_use_id
        self.session_id = session_id
        self.cancelled: threading.Event = cancelled or threading.Event()
        self._report = report

    def __repr__(self) -> str:
        return f"<ToolContext of {self.tool_use_id or 'no call'}>"

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the call is; *done* grows, up to *total* if that is known."""
        if self._report is not None:
            self._report(done, total, message)


def result_of(value: Any) -> dict[str, Any]:
    """
    Make the result, in the form of MCP, that shows *value* to Claude.

    Raises:
        NoJsonForm: Something in it has no form in JSON.

    """
    if isinstance(value, Image):
        value = [value]
    if isinstance(value, (list, tuple)) and any(isinstance(each, Image) for each in value):
        return success([block_of(each) for each in value])
    plain: Any = NOTHING_RETURNED if value is None else plain_value(value)
    if is_mcp_result(plain):
        # Other libraries spell it like this.
        is_error = plain.pop("is_error", False)
        return {**plain, "isError": bool(plain.get("isError", is_error))}
    result = success([text_block(as_text(plain))])
    if isinstance(plain, dict):
        result["structuredContent"] = plain
    return result


def error_result(text: str) -> dict[str, Any]:
    """The result of a call that failed."""
    return {"content": [text_block(text)], "isError": True}


def success(content: list[dict[str, Any]]) -> dict[str, Any]:
    """The result of a call that went well."""
    return {"content": content, "isError": False}


def is_mcp_result(plain: Any) -> bool:
    """Whether the program wrote the result in the form of MCP itself."""
    if not isinstance(plain, dict) or not RESULT_KEYS.issuperset(plain):
        return False
    content = plain.get("content")
    return isinstance(content, list) and all(
        isinstance(block, dict) and block.get("type") in BLOCK_TYPES for block in content
    )


def block_of(value: Any) -> dict[str, Any]:
    """One of several values as a content block."""
    return value.block() if isinstance(value, Image) else text_block(as_text(plain_value(value)))


def text_block(text: str) -> dict[str, Any]:
    """A text as a content block."""
    return {"type": "text", "text": text if text.strip() else BLANK_RETURNED}
