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
from typing import Callable, Deque, Dict, Optional, Set, Tuple

from ..log import logger
from ..support.waiting import Deadline, wait_for

__all__ = ["SESSION_BOUND", "Output"]

# Bytes of a session that may wait to be written.
SESSION_BOUND = 4 * 1024 * 1024
# Bytes of answers that may wait before nothing more is asked.
ANSWERS_BOUND = 16 * 1024 * 1024
# So much is written in one go: enough to be fast, and not so much that joining it matters.
ONE_WRITE = 256 * 1024


class Output:
    """
    See the module. Any thread may call any method.

    Args:
        write: Writes all of what it is given, or raises OSError.
        broken: Called once if it does: nobody reads any more.

    """

    def __init__(
        self,
        write: Callable[[bytes], None],
        broken: Callable[[], None],
        bound: int = SESSION_BOUND,
    ) -> None:
        self._write = write
        self._tell_broken = broken
        self._bound = bound
        # Guards everything below; notified whenever it changes.
        self._changed = threading.Condition(threading.Lock())
        self._lines: Deque[Tuple[bytes, Optional[str]]] = deque()
        # Bytes of each session that are not written yet.
        self._waiting: Dict[str, int] = {}
        # Bytes of what belongs to no session's bound.
        self._answers = 0
        # Sessions that never wait again.
        self._released: Set[str] = set()
        self._writing = False
        # How often something was written.
        self._writes = 0
        self._ended = False
        self.is_broken = False

    def put(self, line: bytes, session_id: Optional[str] = None) -> None:
        """Write *line* when its turn comes. With a session, wait while too much of it waits."""
        with self._changed:
            if session_id is not None:
                self._changed.wait_for(lambda: self._has_room_locked(session_id))
                self._waiting[session_id] = self._waiting.get(session_id, 0) + len(line)
            if self.is_broken:
                return
            if session_id is None:
                self._answers += len(line)
            self._lines.append((line, session_id))
            self._changed.notify_all()

    def waits(self, session_id: str) -> int:
        """How many bytes of a session are not written yet."""
        with self._changed:
            return self._waiting.get(session_id, 0)

    def wait_for_room(self) -> None:
        """Wait until the front end has read enough of what it was answered."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._answers <= ANSWERS_BOUND or self.is_broken or self._ended
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

    def flush(self, silence: float, longest: float) -> bool:
        """
        Wait until everything is written: True.

        False if nothing of it is read for *silence* seconds, or if it takes *longest*.
        """
        deadline = Deadline(longest)
        with self._changed:
            while not self._is_done_locked():
                count = self._writes
                left = min(silence, deadline.left() or 0.0)

                def goes_on(count: int = count) -> bool:
                    return self._is_done_locked() or self._writes != count

                if not wait_for(self._changed, goes_on, Deadline(left)):
                    return False
        return True

    def end(self) -> None:
        """Let the thread that writes come to its end when everything is written."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def write_all(self) -> None:
        """What the thread that writes does."""
        while True:
            taken = self._take()
            if taken is None:
                return
            try:
                self._write(taken[0])
            except OSError as error:
                logger.info("the front end reads no more: %s", error)
                self._break()
                return
            self._written(taken[1])

    def _is_done_locked(self) -> bool:
        return self.is_broken or not (self._lines or self._writing)

    def _has_room_locked(self, session_id: str) -> bool:
        return (
            self._waiting.get(session_id, 0) <= self._bound
            or session_id in self._released
            or self.is_broken
        )

    def _take(self) -> Optional[Tuple[bytes, Dict[Optional[str], int]]]:
        """What to write next, and how much of it is whose; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._ended)
            lines = []
            size = 0
            of_sessions: Dict[Optional[str], int] = {}
            while self._lines and size < ONE_WRITE:
                line, session_id = self._lines.popleft()
                lines.append(line)
                size += len(line)
                of_sessions[session_id] = of_sessions.get(session_id, 0) + len(line)
            self._writing = bool(lines)
        return (b"".join(lines), of_sessions) if lines else None

    def _written(self, of_sessions: Dict[Optional[str], int]) -> None:
        with self._changed:
            self._writing = False
            self._writes += 1
            for session_id, size in of_sessions.items():
                if session_id is None:
                    self._answers -= size
                elif session_id in self._waiting:
                    self._waiting[session_id] = max(0, self._waiting[session_id] - size)
            self._changed.notify_all()

    def _break(self) -> None:
        with self._changed:
            self.is_broken = True
            self._writing = False
            self._lines.clear()
            self._waiting.clear()
            self._changed.notify_all()
        self._tell_broken()
