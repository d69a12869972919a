"""
A Python client of the Claude Code CLI for programs without ``async``.

::

    import claude_sync

    print(claude_sync.ask("What is 2+2?"))           # one question

    with claude_sync.Client() as client:             # a conversation
        client.on_text(lambda text: print(text, end="", flush=True))
        answer = client.ask("What does setup.py do?", timeout=120)

How it works::

    your thread    threads of the client                             the CLI

    ask() ---------------------- prompt -------------------------->  stdin
      :            reader <------- one message per line -----------  stdout
      :              |   `--> a reply to a request wakes its caller
      :            queue
      :              |
      :            dispatcher --> on_text, on_tool_use, on_result ...
      :              |   `--> responders: on_permission, hooks, tools
      v              v                `---- their answers -------->  stdin
    Answer <---- the turn is over

Where to find what; ``help(claude_sync.Client)`` and so on shows each:

* Ask: ``ask``, ``Client``, ``Turn``, ``Answer``, ``Options``, ``Image``
* Ask many things: ``map``, ``Batch``, ``Item``, ``Pool``
* Decide: ``PermissionRequest``, ``Questions``, ``LATER``, ``policies``, ``hooks``
* Lend functions to Claude: ``tool``, ``Tool``, ``ToolContext``, ``ToolError``
* Look back: ``sessions``, ``export``, ``Timeline``, ``Usage``
* Windows and notebooks: ``gui.tk``, ``gui.qt``, ``notebook``
* Elsewhere: ``bridge``, ``Transport``
* What goes wrong: ``errors``, one tree below ``ClaudeError``
* What the CLI says: ``Text``, ``ToolUse``, ``Result``, ``Message`` and its subclasses
* For tests: ``claude_sync.testing``

``docs/`` in the repository has a tutorial, guides and the whole reference.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, List

from ._version import __version__
from .client import Client, ask
from .engine.launch.transport import Transport
from .engine.turn import Turn
from .errors import *  # noqa: F403
from .errors import __all__ as _errors
from .messages.answer import Answer
from .messages.events import Closed, HandlerError, Info, InterruptReceipt
from .messages.stream_text import Text, Thinking
from .messages.usage import ModelUsage, Usage
from .options import Options

if TYPE_CHECKING:
    from . import batch as batch
    from . import bridge as bridge
    from . import gui as gui
    from . import hooks as hooks
    from . import notebook as notebook
    from . import policies as policies
    from . import sessions as sessions
    from .batch import Batch, Item, Pool
    from .batch import map as map
    from .client.statistics import Statistics
    from .hooks.events import HookEvent
    from .messages import *  # noqa: F403
    from .permissions.questions import Question, QuestionOption
    from .permissions.request import LATER, Decision, PermissionRequest, Questions
    from .render.documents import export
    from .render.timeline import Span, Timeline
    from .sessions import SessionInfo, SessionNotFound
    from .tools import Tool, ToolContext, ToolError, tool
    from .tools.results import Image

# What the CLI says has many classes, which take longer to load than all the rest; they
# are loaded when a name is asked for, or while a CLI starts. The package knows their names.
_LATER = {
    "batch": ("Batch", "Item", "Pool", "map"),
    "permissions.request": ("LATER", "Decision", "PermissionRequest", "Questions"),
    "permissions.questions": ("Question", "QuestionOption"),
    "hooks.events": ("HookEvent",),
    "notebook": ("load_ipython_extension", "unload_ipython_extension"),
    "tools": ("Tool", "ToolContext", "ToolError", "tool"),
    "render.timeline": ("Span", "Timeline"),
    "render.documents": ("export",),
    "tools.results": ("Image",),
    "sessions": ("SessionInfo", "SessionNotFound"),
    "client.statistics": ("Statistics",),
}
_HOMES = {name: home for home, names in _LATER.items() for name in names}
# Modules that are used by their names: claude_sync.hooks.block(...).
_MODULES = ("batch", "bridge", "gui", "hooks", "notebook", "policies", "sessions")

# Not in here: map, which would take the place of Python's own in "from claude_sync import *".
__all__ = [
    "LATER",
    "Answer",
    "Batch",
    "Client",
    "Closed",
    "Decision",
    "HandlerError",
    "HookEvent",
    "Image",
    "Info",
    "InterruptReceipt",
    "Item",
    "ModelUsage",
    "Options",
    "PermissionRequest",
    "Pool",
    "Question",
    "QuestionOption",
    "Questions",
    "SessionInfo",
    "SessionNotFound",
    "Span",
    "Statistics",
    "Text",
    "Thinking",
    "Timeline",
    "Tool",
    "ToolContext",
    "ToolError",
    "Transport",
    "Turn",
    "Usage",
    "__version__",
    "ask",
    "export",
    "tool",
    *_errors,
    *_MODULES,
]


if not TYPE_CHECKING:  # a checker would believe that there is every name
    # Without the names of messages, so that they need not be loaded to be listed.
    _LISTED = __all__
    del __all__

    def __getattr__(name: str) -> Any:
        """Load the module that has *name*, the first time it is asked for."""
        if name in _MODULES:
            return importlib.import_module(f"{__name__}.{name}")
        if name == "__all__":
            # help(claude_sync) would go on to everything in every class: 14,000 lines. Without
            # this list pydoc shows the docstring, and it is a page.
            if sys._getframe(1).f_globals.get("__name__") == "pydoc":
                raise AttributeError(name)
            return [*_LISTED, *importlib.import_module(f"{__name__}.messages").__all__]
        if name in _HOMES:
            value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        elif name[:1].isupper():
            value = getattr(importlib.import_module(f"{__name__}.messages"), name, None)
        else:
            value = None
        if value is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__() -> List[str]:
        return sorted({*__getattr__("__all__"), "__doc__", "errors", "map"})
