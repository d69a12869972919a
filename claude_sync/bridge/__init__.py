"""
Many conversations over one pair of pipes: sessions in envelopes, both sides.

``python -m claude_sync.bridge`` is a backend: it reads one JSON message a line from
stdin and answers on stdout, for any number of sessions, each with a Claude Code CLI of
its own. A front end in any language can use it. :class:`Bridge` is such a front end:
``Bridge(command).client(...)`` is a ``claude_sync.Client`` whose CLI runs behind it, on
another machine if the command goes there.

Every message is ``{"type", "id", "session_id", "payload"}``; an answer has the ``id`` of
what it answers::

    session.create      -> session.created, or error
    session.send        -> sdk.message ..., as the CLI says them; error if it cannot
    session.interrupt   -> session.interrupted, or error
    session.kill        -> session.killed, or error
    query.call          -> query.result, or error
    callback.request    <- callback.response

A line of a front end may have 128 MiB; a longer one is an ``INVALID_MESSAGE``.

A **raw session** is the CLI itself: whatever a :class:`~claude_sync.Client` can do works through
it, because the two speak to each other in their own words. A :class:`Bridge` asks for such
sessions, and any other front end that speaks the CLI's protocol may::

    session.create      with raw: true -> session.created with raw: true and the CLI's pid
    session.line        both ways: the payload is one line of the CLI's protocol
    session.stderr      a line that the CLI tells people
    session.credit      from the front end: it has room for so many bytes more
    session.end_input   from the front end: the CLI may come to its end
    session.ended       the CLI has ended, with this exit_code; session.kill takes the rest away

``credit`` of ``session.create`` (1 MiB if it is left out) is how many bytes of lines may be on
their way; while there is no room, that CLI is not read. What the CLI prints is not looked at: a
line that is no JSON makes an envelope that is none. The first line to the CLI is its
``initialize``, to which the backend adds settings that have no flag. Without ``--trust-client``
a line from the front end is parsed, and what is not for every front end is refused, in place of
the CLI.

What this backend does beyond the document in other sessions. All of it is optional:

``session.create``
    ``prompt`` may be a list of content blocks; ``""`` or none leaves the session idle.
    ``options`` takes, beside the documented names, the fields of ``claude_sync.Options`` by
    their names (``resume``, ``effort``, ``append_system_prompt``, ``start_timeout``,
    ``on_crash``, ...), those excepted that are functions or belong to the client
    (``permissions``, ``post``, ``record``, ...). A name that does not exist is refused. ``cli``,
    ``env``, ``extra_args``, ``settings``, ``plugins``, files (of servers, prompts, a
    conversation to resume), hooks of subagents, and ``bypassPermissions`` (here, in a subagent,
    a call or an answer) need ``--trust-client``. ``include_partial_messages`` is off unless
    asked for.
``session.created``
    ``sdk_session_id`` is null for a conversation that is continued, or copied, until the CLI
    has told its id, which every ``sdk.message`` has.
``session.send``
    ``message`` may be a list of content blocks. What is sent to a session is done in the order in
    which it is sent, and nothing but a message waits for the end of a turn: a message that is
    sent while a turn runs is asked after it.
``session.kill``
    ``timeout``: how many seconds the CLI has to end in peace, up to 10; 0 kills it. Until it
    has ended, and ``session.killed`` is sent, it counts for ``--max-sessions``.
``callback.request``
    Also ``blocked_path``, ``tool_use_id``, ``decision_reason``, ``title``, ``description``,
    ``agent_id``, where known. Without an answer within 300 seconds (``--callback-timeout``)
    there is a ``CALLBACK_TIMEOUT`` with its ``id``: a permission is denied, a hook has nothing
    to say.
``callback.response``
    ``interrupt: true`` with a ``deny`` ends the turn. A hook's answer may also have
    ``stop_reason`` and ``suppress_output``; inside ``hook_specific_output`` both
    ``permission_decision`` and ``permissionDecision`` will do, and so in its ``decision``.
    An answer that cannot be is an ``INVALID_MESSAGE``, and the callback stays open.
``query.call``
    The eight methods. One that was called and failed is a ``query.result`` with
    ``success: false``, ``error`` and ``details`` (``error``: the class of the error, ``code``
    and ``text``: the CLI's); one that cannot be called so is an ``error``
    ``QUERY_METHOD_FAILED``. For whatever else the CLI knows there are raw sessions.
``error``
    ``details`` may have ``error`` (the class of the error here), ``exit_code`` and
    ``stderr_tail`` (of a CLI that died, ``error`` is ``CliExited`` then; the next message
    starts it again, resumed, unless ``on_crash`` is ``raise``). An ``SDK_ERROR`` with the
    ``id`` of a ``session.send`` or ``session.create`` says that this message gets no
    ``result``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .client import Bridge
    from .server import serve

__all__ = ["Bridge", "serve"]

HOMES = {"Bridge": ".client", "serve": ".server"}


if not TYPE_CHECKING:  # a checker would believe that there is every name

    def __getattr__(name: str) -> Any:
        """Load *name* from its module, the first time it is asked for."""
        if name not in HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(HOMES[name], __name__), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
