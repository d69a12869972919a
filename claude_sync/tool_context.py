"""What a tool can know about its call, and how it says that it failed."""

from __future__ import annotations

from typing import Callable, Optional, Protocol

__all__ = ["Cancelled", "ToolContext", "ToolError"]


class ToolError(Exception):
    """Raised by a tool to tell Claude that it failed: the text goes to Claude as it is."""


class Cancelled(Protocol):
    """What tells that a call was withdrawn; a ``threading.Event`` is one."""

    def is_set(self) -> bool:
        """Whether it was withdrawn."""

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Wait until it is withdrawn, or for *timeout* seconds."""


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
        cancelled: An event that is set when nobody waits for the result any longer.

    """

    def __init__(
        self,
        tool_use_id: Optional[str] = None,
        session_id: Optional[str] = None,
        cancelled: Optional[Cancelled] = None,
        report: Optional[Callable[[float, Optional[float], Optional[str]], object]] = None,
    ) -> None:
        if cancelled is None:
            import threading

            cancelled = threading.Event()
        self.tool_use_id = tool_use_id
        self.session_id = session_id
        self.cancelled: Cancelled = cancelled
        self._report = report

    def __repr__(self) -> str:
        return f"<ToolContext of {self.tool_use_id or 'no call'}>"

    def progress(
        self, done: float, total: Optional[float] = None, message: Optional[str] = None
    ) -> None:
        """Tell how far the call is; *done* grows, up to *total* if that is known."""
        if self._report is not None:
            self._report(done, total, message)
