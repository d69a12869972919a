"""
The synchronous, thread-based client of the Claude Code CLI.

::

    import claude_sync

    print(claude_sync.ask("What is 2+2?"))

How it works::

        claude CLI (child process)
   stdout |            ^ stdin             stderr
          v            |                     |
   +--------------+    |               +-----------+
   | reader thread|    |               | stderr thr|-- last lines kept for errors
   +------+-------+    |               +-----------+
          |  protocol/ : bytes -> lines -> JSON -> message -> route
          |        +-- reply to a request of ours ----------> its waiter wakes up
          v        +-- everything else
      [ inbox ]  one queue, order kept, the end of the stream always last
          |
   +------+-----------+   on_text, on_tool_use, on_result ...    +----------------------+
   | dispatcher thread|-- owes no answer: runs here              | responder threads    |
   +------+-----------+-- owes an answer ----------------------->| may wait             |--> stdin
          v                                                      +----------------------+
     turn completed -> ask() returns its Answer

Everything public is here; importing it loads nothing that is not needed to ask.
"""

from __future__ import annotations

from ._version import __version__
from .answers import Answer, Turn
from .blocks import (
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
from .client import Client, ask
from .errors import *  # noqa: F403
from .errors import __all__ as _errors
from .events import Closed, HandlerError, Info, InterruptReceipt
from .messages import *  # noqa: F403
from .messages import __all__ as _messages
from .options import Options
from .pieces import Text, Thinking
from .protocol.costs import Usage
from .runtime.transport import Transport
from .system_messages import *  # noqa: F403
from .system_messages import __all__ as _system_messages
from .task_messages import *  # noqa: F403
from .task_messages import __all__ as _task_messages

__all__ = [
    "Answer",
    "Client",
    "Closed",
    "DocumentBlock",
    "HandlerError",
    "ImageBlock",
    "Info",
    "InterruptReceipt",
    "McpToolResult",
    "McpToolUse",
    "Options",
    "RedactedThinking",
    "SearchResultBlock",
    "ServerToolResult",
    "ServerToolUse",
    "Text",
    "TextBlock",
    "Thinking",
    "ThinkingBlock",
    "ToolResult",
    "ToolUse",
    "Transport",
    "Turn",
    "UnknownBlock",
    "Usage",
    "__version__",
    "ask",
    *_errors,
    *_messages,
    *_system_messages,
    *_task_messages,
]
