"""
What goes to the front end: one queue of lines, one thread that writes them.

A front end that reads slowly must lose nothing and must not make memory grow without
bound. So each session has a bound of its own: past it, whoever brings what the CLI of
that session says waits here, its inbox fills up, and its CLI is no longer read. Other
sessions go on up to their own bounds. Answers and requests, which are small and for
which somebody waits, never wait here; a front end that lets them pile up is not listened
to until it reads again.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from ..log import logger
from ..support.waiting import Deadline, wait_for

__all__ = ["SESSION_BOUND", "Output"]

# Bytes of a session that may wait to be written.
SESSION_BOUND = 4 * 1024 * 1024
# Bytes of answers that may wait before nothing more is asked.
ANSWERS_BOUND = 16 * 1024 * 1024
# So much is written in one go: enough to be fast, and not so much that joining it matters.
ONE_WRITE = 256 * 1024

# A line, and the session whose bound it counts for; None: an answer.
Line = tuple[bytes, str | None]


class Output:
    """
    See the module. Any thread may call any method.

    Args:
        write: Writes all of what it is given, or raises OSError.
        broken: Called once if it does: nobody reads any more.

    """

    def __init__(
        self, write: Callable[[bytes], None], broken: Callable[[], None], bound: int = SESSION_BOUND
    ) -> None:
        self._write = write
        self._tell_broken = broken
        self._bound = bound
        # Guards everything below; notified whenever it changes.
        self._changed = threading.Condition(threading.Lock())
        self._lines: deque[Line] = deque()
        # Bytes that are not written yet, by session.
        self._waiting: dict[str | None, int] = {}
        # Sessions that never wait again.
        self._released: set[str] = set()
        # How often something was written, and begun to be.
        self._writes = self._begun = 0
        self._ended = False
        self.is_broken = False

    def put(self, line: bytes, session_id: str | None = None) -> None:
        """Write *line* when its turn comes. With a session, wait while too much of it waits."""
        with self._changed:
            if session_id is not None:
                self._changed.wait_for(lambda: self._has_room_locked(session_id))
            if not self.is_broken:
                self._waiting[session_id] = self._waiting.get(session_id, 0) + len(line)
                self._lines.append((line, session_id))
                self._changed.notify_all()

    def wait_for_room(self) -> None:
        """Wait until the front end has read enough of what it was answered."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._waiting.get(None, 0) <= ANSWERS_BOUND or self.is_broken or self._ended
            )

    def release(self, session_id: str) -> None:
        """A session ends: whoever waits for room for it goes on, and nobody waits again."""
        with self._changed:
            self._released.add(session_id)
            self._changed.notify_all()

    def forget(self, session_id: str) -> None:
        """Nothing more comes of a session."""
        with self._changed:
            self._released.discard(session_id)
            self._waiting.pop(session_id, None)

    def flush(self, silence: float, longest: float) -> None:
        """Wait until all is written, none is read for *silence* seconds, or *longest* is over."""
        deadline = Deadline(longest)
        with self._changed:
            written = -1

            def goes_on() -> bool:
                return self._is_done_locked() or self._writes != written

            while written != self._writes and not self._is_done_locked():
                written = self._writes
                wait_for(self._changed, goes_on, Deadline(min(silence, deadline.left() or 0.0)))

    def end(self) -> None:
        """Let the thread that writes come to its end when everything is written."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def write_all(self) -> None:
        """What the thread that writes does."""
        while lines := self._take():
            try:
                self._write(b"".join([line for line, _ in lines]))
            except OSError as error:
                logger.info("the front end reads no more: %s", error)
                self._break()
                return
            self._written(lines)

    def _is_done_locked(self) -> bool:
        return self.is_broken or not (self._lines or self._writes < self._begun)

    def _has_room_locked(self, session_id: str) -> bool:
        full = self._waiting.get(session_id, 0) > self._bound
        return not full or session_id in self._released or self.is_broken

    def _take(self) -> list[Line]:
        """What to write next; nothing at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._ended)
            lines: list[Line] = []
            size = 0
            while self._lines and size < ONE_WRITE:
                lines.append(self._lines.popleft())
                size += len(lines[-1][0])
            self._begun += bool(lines)
            return lines

    def _written(self, lines: list[Line]) -> None:
        with self._changed:
            self._writes += 1
            for line, session_id in lines:
                if session_id in self._waiting:
                    self._waiting[session_id] = max(0, self._waiting[session_id] - len(line))
            self._changed.notify_all()

    def _break(self) -> None:
        with self._changed:
            self.is_broken = True
            self._lines.clear()
            self._changed.notify_all()
        self._tell_broken()
