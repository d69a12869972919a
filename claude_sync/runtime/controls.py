"""
The requests of the control methods: sent to a CLI that answers them, and said again.

::

    client.set_model(...) -> [controls] -> connection -> CLI
                                ^ what was accepted, for the next life of the CLI

Decisions taken here and nowhere else:

* A request that the CLI does not know is refused at once and not after a timeout: by its
  error code where the CLI has one, by its version where it would say nothing.
* What the program changed stays changed after a restart. Model and mode go back as flags,
  the rest is requested again before the first question is sent. What counts is what the
  CLI accepted, in the order of its replies.
"""

from __future__ import annotations

import copy
import threading
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional, Set

from ..errors import ClaudeError, ControlError, ControlTimeout, UnsupportedByCli
from ..log import logger
from .versions import ask_version, first_with, numbers_of
from .waiting import Deadline

if TYPE_CHECKING:
    from ..protocol.control import Reply
    from .connection import Connection
    from .engine import Engine

__all__ = ["Controls", "controls_of"]

# How long a CLI that was started again may take to take over what was changed.
REPEATING_PATIENCE = 10.0

# How a CLI says that it does not know a request. The code came later than the text.
UNKNOWN_CODE = "unsupported_request"
UNKNOWN_TEXT = "Unsupported control request subtype"

# Requests that change something which a new process does not know.
REPEATED = ("set_max_thinking_tokens", "mcp_set_servers")

# What --model takes for "no model in particular", which is what a null means in a request.
DEFAULT_MODEL = "default"


