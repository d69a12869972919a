"""
A request of the CLI that waits for our answer: answered once, or withdrawn.

::

    process -> lines -> messages -> [request] -> responder -> handlers -> answer

Whoever answers first has answered: a handler, a button, a timer. The CLI may stop waiting at
any moment (an interrupt, the end of its turn or of its life). Then the request is withdrawn,
and a later answer is dropped.

What a handler answers on its own thread is kept until it returns, so a handler that says yes
and then fails has said no.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from ..errors import AlreadyAnswered
from ..log import logger
from .codec import encode
from .control import dict_or_empty, request_body, text_or_none

__all__ = ["Desk", "Request"]

OPEN = "open"
ANSWERED = "answered"
WITHDRAWN = "withdrawn"


class Desk(Protocol):
    """What a request needs of the connection on which it came."""

    @property
    def folder(self) -> str | None:
        """The folder in which the CLI runs; None for the program's own."""

    def send_answer(self, request: Request, data: bytes) -> None:
        """Send the CLI the answer to *request*, which is settled now."""

    def call_cancelled(self, function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        """Call *function* where handlers run: the request was withdrawn."""


class Request:
    """
    See the module. Any thread may call any method.

    Attributes:
        message: The request as it came.
        request_id, subtype, body: Its parts.
        state: ``open``, ``answered`` or ``withdrawn``.
        reply: What was answered.
        timer: Ends the wait for an answer, if something does.
        on_settled: Called once when it is settled or withdrawn, for a timeline.

    """

    def __init__(self, message: Mapping[str, Any], desk: Desk) -> None:
        request_id, self.subtype, self.body = request_body(message)
        self.request_id = request_id or ""
        self.message = message
        self.desk = desk
        self.timer: Any = None
        self.on_settled: Callable[[], None] | None = None
        self._lock = threading.Lock()  # guards everything below; nothing is called under it
        self.state = OPEN
        self.reply: Mapping[str, Any] = {}
        self._decision: object = None
        self._cancelled: threading.Event | None = None
        # The thread whose answer is kept until its handler returns, and that answer.
        self._handling: int | None = None
        self._kept: bytes | None = None
        self._on_cancel: list[tuple[Callable[..., object], tuple[object, ...]]] = []

    def __repr__(self) -> str:
        return f"<{self.what()} {self.request_id} {self.state}>"

    def what(self) -> str:
        """What it is about, in a few words."""
        about = self.body.get("tool_name") or self.body.get("callback_id") or ""
        return f"{self.subtype} {about}".strip()

    @property
    def folder(self) -> str | None:
        """The folder in which the CLI that asks runs; None for the program's own."""
        return self.desk.folder

    @property
    def cancelled(self) -> threading.Event:
        """Set when the answer is no longer wanted. Made when somebody looks: few do."""
        with self._lock:
            if self._cancelled is None:
                self._cancelled = threading.Event()
                if self.state == WITHDRAWN:
                    self._cancelled.set()
            return self._cancelled

    # Answering.

    def is_decided(self) -> bool:
        """Whether somebody has answered, or nobody has to any more."""
        with self._lock:
            return self._decision is not None or self.state != OPEN

    def answer(self, reply: Mapping[str, Any], decision: object = None) -> None:
        """Answer with *reply*. AlreadyAnswered if it was; dropped if it was withdrawn."""
        data = encode(reply)  # first: what cannot be sent is no answer
        with self._lock:
            if self._decision is not None:
                raise AlreadyAnswered(self._decision)
            late = self.state != OPEN
            if not late:
                self._decision = decision if decision is not None else reply
                self.reply = reply
                if self._handling == threading.get_ident():
                    self._kept = data
                    return
                self.state = ANSWERED
        if late:
            self.note("the answer comes too late, the CLI no longer waits for it")
        else:
            self._send(data)

    def begin_handling(self) -> None:
        """From here on, what this thread answers is kept."""
        with self._lock:
            self._handling = threading.get_ident()

    def end_handling(self, instead: Mapping[str, Any] | None = None) -> None:
        """The handler returned: send what it answered, or *instead* of it because it failed."""
        with self._lock:
            self._handling = None
            data, self._kept = self._kept, None
            if instead is not None:
                data = encode(instead)
            if data is None or self.state != OPEN:
                return
            if instead is not None:
                self._decision, self.reply = instead, instead
            self.state = ANSWERED
        self._send(data)

    def expire(self, reply: Mapping[str, Any], reason: str | None = None) -> None:
        """Wait no longer: answer with *reply*, and tell whoever still thinks about it."""
        data = encode(reply)
        if not self._withdraw():
            return
        self.reply = reply
        self._send(data)
        if reason is not None:
            logger.warning("%s: %s", self.what(), reason)
        self._tell_cancelled()

    def withdraw(self) -> None:
        """The CLI no longer waits for the answer."""
        if self._withdraw():
            self._settled()
            self._tell_cancelled()

    def _withdraw(self) -> bool:
        with self._lock:
            if self.state != OPEN:
                return False
            self.state = WITHDRAWN
            self._decision = self._kept = None
            cancelled = self._cancelled
        if cancelled is not None:
            cancelled.set()
        return True

    def _send(self, data: bytes) -> None:
        self._settled()
        self.desk.send_answer(self, data)

    def _settled(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if self.on_settled is not None:
            self.on_settled()

    # What it was, afterwards.

    @property
    def allows(self) -> bool:
        """Whether it is a request for permission that was answered with a yes."""
        return getattr(self._decision, "behavior", None) == "allow"

    @property
    def interrupts(self) -> bool:
        """Whether the answer was to stop the turn, and its form has no word for that."""
        return bool(getattr(self._decision, "interrupts", False))

    @property
    def is_permission_hook(self) -> bool:
        """Whether it calls a hook that decides about a permission."""
        event = dict_or_empty(self.body.get("input")).get("hook_event_name")
        return self.subtype == "hook_callback" and event == "PermissionRequest"

    @property
    def refusal(self) -> str | None:
        """Why such a hook has refused, or None."""
        output = dict_or_empty(dict_or_empty(self.reply.get("response")).get("response"))
        decision = dict_or_empty(dict_or_empty(output.get("hookSpecificOutput")).get("decision"))
        if decision.get("behavior") != "deny":
            return None
        return text_or_none(decision.get("message")) or "refused by a hook"

    @property
    def subject(self) -> tuple[object, Any]:
        """The use of a tool that it is about: the same for a permission and its hooks."""
        about = self.body.get("input")
        if self.subtype == "hook_callback" and isinstance(about, dict):
            return about.get("tool_name"), about.get("tool_input")
        return self.body.get("tool_name"), about

    # Whoever thinks about it.

    def on_cancel(self, function: Callable[..., object], subject: object) -> None:
        """Call *function*, with *subject* if it takes an argument, when it is withdrawn."""
        arguments = (subject,) if takes_argument(function) else ()
        with self._lock:
            if self.state == OPEN:
                self._on_cancel.append((function, arguments))
                return
            withdrawn = self.state == WITHDRAWN
        if withdrawn:
            self.desk.call_cancelled(function, arguments)

    def _tell_cancelled(self) -> None:
        with self._lock:
            waiting, self._on_cancel = self._on_cancel, []
        for function, arguments in waiting:
            self.desk.call_cancelled(function, arguments)

    def note(self, text: str) -> None:
        """Log something about it."""
        logger.info("%s: %s", self.what(), text)


def takes_argument(function: Callable[..., object]) -> bool:
    """Whether *function* must be called with an argument."""
    import inspect

    try:
        parameters = inspect.signature(function).parameters.values()
    except Exception:  # some functions of C do not tell, and others may fail to
        return False
    return any(
        each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        and each.default is each.empty
        for each in parameters
    )
