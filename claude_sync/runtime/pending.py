"""A request of ours that waits for the CLI's reply."""

from __future__ import annotations

import threading
from typing import Callable, Optional, Union

from ..errors import ControlTimeout
from ..protocol import control
from ..support.waiting import Deadline

__all__ = ["PendingReply"]


class PendingReply:
    """A request of ours that waits for its reply."""

    def __init__(
        self, subtype: str, on_reply: Optional[Callable[[control.Reply], None]] = None
    ) -> None:
        self.subtype = subtype
        self._on_reply = on_reply
        self._settled = threading.Event()
        # Called when nobody waits for the reply any more.
        self.forget: Callable[[], object] = lambda: None
        self._reply: Optional[control.Reply] = None
        self._error: Optional[Exception] = None

    def settle(self, outcome: Union[control.Reply, Exception]) -> None:
        """The reply is here, or never comes."""
        if isinstance(outcome, Exception):
            self._error = outcome
        else:
            self._reply = outcome
        self._settled.set()
        if self._on_reply is not None and self._reply is not None:
            self._on_reply(self._reply)

    def wait(self, timeout: Optional[float]) -> control.Reply:
        """The reply; ControlTimeout if it does not come in time."""
        deadline = Deadline(timeout)
        while not self._settled.wait(deadline.slice()):
            if deadline.is_over():
                assert timeout is not None
                self.forget()
                raise ControlTimeout(self.subtype, timeout)
        if self._error is not None:
            raise self._error
        assert self._reply is not None
        if self._reply.error is not None:
            from ..support.redact import redact_text

            self._reply.error = redact_text(self._reply.error)  # it becomes an exception's text
        return self._reply
