"""
Serve what the CLI asks of the program: permissions, questions, hooks, tools.

::

    process -> lines -> messages -> [request] -> responder -> handlers -> answer

================ ============================ ======================================
subtype          keeps its place              served by
================ ============================ ======================================
can_use_tool     among the messages           the policy, then handlers, in order
hook_callback    no: a late answer is a yes   the hook of that number
mcp_message      no                           the program's tools, as an MCP server
anything else    no                           an answer that lets nothing through
================ ============================ ======================================

Every request gets an answer. Each that runs something of the program's has a thread of its
own, or runs where handlers run. The first that decides has decided; one that fails has denied;
nobody is a no. The program's own tools need no permission, unless they say so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from ...log import logger
from ...permissions.request import LATER, QUESTION_TOOL, Decision, PermissionRequest, Questions
from ...protocol.codec import encode
from ...protocol.control import (
    DENIED,
    LEFT_OPEN,
    deny_reply,
    failed_reply,
    request_body,
    safe_reply,
)
from ...protocol.requests import Request
from ..handlers import SERVER
from ..inbox import InOrder

if TYPE_CHECKING:
    from ...protocol.control import Reply
    from ..asked import Asked
    from ..connection import Connection
    from ..handlers import HandlerRegistry
    from ..session import Session

__all__ = ["Answers", "Requests"]

CHECK_FAILED = (
    "Permission denied: the program failed while it decided. Tell the user, and do not try again."
)
WINDOW_GONE = "Permission denied: the window that asks the user was closed."
NOBODY_IN_TIME = "Permission denied: no answer came within {seconds:g} seconds."
# Later than this nobody is going to answer a request, probably.
UNANSWERED = 60.0
# How long after a request for permission the CLI may take to call a hook about the same.
GRACE = 0.5
# So many hooks that answered before the permission was given are remembered.
ANSWERED_KEPT = 64


class Requests:
    """What serves the requests of one session's CLI."""

    def __init__(self, session: Session) -> None:
        self._session = session
        # Hooks and tools, too, run on the thread that waits for the turn.
        self._by_caller = session.options.post == "caller"
        self._warned = False
        self._reminded = False
        self._warned_of_silence = False
        self._tools: Any = None

    def answers_on(self, connection: Connection) -> Answers:
        """What sends the answers on a new connection."""
        return Answers(self._session, connection)

    # On the reader thread: nothing of the program's is called, nothing written.

    def arrived(self, connection: Connection, message: Mapping[str, Any]) -> InOrder | None:
        """Take a request of the CLI. What is returned keeps its place in the inbox."""
        request_id, subtype, _ = request_body(message)
        if request_id is None or subtype in LEFT_OPEN:
            return None
        session = self._session
        request = Request(message, connection.answers)
        with session.lock:
            if request_id in connection.opened:
                return None  # the CLI repeats itself
            connection.opened[request_id] = request
            entry = connection.exchange.current()
        asked: Asked | None = entry.owner if entry is not None else None
        wait = asked.marks.asked(subtype, request.body) if asked is not None else None
        request.on_settled = wait.over if wait is not None else None
        if subtype == "can_use_tool":
            self._limit(request)
            return InOrder(entry, lambda: self._ask_permission(request, asked))
        serve = self._server_of(request, connection, asked)
        if serve is None:
            reply = safe_reply(message)
            assert reply is not None  # one that must stay open was let go above
            session.tasks.run(lambda: request.answer(reply))
        elif self._by_caller and serve.is_users_code and not connection.awaits_replies:
            # While the program waits for a reply of the CLI, which may wait for this, it
            # delivers nothing: then a thread of ours serves it.
            return InOrder(entry, serve)
        else:
            session.tasks.run(serve, users_code=True)
        return None

    def open_at_start(self, connection: Connection, reply: Reply) -> list[Any]:
        """Requests that were open already when the CLI was greeted, as some tell."""
        told = reply.raw.get("pending_permission_requests")
        if not isinstance(told, list):
            told = reply.body.get("pending_permission_requests")
        messages = [
            {"type": "control_request", **message}
            for message in (told if isinstance(told, list) else ())
            if isinstance(message, dict)
        ]
        return [item for each in messages if (item := self.arrived(connection, each)) is not None]

    def cancelled(self, connection: Connection, request_id: object) -> None:
        """The CLI no longer waits for an answer."""
        with self._session.lock:
            request = connection.opened.pop(str(request_id), None)
        if request is not None:
            request.withdraw()
            self._session.tasks.run(lambda: connection.answers.is_withdrawn(request))

    def refuse(self, connection: Connection, raw: Mapping[str, Any]) -> None:
        """Answer a request that could not be routed: one without an answer parks the turn."""
        request_id = request_body(raw)[0]
        if request_id is None or raw.get("type") not in ("control_request", "callback.request"):
            return
        with self._session.lock:
            connection.opened.pop(request_id, None)
        data = encode(failed_reply(raw, request_id))
        self._session.tasks.run(lambda: connection.send(data))

    def _limit(self, request: Request) -> None:
        seconds = self._session.options.permission_timeout
        if seconds is not None:
            no = deny_reply(request.message, NOBODY_IN_TIME.format(seconds=seconds))
            why = f"no answer came within {seconds:g} s; denied"
            request.timer = self._session.timers.after(seconds, lambda: request.expire(no, why))

    def _server_of(self, request: Request, connection: Connection, asked: Asked | None) -> Any:
        """What serves a hook or a message to a tool; None for anything else."""
        if request.subtype == "hook_callback":
            from .hook_calls import HookCall

            return HookCall(self._session, request, asked)
        if request.subtype == "mcp_message":
            if self._tools is None:
                from .tool_calls import ToolCalls

                self._tools = ToolCalls(self._session)
            return self._tools.server_of(request, connection)
        return None

    # Permissions.

    def _ask_permission(self, request: Request, asked: Asked | None) -> None:
        """Have it decided, where handlers that owe an answer run."""
        session = self._session
        if session.dispatch.posting is not None:
            try:
                session.dispatch.post(
                    lambda: self._decide(request, asked),
                    lambda: request.end_handling(deny_reply(request.message, WINDOW_GONE)),
                )
            except BaseException as error:  # a queue that takes no calls
                logger.warning("a request could not be posted: %s", error)
                request.end_handling(deny_reply(request.message, CHECK_FAILED))
        elif session.delivery.by_waiters:
            self._decide(request, asked)
        else:
            session.tasks.run(lambda: self._decide(request, asked), users_code=True)

    def _decide(self, request: Request, asked: Asked | None) -> None:
        if request.is_decided():
            return  # withdrawn before anybody looked at it
        request.begin_handling()
        # Whatever goes wrong from here on, a bug of ours included, is a no.
        instead: Mapping[str, Any] | None = deny_reply(request.message, CHECK_FAILED)
        try:
            registry = self._session.registry()
            permission = PermissionRequest(request.message, request)
            if registry is not None and permission.tool in registry.own_tools():
                permission.allow()
                instead = None
                return
            whom = whom_to_ask(permission, registry)
            decided = self._ask_each(permission, whom, asked)
            if decided:
                instead = None
                if not request.is_decided():
                    self._remind(request)
            elif decided is not None:
                self._warn_undecided(permission, bool(whom))
                instead = deny_reply(request.message, DENIED)
        finally:
            request.end_handling(instead)

    def _ask_each(
        self,
        permission: PermissionRequest,
        whom: Sequence[tuple[Callable[[Any], object], Any]],
        asked: Asked | None,
    ) -> bool | None:
        """Whether somebody decided, or will; None if one of them failed."""
        dispatch = self._session.dispatch
        for handler, subject in whom:
            try:
                with dispatch.handling():
                    returned = handler(subject)
                if is_decision(returned, permission, subject):
                    return True
            except BaseException as error:
                # Ctrl-C is meant for the program's own thread; on ours it is a failure.
                if not isinstance(error, Exception) and self._session.delivery.by_waiters:
                    raise
                dispatch.failed_elsewhere(handler, subject, error, asked)
                return None
        return False

    def _remind(self, request: Request) -> None:
        """A handler returned LATER: if nobody answers, say so; once for each client."""

        def look() -> None:
            if request.is_decided() or self._reminded:
                return
            self._reminded = True
            logger.warning(
                "%s has waited %g s for an answer: a handler returned LATER, and request.allow() "
                "or request.deny() has not been called. Set permission_timeout= to deny such "
                "requests.",
                request.what(),
                UNANSWERED,
            )

        if request.timer is None and not self._reminded:
            request.timer = self._session.timers.after(UNANSWERED, look)

    def _warn_undecided(self, permission: PermissionRequest, was_asked: bool) -> None:
        """Say once how to let Claude use a tool."""
        if self._warned:
            return
        self._warned = True
        cause = "no permission handler is registered"
        if permission.tool == QUESTION_TOOL:
            cause = "no handler answered"
            advice = "Answer Claude's questions in a handler: client.on_question"
        elif was_asked:
            cause = "every policy and handler returned None"
            advice = "Return request.allow() or request.deny() from one of them"
        else:
            advice = (
                "Add a handler with client.on_permission, pass permissions=policy, or allow it "
                "from the start with allowed_tools=[...]"
            )
        logger.warning("Denied %s: %s. %s", permission.tool, cause, advice)

    def warn_if_never_asked(self) -> None:
        """A handler or a policy is there, and the settings let the CLI ask nobody."""
        registry = self._session.registry()
        if registry is None or not (registry.policy or registry.of["permission"]):
            return
        from ...permissions.policies import never_asks

        why = never_asks(self._session.options)
        if why and not self._warned_of_silence:
            self._warned_of_silence = True
            logger.warning(
                "the permission handler will not be asked: %s. Leave that out, and the CLI asks "
                "before it changes anything.",
                why,
            )

    # What the greeting says.

    def own_tools(self) -> Sequence[str]:
        """The program's own tools that need no permission, as far as they are known."""
        registry = self._session.registry()
        return sorted(registry.own_tools()) if registry is not None else ()

    def greeting(self) -> dict[str, Any]:
        """What the greeting says about hooks and tools. From here on none can be added."""
        registry = self._session.registry()
        if registry is None:
            return {}
        registry.freeze()
        fields: dict[str, Any] = {}
        if registry.hooks:
            from ...hooks import hooks_on_the_wire

            fields["hooks"] = hooks_on_the_wire(registry.hooks)
        if registry.tools:
            from .tool_calls import manifest_of

            fields["sdkMcpServers"] = [SERVER]
            fields["sdkMcpServerManifests"] = {SERVER: manifest_of(registry.tools)}
        return fields


