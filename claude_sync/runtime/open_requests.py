"""
A request of the CLI that waits for our answer: answered once, or withdrawn.

::

    process -> lines -> messages -> [request] -> responder -> handlers -> answer

Whoever answers first is the one who answers: a handler, a button, a timer. The
CLI may stop waiting at any moment (an interrupt, the end of its turn or of its
life); then the request is withdrawn, and what is answered later is dropped.

What a handler answers on its own thread is kept until it returns. So a handler
that says yes and then fails has said no.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Callable, List, Mapping, Optional, Tuple

from ..errors import AlreadyAnswered
from ..log import logger
from ..messages.fields import mapping_of, text_of
from ..protocol.codec import encode

if TYPE_CHECKING:
    from ..engine.marks import Wait
    from .connection import Connection
    from .timers import Timer

__all__ = ["OpenRequest"]


class OpenRequest:
    """
    See the module. Any thread may call any method.

    Attributes:
        request_id, subtype, body, message: The request.
        state: ``open``, ``answered`` or ``withdrawn``.
        cancelled: Set when the answer is no longer wanted.

    """

    def __init__(
        self,
        connection: Connection,
        message: Mapping[str, Any],
        request_id: str,
        subtype: str,
        body: Mapping[str, Any],
    ) -> None:
        self.connection = connection
        self.message = message
        self.request_id = request_id
        self.subtype = subtype
        self.body = body
        # Ends the wait for an answer, if something does.
        self.timer: Optional[Timer] = None
        # What a timeline shows of it.
        self.wait: Optional[Wait] = None
        self._lock = threading.Lock()  # guards everything below; nothing is called under it
        self.state = "open"
        self._cancelled: Optional[threading.Event] = None
        self._decision: object = None
        self.reply: Mapping[str, Any] = {}
        # The thread whose answer is kept until its handler returns, and that answer.
        self._handling: Optional[int] = None
        self._kept: Optional[bytes] = None
        self._on_cancel: List[Tuple[Callable[..., object], Tuple[object, ...]]] = []

    def __repr__(self) -> str:
        return f"<{self.subtype} {self.request_id} {self.state}>"

    @property
    def cancelled(self) -> threading.Event:
        """Set when the answer is no longer wanted. Made when somebody looks: few do."""
        with self._lock:
            if self._cancelled is None:
                self._cancelled = threading.Event()
                if self.state == "withdrawn":
                    self._cancelled.set()
            return self._cancelled

    def is_allowed(self) -> bool:
        """Whether it is a request for permission that was answered with a yes."""
        return getattr(self._decision, "behavior", None) == "allow"

    def is_permission_hook(self) -> bool:
        """Whether it calls a hook that decides about a permission."""
        event = self.body.get("input")
        return (
            self.subtype == "hook_callback"
            and isinstance(event, dict)
            and event.get("hook_event_name") == "PermissionRequest"
        )

    def refusal(self) -> Optional[str]:
        """Why such a hook has refused, or None."""
        output = mapping_of(mapping_of(self.reply.get("response")).get("response"))
        decision = mapping_of(mapping_of(output.get("hookSpecificOutput")).get("decision"))
        if decision.get("behavior") != "deny":
            return None
        return text_of(decision.get("message")) or "refused by a hook"

    @property
    def subject(self) -> Tuple[object, Any]:
        """The use of a tool that it is about: the same for a permission and its hooks."""
        about = self.body.get("input")
        if self.subtype == "hook_callback" and isinstance(about, dict):
            return about.get("tool_name"), about.get("tool_input")
        return self.body.get("tool_name"), about

    # Answering.

    def answer(self, reply: Mapping[str, Any], decision: object = None) -> None:
        """Answer with *reply*. AlreadyAnswered if it was; dropped if nobody waits any more."""
        data = encode(reply)  # first: what cannot be sent is no answer
        with self._lock:
            if self._decision is not None:
                raise AlreadyAnswered(self._decision)
            if self.state == "open":
                self._decision = decision if decision is not None else reply
                self.reply = reply
                if self._handling == threading.get_ident():
                    self._kept = data
                    return
                self._over("answered")
                late = False
            else:
                late = True
        if late:
            self.note("the answer comes too late, the CLI no longer waits for it")
        else:
            self._write(data)

    def begin_handling(self) -> None:
        """From here on, what this thread answers is kept."""
        with self._lock:
            self._handling = threading.get_ident()

    def end_handling(self, instead: Optional[Mapping[str, Any]] = None) -> None:
        """The handler returned: send what it answered, or *instead* of it because it failed."""
        with self._lock:
            self._handling = None
            data, self._kept = self._kept, None
            if instead is not None:
                data = encode(instead)
            if data is None or self.state != "open":
                return
            if instead is not None:
                self._decision = instead
            self._over("answered")
        self._write(data)

    def is_decided(self) -> bool:
        """Whether somebody has answered, or nobody has to any more."""
        with self._lock:
            return self._decision is not None or self.state != "open"

    def expire(self, reply: Mapping[str, Any], reason: Optional[str] = None) -> None:
        """No more waiting: answer with *reply*, and tell whoever still thinks about it."""
        data = encode(reply)
        if self._withdraw():
            self.reply = reply
            self._write(data)
            if reason is not None:
                logger.warning("%s: %s", self.what(), reason)
            self._tell_cancelled()

    def withdraw(self) -> None:
        """The CLI no longer waits for the answer."""
        if self._withdraw():
            if self.timer is not None:
                self.timer.cancel()
            self._tell_cancelled()

    def _withdraw(self) -> bool:
        with self._lock:
            if self.state != "open":
                return False
            self._over("withdrawn")
            self._decision = self._kept = None
            cancelled = self._cancelled
        if cancelled is not None:
            cancelled.set()
        return True

    def _over(self, state: str) -> None:
        self.state = state
        if self.wait is not None:
            self.wait.over()

    def _write(self, data: bytes) -> None:
        try:
            self.connection.answer_request(self, data)
        except BaseException:
            # Ctrl-C: nobody can answer once more, so another thread does what is left.
            self.connection.answer_elsewhere(self, data)
            raise
        if self.timer is not None:
            self.timer.cancel()
        if getattr(self._decision, "interrupts", False):
            self.connection.serving.stop_turn(self.connection)

    # Whoever thinks about it.

    def on_cancel(self, function: Callable[..., object], subject: object) -> None:
        """Call *function*, with *subject* if it takes an argument, when it is withdrawn."""
        arguments = (subject,) if takes_argument(function) else ()
        with self._lock:
            if self.state == "open":
                self._on_cancel.append((function, arguments))
                return
            withdrawn = self.state == "withdrawn"
        if withdrawn:
            self.connection.serving.call_cancelled(function, arguments)

    def _tell_cancelled(self) -> None:
        with self._lock:
            waiting, self._on_cancel = self._on_cancel, []
        for function, arguments in waiting:
            self.connection.serving.call_cancelled(function, arguments)

    @property
    def folder(self) -> Optional[str]:
        """The folder in which the CLI that asks runs; None for the program's own."""
        return self.connection.launch.cwd

    # For people.

    def what(self) -> str:
        """What it is about, in a few words."""
        about = self.body.get("tool_name") or self.body.get("callback_id") or ""
        return f"{self.subtype} {about}".strip()

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
    positional = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    return any(
        parameter.kind in positional and parameter.default is parameter.empty
        for parameter in parameters
    )
