"""
Claude in a notebook: ``%load_ext claude_sync``, then ``%claude`` and ``%%claude``.

::

    %load_ext claude_sync

    %claude what is in this folder?

    %%claude --tools population
    Which of {cities} grew most?

The answer is written as Markdown while it comes; uses of tools are lines that
unfold; Claude's requests for permission are prompts in the cell; the kernel's
interrupt stops the turn and keeps the conversation. The answer is the value of the
cell (``_``) and in ``claude_answer``; the client is ``claude_client``. ``%claude?``
lists the settings.

For programs: :func:`configure` has the settings of the client behind the magics,
:func:`show` shows a turn of any client while it runs, and :func:`buttons` asks for
permission with buttons when no cell waits::

    client = claude_sync.Client(on_permission=buttons, on_question=buttons)
    show(client.submit("Tidy up this folder."))

:class:`Chat` is a whole chat with a field to type into, for people::

    chat = notebook.Chat(model="sonnet")
    chat

Nothing that Claude or a tool says runs: all of it is escaped. Without a notebook
everything is plain text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from ..errors import UsageError
from .buttons import buttons, waiting
from .chat import Chat
from .showing import show

if TYPE_CHECKING:
    from ..options import Options
    from .magics import Magics

__all__ = [
    "Chat",
    "buttons",
    "configure",
    "load_ipython_extension",
    "show",
    "unload_ipython_extension",
    "waiting",
]

# The extension in the shell of this process; a process has one.
_loaded: Optional[Magics] = None


def load_ipython_extension(shell: Any) -> None:
    """What ``%load_ext claude_sync`` calls."""
    global _loaded
    from .magics import Magics

    if _loaded is None or _loaded.shell is not shell:
        _loaded = Magics(shell)
        _loaded.load()


def unload_ipython_extension(shell: Any) -> None:
    """What ``%unload_ext claude_sync`` calls; the conversation of the magics ends."""
    global _loaded
    if _loaded is not None and _loaded.shell is shell:
        loaded, _loaded = _loaded, None
        loaded.unload()


def configure(options: Optional[Options] = None, **overrides: Any) -> None:
    """
    Set options and handlers, by name, of the client behind ``%claude``.

    The conversation so far ends; the next question begins one with these::

        configure(cwd="project", permissions=policies.read_only)

    A budget is one for all conversations from here to the next call.
    """
    if _loaded is None:
        raise UsageError("the magics are not loaded. Run %load_ext claude_sync first.")
    _loaded.conversation.configure(options, overrides)