class Answers:
    """
    What sends the answers to the requests of one connection; see ``protocol.requests.Desk``.

    The CLI asks ``PermissionRequest`` hooks and ``can_use_tool`` about the same thing, and a
    yes to the latter counts whatever the former say. So a yes is held back until such a hook
    has answered (some CLIs call it first, some a moment later), and if that is a no, it
    becomes one, too. The session's lock guards what is held back.
    """

    def __init__(self, session: Session, connection: Connection) -> None:
        self.session = self._session = session
        self._connection = connection
        # Yes to what a hook has not been asked about yet, or is thinking about.
        self._held: list[tuple[Request, bytes]] = []
        # What hooks have answered about, and why they refused, if they did.
        self._answered: list[tuple[Any, str | None]] = []

    @property
    def folder(self) -> str | None:
        """See :class:`Desk`."""
        return self._connection.folder

    def send_answer(self, request: Request, data: bytes) -> None:
        """See :class:`Desk`."""
        connection = self._connection
        with self._session.lock:
            connection.opened.pop(request.request_id, None)
            if request.allows and self._may_be_hooked(request):
                data = self._hold(request, data)
            elif request.subtype == "can_use_tool":
                self._forget(request.subject)
            if data:
                connection.post(data)
        connection.outbox.flush()
        self.hook_is_over(request)
        if request.interrupts:
            self._stop_turn()

    def call_cancelled(self, function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        """See :class:`Desk`."""
        self._session.dispatch.call_elsewhere(function, arguments)

    def hook_is_over(self, hook: Request) -> None:
        """A hook was answered, or is no longer wanted: let go what waited for it."""
        if not hook.is_permission_hook:
            return
        subject = hook.subject
        with self._session.lock:
            # Of several hooks about the same, one that refuses is enough.
            refusal = hook.refusal or refusal_among(self._answered, subject)
            if refusal is None and self._is_open(subject):
                return
            released = self._release(subject, refusal)
            self._forget(subject)
            if not released:
                self._answered = [*self._answered, (subject, refusal)][-ANSWERED_KEPT:]
        self._connection.outbox.flush()

    def is_withdrawn(self, request: Request) -> None:
        """The CLI no longer waits for the answer to *request*."""
        if request.subtype == "can_use_tool":
            with self._session.lock:
                self._forget(request.subject)
        self.hook_is_over(request)

    def _forget(self, subject: Any) -> None:
        """What hooks said about *subject* counts for one use of the tool only; under the lock."""
        self._answered = [each for each in self._answered if each[0] != subject]

    def _stop_turn(self) -> None:
        """Interrupt what runs, after an answer that could not say so itself."""
        with self._session.lock:
            asked = self._session.running()
        if asked is not None and self._connection is self._session.connection:
            self._session.stopper.stop(asked, None)

    def _hold(self, request: Request, data: bytes) -> bytes:
        """What to write now for a yes; nothing if it is held back."""
        if not self._is_open(request.subject):
            for place, (subject, refusal) in enumerate(self._answered):
                if subject == request.subject:
                    del self._answered[place]
                    return instead_of(request, data, refusal)
            # Not asked yet; if it never is, this must go out all the same.
            self._session.timers.after(GRACE, lambda: self._grace_is_over(request))
        self._held.append((request, data))
        return b""

    def _grace_is_over(self, request: Request) -> None:
        with self._session.lock:
            if self._is_open(request.subject):
                return
            self._release(request.subject, None)
        self._connection.outbox.flush_soon()

    def _release(self, subject: Any, refusal: str | None) -> bool:
        """Post what was held back about *subject*; under the lock."""
        released = [each for each in self._held if each[0].subject == subject]
        self._held = [each for each in self._held if each[0].subject != subject]
        for request, data in released:
            self._connection.post(instead_of(request, data, refusal))
        return bool(released)

    def _is_open(self, subject: Any) -> bool:
        """Whether a hook thinks about it at the moment."""
        return any(
            other.is_permission_hook and other.subject == subject
            for other in self._connection.opened.values()
        )

    def _may_be_hooked(self, request: Request) -> bool:
        """Whether the CLI is going to ask a hook, too."""
        registry = self._session.registry()
        if registry is None or not registry.hooks or not self._connection.is_at_least(2, 1):
            return False
        tool = str(request.body.get("tool_name"))
        return any(
            hook.event == "PermissionRequest"
            and hook not in registry.removed_hooks
            and may_match(hook.matcher, tool)
            for hook in registry.hooks
        )


def whom_to_ask(
    permission: PermissionRequest, registry: HandlerRegistry | None
) -> list[tuple[Callable[[Any], object], Any]]:
    """The policy and the handlers, in order, and what each of them gets."""
    whom: list[tuple[Callable[[Any], object], Any]] = []
    if registry is not None:
        if registry.policy is not None:
            whom.append((registry.policy, permission))
        if permission.tool == QUESTION_TOOL and registry.of["question"]:
            questions = Questions(permission)
            whom += [(handler, questions) for handler in registry.of["question"]]
        whom += [(handler, permission) for handler in registry.of["permission"]]
    return whom


def is_decision(returned: object, permission: PermissionRequest, subject: Any) -> bool:
    """Whether what a handler returned decides the request; UsageError if it means nothing."""
    if returned is None:
        return not permission.is_open
    if returned is LATER:
        return True
    if isinstance(returned, Decision) and returned.request is permission:
        return True
    if returned is True and permission.tool != QUESTION_TOOL:
        permission.allow()
    elif returned is False:
        permission.deny()
    elif isinstance(returned, dict) and subject is not permission:
        subject.answer(returned)
    else:
        raise UsageError(
            f"a handler returned {returned!r} for {permission.tool}, which is not a decision. "
            "Return request.allow(), request.deny(), True, False (for questions: their answers), "
            "claude_sync.LATER, or None to let the next handler decide."
        )
    return True


def refusal_among(answered: Sequence[tuple[Any, str | None]], subject: Any) -> str | None:
    """Why a hook has refused *subject*, if one has."""
    return next((refusal for each, refusal in answered if each == subject), None)


def instead_of(request: Request, data: bytes, refusal: str | None) -> bytes:
    """The yes *data*, or a no where a hook has refused."""
    return data if refusal is None else encode(deny_reply(request.message, refusal))


def may_match(matcher: object, tool: str) -> bool:
    """Whether the CLI may find *tool* in *matcher*; rather too often than too rarely."""
    if not isinstance(matcher, str) or matcher in ("", "*"):
        return True
    try:
        return re.search(matcher, tool) is not None
    except re.error:
        return True
