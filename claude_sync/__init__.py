"""
The synchronous, thread-based client of the Claude Code CLI.

::

    import claude_sync

    print(claude_sync.ask("What is 2+2?"))

How it works::

    your thread    threads of the client                             the CLI

    ask() ---------------------- the question -------------------->  stdin
      :            reader <------- a message a line ---------------  stdout
      :              |   `--> a reply to a request: its caller goes on
      :            queue
      :              |
      :            dispatcher --> on_text, on_tool_use, on_result ...
      :              |   `--> responders: on_permission, hooks, tools
      v              v                `---- their answers -------->  stdin
    Answer <---- the turn is over

Everything public is here; importing it loads nothing that is not needed to ask.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, List

from ._version import __version__
from .answers import Answer, Turn
from .client import Client, ask
from .errors import *  # noqa: F403
from .errors import __all__ as _errors
from .events import Closed, HandlerError, Info, InterruptReceipt
from .options import Options
from .pieces import Text, Thinking
from .protocol.costs import ModelUsage, Usage
from .runtime.transport import Transport

if TYPE_CHECKING:
    from . import bridge as bridge
    from . import gui as gui
    from . import hooks as hooks
    from . import notebook as notebook
    from . import policies as policies
    from . import sessions as sessions
    from .batch import Batch, Item
    from .batch import map as map
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
    from .envelope_messages import *  # noqa: F403
    from .exports import export
    from .hook_events import HookEvent
    from .messages import *  # noqa: F403
    from .permissions import LATER, Decision, PermissionRequest, Questions
    from .pool import Pool
    from .protocol.agent_usage import AgentUsage
    from .questions import Question, QuestionOption
    from .replies import *  # noqa: F403
    from .session_files import SessionNotFound
    from .session_info import SessionInfo
    from .statistics import HandlerTime, Statistics
    from .system_messages import *  # noqa: F403
    from .task_messages import *  # noqa: F403
    from .timeline import Span, Timeline
    from .tool_results import Image
    from .tools import Tool, ToolContext, ToolError, tool

# What the CLI says has many classes, which take longer to load than all the rest; they
# are loaded when a name is asked for, or while a CLI starts.
_LATER = {
    "batch": ("Batch", "Item", "map"),
    "pool": ("Pool",),
    "protocol.agent_usage": ("AgentUsage",),
    "permissions": ("LATER", "Decision", "PermissionRequest", "Questions"),
    "questions": ("Question", "QuestionOption"),
    "hook_events": ("HookEvent",),
    "notebook": ("load_ipython_extension", "unload_ipython_extension"),
    "tools": ("Tool", "ToolContext", "ToolError", "tool"),
    "timeline": ("Span", "Timeline"),
    "exports": ("export",),
    "tool_results": ("Image",),
    "session_files": ("SessionNotFound",),
    "session_info": ("SessionInfo",),
    "statistics": ("HandlerTime", "Statistics"),
    "blocks": (
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
    ),
    "messages": (
        "Assistant",
        "AuthStatus",
        "CommandLifecycle",
        "ConversationReset",
        "ErrorMessage",
        "KeepAlive",
        "Message",
        "PromptSuggestion",
        "RateLimit",
        "Result",
        "StreamEvent",
        "System",
        "ToolProgress",
        "ToolUseSummary",
        "TranscriptMirror",
        "Unknown",
        "User",
    ),
    "system_messages": (
        "ApiRetry",
        "CodeChangePublished",
        "CommandsChanged",
        "CompactBoundary",
        "ControlRequestProgress",
        "ElicitationComplete",
        "FilesPersisted",
        "HookProgress",
        "HookResponse",
        "HookRun",
        "HookStarted",
        "Informational",
        "Init",
        "LocalCommandOutput",
        "MemoryRecall",
        "MirrorError",
        "ModelFallback",
        "ModelRefusalFallback",
        "ModelRefusalNoFallback",
        "Notification",
        "PermissionDenied",
        "PluginInstall",
        "PostTurnSummary",
        "SessionMetadata",
        "SessionStateChanged",
        "SessionWritesLost",
        "Status",
        "ThinkingTokens",
        "VcsStateChanged",
        "WorkerShuttingDown",
    ),
    "envelope_messages": (
        "CallbackRequest",
        "CallbackResponse",
        "Envelope",
        "QueryCall",
        "QueryResult",
        "SdkMessage",
        "SessionCreate",
        "SessionCreated",
        "SessionInterrupt",
        "SessionInterrupted",
        "SessionKill",
        "SessionKilled",
        "SessionSend",
    ),
    "replies": (
        "AccountInfo",
        "Acknowledgement",
        "CommandInfo",
        "ContextCategory",
        "ContextUsage",
        "ControlReply",
        "McpServer",
        "McpServersChange",
        "McpStatus",
        "ModelChange",
        "ModelInfo",
        "PermissionModeChange",
        "RewindReport",
        "SettingsReport",
        "SettingsSource",
        "SideAnswer",
        "TasksMoved",
        "UsageReport",
    ),
    "task_messages": (
        "BackgroundTasksChanged",
        "Task",
        "TaskNotification",
        "TaskProgress",
        "TaskStarted",
        "TaskSummary",
        "TaskUpdated",
    ),
}
_HOMES = {name: home for home, names in _LATER.items() for name in names}
# Modules that are used by their names: claude_sync.hooks.block(...).
_MODULES = ("bridge", "gui", "hooks", "notebook", "policies", "sessions")

# Not in here: map, which would take the place of Python's own in "from claude_sync import *".
__all__ = [
    "LATER",
    "AgentUsage",
    "Answer",
    "Batch",
    "Client",
    "Closed",
    "Decision",
    "DocumentBlock",
    "HandlerError",
    "HandlerTime",
    "HookEvent",
    "Image",
    "ImageBlock",
    "Info",
    "InterruptReceipt",
    "Item",
    "McpToolResult",
    "McpToolUse",
    "ModelUsage",
    "Options",
    "PermissionRequest",
    "Pool",
    "Question",
    "QuestionOption",
    "Questions",
    "RedactedThinking",
    "SearchResultBlock",
    "ServerToolResult",
    "ServerToolUse",
    "SessionInfo",
    "SessionNotFound",
    "Span",
    "Statistics",
    "Text",
    "TextBlock",
    "Thinking",
    "ThinkingBlock",
    "Timeline",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "ToolUse",
    "Transport",
    "Turn",
    "UnknownBlock",
    "Usage",
    "__version__",
    "ask",
    "export",
    "tool",
    *_errors,
    *_MODULES,
    *_LATER["envelope_messages"],
    *_LATER["messages"],
    *_LATER["replies"],
    *_LATER["system_messages"],
    *_LATER["task_messages"],
]


if not TYPE_CHECKING:  # a checker would believe that there is every name

    def __getattr__(name: str) -> Any:
        """Load the module that has *name*, the first time it is asked for."""
        if name in _MODULES:
            return importlib.import_module(f"{__name__}.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__, *_HOMES})
