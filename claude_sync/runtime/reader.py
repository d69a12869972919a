"""
Carry what the CLI says from its pipes to where it belongs, until end of file.

::

    process -> [lines -> messages] -> inbox -> dispatch -> handlers -> turn

Two threads for each life of the CLI. Closing the pipe is what stops them; there
is no flag to poll. They call no handler and never write to the CLI, so they can
always be joined, and whatever happens, exactly one ``EndOfStream`` is put into
the inbox by the reader, as the last item of its connection.
"""

from __future__ import annotations

import threading
import time
from logging import DEBUG
from typing import TYPE_CHECKING, Any, List, Optional

from ..log import ShownLines, log_received, logger, name_this_thread
from ..protocol.codec import decode
from ..protocol.lines import LineSplitter
from .items import EndOfStream, Routed, StderrLine

if TYPE_CHECKING:
    from .connection import Connection
    from .inbox import Inbox

__all__ = ["ReaderThread", "StderrThread"]

# The last lines of stderr come a moment after the end of stdout.
STDERR_PATIENCE = 0.5
LONGEST_STDERR_LINE = 2000


class ReaderThread(threading.Thread):
    """Read stdout, let the protocol route each message, fill the inbox."""

    def __init__(self, connection: Connection, inbox: Inbox, owner: str) -> None:
        # Daemon: a program that forgets close() must still be able to exit.
        super().__init__(name=f"{owner}-reader", daemon=True)
        self._owner = owner
        self._connection = connection
        self._inbox = inbox

    def run(self) -> None:
        """See the class."""
        name_this_thread(self._owner)
        connection = self._connection
        error: Optional[Exception] = None
        try:
            load_messages()
            self._read_all()
        except Exception as failure:  # reaches whoever waits, through the inbox
            logger.exception("reading from the CLI failed")
            error = failure
        connection.stderr_thread.join(STDERR_PATIENCE)
        connection.end(error)
        self._inbox.put([EndOfStream(connection, error)])
        connection.clear_away()

    def _read_all(self) -> None:
        connection = self._connection
        inbox = self._inbox
        read = connection.transport.read
        deliver = connection.deliver
        traffic = connection.traffic
        splitter = LineSplitter()
        size = 0
        while True:
            chunk = read()
            connection.last_activity = time.monotonic()
            lines = splitter.feed(chunk) if chunk else splitter.end()
            size += len(chunk)
            traffic.received(len(chunk), len(lines))
            if lines:
                # All of a long line counts, not only the read that completed it.
                deliver(self._messages(lines), size)
                size = 0
            if not chunk:
                return
            connection.paused = True
            inbox.wait_for_room(connection.must_read)
            connection.paused = False

    def _messages(self, lines: List[bytes]) -> List[Any]:
        """What of these lines goes to the inbox. Runs for every line: keep it cheap."""
        connection = self._connection
        route = connection.route
        items: List[Any] = []
        append = items.append
        if connection.recorder is not None:
            for line in lines:
                connection.recorder.received(line)
        if logger.isEnabledFor(DEBUG):
            log_received(lines)
        for line in lines:
            message = decode(line)
            if message is None:
                connection.noise(line)
            elif message.get("type") == "stream_event":
                append(message)
            else:
                try:
                    routed = route(message)
                except Exception:
                    # A message nobody foresaw must not end the conversation.
                    logger.exception("could not route a message of type %r", message.get("type"))
                    connection.refuse(message)
                    routed = Routed(message, None)
                if routed is not None:
                    append(routed)
        marks = connection.marks
        if marks is not None and marks.first is None:
            marks.first_piece(items)
        return items


def load_messages() -> None:
    """Import the classes of messages now: the CLI takes longer than that to say anything."""
    from ..messages import parsing  # noqa: F401


class StderrThread(threading.Thread):
    """Read stderr, so that the CLI never blocks on it; keep the last lines for errors."""

    def __init__(self, connection: Connection, inbox: Inbox, owner: str) -> None:
        # Daemon: as above.
        super().__init__(name=f"{owner}-stderr", daemon=True)
        self._owner = owner
        self._connection = connection
        self._inbox = inbox

    def run(self) -> None:
        """See the class."""
        name_this_thread(self._owner)
        connection = self._connection
        splitter = LineSplitter()
        for_the_log = ShownLines()
        try:
            while True:
                chunk = connection.transport.read_error()
                lines = splitter.feed(chunk) if chunk else splitter.end()
                for line in lines:
                    text = line.decode("utf-8", "replace")
                    connection.stderr_tail.append(text[:LONGEST_STDERR_LINE])
                    if logger.isEnabledFor(DEBUG):
                        logger.debug("< stderr: %s", for_the_log.shown(text))
                    if connection.stderr_wanted():
                        self._inbox.put([StderrLine(text)], len(line))
                if not chunk:
                    return
        except Exception:
            logger.exception("reading the CLI's stderr failed")
