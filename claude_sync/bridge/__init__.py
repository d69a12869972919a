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

What this backend does beyond that. All of it is optional, and nothing of it changes what
a front end gets that does not ask for it:

``session.create``
    ``prompt`` may be a list of content blocks; ``""`` or none leaves the session idle.
    ``uuid`` is the uuid of that first user message. ``extensions: true`` asks for the
    messages and fields marked (x) below. ``options`` takes, beside the documented names,
    the fields of ``claude_sync.Options`` by their names (``resume``, ``effort``,
    ``append_system_prompt``, ``start_timeout``, ``on_crash``, ...), those excepted that
    are functions or belong to the client (``permissions``, ``post``, ``record``, ...). A
    name that does not exist is refused. ``cli``, ``env``, ``extra_args``, ``settings``,
    ``plugins``, files (of servers, prompts, a conversation to resume), hooks of subagents, and
    ``bypassPermissions`` (here, in a subagent, a call or an answer) need ``--trust-client``.
    ``include_partial_messages`` is off unless asked for.
``options.hooks``
    Each config may have ``timeout`` (seconds), ``on_failure`` (``block`` or ``continue``)
    and ``id``, a string that comes back as ``hook_id``.
``options.tools``
    Functions of the front end: ``[{"name", "description", "input_schema"}]``, and
    ``ask: true`` if permission is to be asked for; ``title``, ``annotations`` (hints as MCP
    spells them: calls of tools with ``readOnlyHint`` may run at the same time) and
    ``max_result_chars``. A call is a ``callback.request`` with ``callback_type: "tool"``,
    ``tool_name``, ``tool_input``, ``tool_use_id``; its answer has ``content``, a text or a list
    of MCP content blocks, ``is_error: true`` if it failed, and perhaps
    ``structured_content``.
``callback.progress``
    From the front end, with the ``id`` of a tool's callback: how far the call is.
    ``progress``, a number that grows; ``total`` and ``message`` where known. Not answered;
    after the end of the call it means nothing.
``session.created`` (x)
    ``greeting``: what the CLI answered to its greeting, as it is (``commands``, ``models``,
    ``account``, ...). ``pid``, ``cli_version``: of the CLI, where known.
    ``sdk_session_id`` is null for a conversation that is continued, or copied, until the CLI
    has told its id, which every ``sdk.message`` has.
``session.updated`` (x)
    ``sdk_session_id``: as soon as it is known, if it was not; and when it changes (after
    ``/clear``, or a new beginning).
``session.send``
    ``message`` may be a list of content blocks. ``uuid``: the uuid of the user message, if it
    is new; once used, it is refused. ``steer: true``: it joins the turn that is running; an
    error if none is. ``should_query: false``: it is put into the conversation without a
    question. ``verbatim: true``: no ``@path`` in it is read, and no ``/`` makes a command.
    Messages are asked one after the other, in order; one that is sent while a turn runs
    waits for its end. ``session.interrupt``, ``setModel``, ``setPermissionMode`` and
    ``setMaxThinkingTokens`` are done in the order in which they are sent, too, but wait for
    no turn: they count for the one that runs, and for messages that still wait. Other calls,
    and answers to callbacks, do not wait for anything.
``session.interrupt``
    It ends the turn that runs; messages that wait for its end are asked then.
    ``cancel_queued: false`` leaves alone what the CLI has and has not begun (what was
    steered); else that is withdrawn, by new CLIs. ``session.interrupted`` (x) has what the
    CLI says of it: ``still_queued`` and ``cancelled``, lists of uuids.
``session.kill``
    ``timeout``: how many seconds the CLI has to end in peace, up to 10; 0 kills it. Until it
    has ended it counts: with ``--max-sessions`` sessions, the next one waits for that.
``session.stderr`` (x)
    ``line``: what the CLI tells people, as it comes.
``callback.request``
    Also ``blocked_path``, ``tool_use_id``, ``decision_reason``, ``title``, ``description``,
    ``agent_id``, ``hook_id``, where known. (x) ``request``: for a permission, the CLI's own
    request, as it is.
    Without an answer within 300 seconds (``--callback-timeout``) there is a
    ``CALLBACK_TIMEOUT`` with its ``id``: a permission is denied, a hook has nothing to say, a
    tool has failed.
``callback.response``
    ``interrupt: true`` with a ``deny`` ends the turn. A hook's answer may also have
    ``stop_reason`` and ``suppress_output``; inside ``hook_specific_output`` both
    ``permission_decision`` and ``permissionDecision`` will do, and so in its ``decision``.
    An answer that cannot be is an ``INVALID_MESSAGE``, and the callback stays open.
``callback.cancelled`` (x)
    ``id`` of a callback whose answer is no longer wanted (the turn was interrupted, the
    time is up).
``query.call``
    ``method`` may be any control method of ``claude_sync.Client``, in snake_case or
    camelCase (``context_usage``, ``side_question``, ``compact``, ...), and ``control``:
    ``args: ["get_settings", {"field": 1}]`` sends any request the CLI knows, as far as the
    client is trusted. ``kwargs``: an object of arguments by name (``timeout``). The result
    is the CLI's own reply. A method that was called and failed is a ``query.result`` with
    ``success: false``, ``error`` and ``details`` (``error``: the class of the error, ``code``
    and ``text``: the CLI's); one that cannot be called so is an ``error``
    ``QUERY_METHOD_FAILED``.
``error``
    ``details`` may have ``error`` (the class of the error here), ``exit_code`` and
    ``stderr_tail`` (of a CLI that died, ``error`` is ``CliExited`` then; the next message
    starts it again, resumed, unless ``on_crash`` is ``raise``). An ``SDK_ERROR`` with the
    ``id`` of a ``session.send`` or ``session.create`` says that this message gets no
    ``result``; one without an ``id``, that the CLI has ended while nothing was asked.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from .client import Bridge
    from .server import main, serve

__all__ = ["Bridge", "main", "serve"]

HOMES = {"Bridge": ".client", "main": ".server", "serve": ".server"}


if not TYPE_CHECKING:  # a checker would believe that there is every name

    def __getattr__(name: str) -> Any:
        """Load *name* from its module, the first time it is asked for."""
        if name not in HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(HOMES[name], __name__), name)
        globals()[name] = value
        return value


def __dir__() -> List[str]:
    return sorted(set(globals()) | set(__all__))