class Controls:
    """
    The control methods of one engine, at work.

    ``engine.lock`` guards what was accepted, ``_asking`` that a version is asked for once.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._accepted: Dict[str, Dict[str, Any]] = {}
        self._settings: Dict[str, Any] = {}
        self._asking = threading.Lock()
        self._asked: Optional[Connection] = None
        self._version: Optional[str] = None

    # Sending.

    def send(
        self, method: str, subtype: str, fields: Mapping[str, Any], timeout: Optional[float]
    ) -> Dict[str, Any]:
        """
        Send a request in the name of *method*, wait for the CLI's word and return it.

        Raises:
            UnsupportedByCli: The CLI that runs does not know it.
            ControlError: The CLI refuses.
            ControlTimeout: It says nothing for *timeout* seconds (``control_timeout``).
            CliFailed: It does not start, or ended.

        """
        engine = self._engine
        engine.check()
        patience = engine.options.control_timeout if timeout is None else timeout
        deadline = Deadline(patience)
        connection = engine.lifecycle.ensure_ready(method, patience)
        self._check(connection, deadline, method, subtype, fields)
        replied = partial(self._replied, subtype, fields)
        pending = engine.requests.send(method, subtype, fields, deadline, replied)
        try:
            return pending.wait(deadline.left()).check(subtype)
        except ControlTimeout as error:
            raise ControlTimeout(subtype, patience or error.timeout) from None
        except ControlError as error:
            if error.code == UNKNOWN_CODE or error.text.startswith(UNKNOWN_TEXT):
                version = self._version_of(connection, deadline)
                raise UnsupportedByCli(f"{method}()", version) from error
            raise

    def _check(
        self,
        connection: Connection,
        deadline: Deadline,
        method: str,
        subtype: str,
        fields: Mapping[str, Any],
    ) -> None:
        """Refuse what the CLI that runs would leave unanswered, or misunderstand."""
        mode = fields.get("mode") if subtype == "set_permission_mode" else None
        needed = first_with(subtype, mode)
        if not needed:
            return
        version = self._version_of(connection, deadline)
        # One that nobody knows is tried.
        if () < numbers_of(version) < needed:
            feature = f"{method}()" if mode is None else f"the permission mode {mode!r}"
            raise UnsupportedByCli(feature, version)

    def _version_of(self, connection: Connection, deadline: Deadline) -> Optional[str]:
        """The version of the CLI; one that has not told it is asked, once. None: unknown."""
        engine = self._engine

        def is_pointless() -> bool:
            return engine.lifecycle.closing or connection.ended or deadline.is_over()

        if connection.cli_version is not None:
            return connection.cli_version
        left = deadline.left()
        if not self._asking.acquire(timeout=-1 if left is None else left):
            return None
        try:
            if self._asked is not connection and not is_pointless():
                self._version = ask_version(connection, is_pointless)
                if self._version is not None or not is_pointless():
                    self._asked = connection
            return self._version if self._asked is connection else None
        finally:
            self._asking.release()

    # Remembering.

    def _replied(self, subtype: str, fields: Mapping[str, Any], reply: Reply) -> None:
        """Note what was changed. On the reader thread, in the order of the replies."""
        if reply.error is not None:
            return
        lifecycle = self._engine.lifecycle
        with self._engine.lock:
            if subtype == "set_model":
                lifecycle.model = fields["model"] or DEFAULT_MODEL
                # Repeated, it would come after the flag; but it came before.
                self._settings.pop("model", None)
            elif subtype == "set_permission_mode":
                # New CLIs call a mode by its first name; old ones repeat what was said.
                told = reply.body.get("mode")
                lifecycle.permission_mode = told if isinstance(told, str) else fields["mode"]
            elif subtype == "apply_flag_settings":
                self._settings.update(fields["settings"])
                self._accepted[subtype] = {"settings": self._settings}
            elif subtype in REPEATED:
                self._accepted[subtype] = dict(fields)

    # Repeating.

    def repeat(self, then: Callable[[Connection], None], connection: Connection) -> None:
        """Request everything of a new process again; *then* goes on with it, once."""
        with self._engine.lock:
            requests = copy.deepcopy(self._accepted)
        Repetition(self._engine, connection, then).run(requests)


class Repetition:
    """What one new process is told again: over when all is answered, or time is up."""

    def __init__(
        self, engine: Engine, connection: Connection, then: Callable[[Connection], None]
    ) -> None:
        self._engine = engine
        self._connection = connection
        self._then = then
        self._lock = threading.Lock()  # guards the two below
        self._unanswered: Set[str] = set()
        self._is_over = False

    def run(self, requests: Mapping[str, Mapping[str, Any]]) -> None:
        """Send *requests*, and see to it that it goes on."""
        self._unanswered = set(requests)
        if not requests:
            self._go_on()
            return
        # Not so long that the start would count as failed.
        patience = Deadline(self._engine.options.start_timeout).within(2 * REPEATING_PATIENCE)
        self._engine.timers.after((patience or 0.0) / 2, self._go_on)
        for subtype, fields in requests.items():
            try:
                self._connection.request(subtype, fields, partial(self._answered, subtype))
            except ClaudeError:  # it has ended, which is noticed elsewhere
                return

    def _answered(self, subtype: str, reply: Reply) -> None:
        """On the reader thread."""
        if reply.error is not None:
            from .redaction import redact_text

            told = redact_text(reply.error)
            logger.warning("! the CLI did not take %s over: %s", subtype, told)
        with self._lock:
            self._unanswered.discard(subtype)
            is_complete = not self._unanswered
        if is_complete:
            self._go_on()

    def _go_on(self) -> None:
        with self._lock:
            is_late, self._is_over = self._is_over, True
            missing = sorted(self._unanswered)
        if is_late or self._connection.ended:
            return
        if missing:
            logger.warning("! the CLI has not taken over in time: %s", ", ".join(missing))
        self._engine.responders.run(lambda: self._then(self._connection))


def controls_of(engine: Engine) -> Controls:
    """The controls of *engine*, made when they are used for the first time."""
    lifecycle = engine.lifecycle
    with engine.lock:
        if lifecycle.controls is None:
            lifecycle.controls = Controls(engine)
        return lifecycle.controls
