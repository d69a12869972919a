"""
Serve what the CLI asks of the program: permissions, questions, hooks, tools.

::

    process -> lines -> messages -> [request] -> responder -> handlers -> answer

Every request gets an answer, and one that nobody decides gets the answer that
lets nothing through. Decisions taken here and nowhere else:

* Permissions and questions keep their place among the messages; hooks and tools
  are served at once, because a late answer to a hook lets things through.
* The policy is asked first, then the handlers, in order of registration. The
  first that decides has decided; one that fails has denied.
* The program's own tools need no permission, unless they say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from ..engine.handlers import SERVER
from ..errors import UsageError
from ..log import logger
from ..permissions.request import LATER, QUESTION_TOOL, Decision, PermissionRequest, Questions
from ..protocol.control import DENIED, LEFT_OPEN, deny_reply, request_body, safe_reply
from .items import Asked
from .open_requests import OpenRequest

if TYPE_CHECKING:
    from ..engine.handlers import HandlerRegistry
    from ..engine.turn import Turn
    from ..protocol.control import Reply
    from .connection import Connection
    from .engine import Engine

__all__ = ["Serving"]

CHECK_FAILED = (
    "Permission denied: the program failed while it decided. Tell the user, and do not try again."
)
WINDOW_GONE = "Permission denied: the window in which a person decides was closed."
NOBODY_IN_TIME = "Permission denied: no answer came within {seconds:g} seconds."


class Serving:
    """What serves the requests of one client's CLI."""

    def __init__(self, engine: Engine, post: Any) -> None:
        self._engine = engine
        # Hooks and tools, too, run on the thread that waits for the turn.
        self._by_caller = post == "caller"
        self._warned = False
        self._hooks: Any = None
        self._tools: Any = None

    # On the reader thread: nothing of the program's is called, nothing written.

    def arrived(self, connection: Connection, message: Mapping[str, Any]) -> Optional[Asked]:
        """Take a request of the CLI. What is returned keeps its place in the inbox."""
        request_id, subtype, body = request_body(message)
        if request_id is None or subtype in LEFT_OPEN:
            return None
        request = OpenRequest(connection, message, request_id, subtype, body)
        with self._engine.lock:
            if request_id in connection.open_requests:
                return None  # the CLI repeats itself
            connection.open_requests[request_id] = request
            entry = connection.exchange.current()
        turn: Optional[Turn] = entry.owner if entry is not None else None
        request.wait = turn._marks.asked(subtype, body) if turn is not None else None
        if subtype == "can_use_tool":
            self._limit(request)
            return Asked(entry, lambda: self._ask_permission(request, turn))
        serve = self._server_of(request, turn)
        if serve is None:
            reply = safe_reply(message)
            assert reply is not None  # one that must stay open was let go above
            self._engine.responders.run(lambda: request.answer(reply))
        elif self._by_caller and serve.is_users_code and not connection.pending:
            # While the program waits for a reply of the CLI, which may wait for this, it
            # delivers nothing: then a thread of ours serves it.
            return Asked(entry, serve)
        else:
            self._engine.responders.run(serve, users_code=True)
        return None

    def greeted(self, connection: Connection, reply: Reply) -> List[Asked]:
        """Requests that were open already when the CLI was greeted, as some tell."""
        told = reply.raw.get("pending_permission_requests")
        if not isinstance(told, list):
            told = reply.body.get("pending_permission_requests")
        asked = []
        for message in told if isinstance(told, list) else ():
            if isinstance(message, dict):
                item = self.arrived(connection, {"type": "control_request", **message})
                if item is not None:
                    asked.append(item)
        return asked

    def _limit(self, request: OpenRequest) -> None:
        seconds = self._engine.options.permission_timeout
        if seconds is not None:
            no = deny_reply(request.message, NOBODY_IN_TIME.format(seconds=seconds))
            request.timer = self._engine.timers.after(
                seconds,
                lambda: request.expire(no, f"no answer came within {seconds:g} s; denied"),
            )

    def _server_of(self, request: OpenRequest, turn: Optional[Turn]) -> Any:
        """What serves a hook or a message to a tool; None for anything else."""
        if request.subtype == "hook_callback":
            if self._hooks is None:
                from .hook_calls import HookCalls

                self._hooks = HookCalls(self._engine)
            return self._hooks.server_of(request, turn)
        if request.subtype == "mcp_message":
            if self._tools is None:
                from .tool_calls import ToolCalls

                self._tools = ToolCalls(self._engine)
            return self._tools.server_of(request, turn)
        return None

    # Permissions.

    def _ask_permission(self, request: OpenRequest, turn: Optional[Turn]) -> None:
        """Have it decided, where handlers that owe an answer run."""
        engine = self._engine
        if engine.dispatcher.posting is not None:
            try:
                engine.dispatcher.post(
                    lambda: self._decide(request, turn),
                    lambda: request.end_handling(instead=deny_reply(request.message, WINDOW_GONE)),
                )
            except BaseException as error:  # a queue that takes no calls
                logger.warning("a request could not be posted: %s", error)
                request.end_handling(instead=deny_reply(request.message, CHECK_FAILED))
        elif engine.delivery.by_waiters:
            self._decide(request, turn)
        else:
            engine.responders.run(lambda: self._decide(request, turn), users_code=True)

    def _decide(self, slot: OpenRequest, turn: Optional[Turn]) -> None:
        if slot.is_decided():
            return  # withdrawn before anybody looked at it
        slot.begin_handling()
        # Whatever goes wrong from here on, a bug of ours included, is a no.
        instead: Optional[Mapping[str, Any]] = deny_reply(slot.message, CHECK_FAILED)
        try:
            registry = self._engine.registry()
            request = PermissionRequest(slot.message, slot)
            if registry is not None and registry.tools and request.tool in registry.own_tools():
                request.allow()
                instead = None
                return
            asked = self._whom_to_ask(request, registry)
            decided = self._ask_each(request, asked, turn)
            if decided:
                instead = None
                if not slot.is_decided():
                    self._engine.watch.remind(slot)
            elif decided is not None:
                self._warn_undecided(request, bool(asked))
                instead = deny_reply(slot.message, DENIED)
        finally:
            slot.end_handling(instead)

    def _whom_to_ask(
        self, request: PermissionRequest, registry: Optional[HandlerRegistry]
    ) -> List[Tuple[Callable[[Any], object], Any]]:
        asked: List[Tuple[Callable[[Any], object], Any]] = []
        if registry is not None:
            if registry.policy is not None:
                asked.append((registry.policy, request))
            if request.tool == QUESTION_TOOL and registry.of["question"]:
                questions = Questions(request)
                asked += [(handler, questions) for handler in registry.of["question"]]
            asked += [(handler, request) for handler in registry.of["permission"]]
        return asked

    def _ask_each(
        self,
        request: PermissionRequest,
        asked: List[Tuple[Callable[[Any], object], Any]],
        turn: Optional[Turn],
    ) -> Optional[bool]:
        """Whether somebody decided, or will; None if one of them failed."""
        dispatcher = self._engine.dispatcher
        for handler, subject in asked:
            try:
                with dispatcher.handling():
                    returned = handler(subject)
                if is_decision(returned, request, subject):
                    return True
            except Exception as error:
                self._engine.dispatcher.failed_elsewhere(handler, subject, error, turn)
                return None
            except BaseException as error:
                # Meant for the program's own thread; on ours it is a failure like any other.
                if self._engine.delivery.by_waiters:
                    raise
                self._engine.dispatcher.failed_elsewhere(handler, subject, error, turn)
                return None
        return False

    def _warn_undecided(self, request: PermissionRequest, asked: bool) -> None:
        """Say once how to let Claude use a tool."""
        if self._warned:
            return
        self._warned = True
        cause = "no permission handler is registered"
        if request.tool == QUESTION_TOOL:
            cause = "no handler answered"
            advice = "Answer Claude's questions in a handler: client.on_question"
        elif asked:
            cause = "every policy and handler returned None"
            advice = "Return request.allow() or request.deny() from one of them"
        else:
            advice = (
                "Add a handler with client.on_permission, pass permissions=policy, or allow it "
                "from the start with allowed_tools=[...]"
            )
        logger.warning("Denied %s: %s. %s", request.tool, cause, advice)

    # Around it.

    def stop_turn(self, connection: Connection) -> None:
        """Interrupt what runs, after an answer that could not say so itself."""
        with self._engine.lock:
            entry = connection.exchange.running()
        if entry is not None and connection is self._engine.lifecycle.connection:
            self._engine.stopper.stop(entry.owner, None)

    def call_cancelled(self, function: Callable[..., object], arguments: Tuple[Any, ...]) -> None:
        """Tell whoever thinks about a request that its answer is no longer wanted."""
        dispatcher = self._engine.dispatcher

        def call() -> None:
            try:
                with dispatcher.handling():
                    function(*arguments)
            except BaseException as error:
                subject = arguments[0] if arguments else None
                dispatcher.failed_elsewhere(function, subject, error, None)

        def run() -> None:
            # Where handlers run, if that is elsewhere. Without a dispatcher, whoever delivers
            # may be just the one who thinks about it.
            posting = dispatcher.posting
            if posting is None:
                call()
                return
            try:
                posting(call)
            except BaseException as error:  # a queue that takes no calls
                dispatcher.failed_elsewhere(function, None, error, None)

        self._engine.responders.run(run, users_code=True)

    def own_tools(self) -> Sequence[str]:
        """The program's own tools that need no permission, as far as they are known."""
        registry = self._engine.registry()
        return sorted(registry.own_tools()) if registry is not None else ()

    def greeting(self) -> Dict[str, Any]:
        """What the greeting says about hooks and tools. From here on none can be added."""
        registry = self._engine.registry()
        if registry is None:
            return {}
        registry.freeze()
        fields: Dict[str, Any] = {}
        if registry.hooks:
            from ..hooks import hooks_on_the_wire

            fields["hooks"] = hooks_on_the_wire(registry.hooks)
        if registry.tools:
            from .tool_calls import manifest_of

            fields["sdkMcpServers"] = [SERVER]
            fields["sdkMcpServerManifests"] = {SERVER: manifest_of(registry.tools)}
        return fields


def is_decision(returned: object, request: PermissionRequest, subject: Any) -> bool:
    """Whether what a handler returned decides the request; UsageError if it means nothing."""
    if returned is None:
        return not request.is_open
    if returned is LATER:
        return True
    if isinstance(returned, Decision) and returned.request is request:
        return True
    if returned is True and request.tool != QUESTION_TOOL:
        request.allow()
    elif returned is False:
        request.deny()
    elif isinstance(returned, dict) and subject is not request:
        subject.answer(returned)
    else:
        raise UsageError(
            f"a handler returned {returned!r} for {request.tool}, which is no decision. Return "
            "request.allow(), request.deny(), True, False (for questions: their answers), "
            "claude_sync.LATER, or None to let the next handler decide."
        )
    return True
