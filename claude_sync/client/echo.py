"""
Print an answer as it arrives: ``ask(..., echo=True)`` and ``Client(echo=True)``.

Text goes to stdout, and each tool call is one line on stderr, so a script can be piped. What
a terminal would obey is printed as escapes.
"""

from __future__ import annotations

import sys
from typing import Any, TextIO

from ..messages.base import Result
from ..messages.blocks import ToolUse
from ..messages.stream_text import Text
from ..support.text import short_json, visible

__all__ = ["Echo"]

# A joined emoji stays one.
KEPT = "\n\t\u200d"
# What says most about a call, in order.
TELLING = (
    "command",
    "file_path",
    "notebook_path",
    "path",
    "pattern",
    "query",
    "url",
    "description",
)
LONGEST_CALL = 100


class Echo:
    """Prints one conversation's text, tool calls and ends of turns."""

    def __init__(self) -> None:
        # The message whose text was printed last, and whether the cursor stands behind it.
        self._message: str | None = None
        self._in_line = False
        self._has_text = False

    def __call__(self, event: Any) -> None:
        """Print what *event* shows; anything else is passed over."""
        if isinstance(event, Text):
            if event.parent_tool_use_id is None:
                self._text(event)
        elif isinstance(event, ToolUse):
            if event.parent_tool_use_id is None:
                self._end_line()
                write(sys.stderr, f"{one_line(event)}\n")
        elif isinstance(event, Result):
            self.end()

    def end(self) -> None:
        """The turn is over: the next text begins on a line of its own."""
        self._end_line()
        self._message = None
        self._has_text = False

    def _text(self, piece: Text) -> None:
        if self._has_text and piece.message_id != self._message:
            self._end_line()
            write(sys.stdout, "\n")  # a blank line between two messages
        self._message = piece.message_id
        self._has_text = True
        self._in_line = not piece.endswith("\n")
        write(sys.stdout, visible(piece, KEPT))

    def _end_line(self) -> None:
        if self._in_line:
            self._in_line = False
            write(sys.stdout, "\n")


def write(stream: TextIO | None, text: str) -> None:
    """Write now. A program without a console, such as pythonw, has no stream."""
    if stream is not None:
        # As an escape what the stream cannot show: it must not cost the answer.
        encoding = getattr(stream, "encoding", None) or "utf-8"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()


def one_line(use: ToolUse) -> str:
    """A tool call in a line: its name, and what the call is about."""
    told = [use.input[key] for key in TELLING if isinstance(use.input.get(key), str)]
    about = " ".join(told[0].split()) if told else short_json(use.input, LONGEST_CALL)
    if len(about) > LONGEST_CALL:
        about = about[: LONGEST_CALL - 3] + "..."
    return visible(f"[{use.tool}] {about}", "")
