"""
The one logger of the library: ``logging.getLogger("claude_sync")``.

Each line begins with the name of the client it is about, which is also on the record, as
``record.client`` (None if there is no client). ``>`` marks what was sent to the CLI, ``<`` what
was received. Payloads are shortened, and credentials never appear.

=========== ======================================================================
``ERROR``   a handler, a tool or a hook failed: with traceback the first time, then counted; the
            recording ended
``WARNING`` the CLI crashed or was restarted; a tool was denied because no handler decided; a
            handler is slow; a request waits for an answer
``INFO``    the end of a turn: seconds, cost and tools, nothing of its text; an answer that came
            too late
``DEBUG``   every message both ways, pieces of a stream counted, and the CLI's stderr
=========== ======================================================================

Warnings and errors reach stderr even in a program that configures no logging: a handler that
fails, or a tool that was denied, should not go unnoticed. The environment variable
``CLAUDE_SYNC_LOG=debug`` (or ``info``, ...) prints that level to stderr, once, whatever else the
program's logging prints. Only a program that disables this logger (as
``logging.config.dictConfig`` does by default with loggers that exist already) silences it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from typing import Any, Iterable

from .errors import ClaudeError

logger = logging.getLogger("claude_sync")

VARIABLE = "CLAUDE_SYNC_LOG"
LEVELS = ("debug", "info", "warning", "error")
FORMAT = "%(asctime)s.%(msecs)03d %(threadName)s %(message)s"

LONGEST_PAYLOAD = 200
# How to tell a piece of a stream from other lines without parsing it.
STREAM_EVENT = b'"stream_event"'
# A private key that does not end is not longer.
MOST_KEY_LINES = 2000


def call_handlers(record: logging.LogRecord) -> None:
    """Log a line; a handler that raises (stderr may be closed) ends none of our threads."""
    with contextlib.suppress(Exception):
        logging.Logger.callHandlers(logger, record)


setattr(logger, "callHandlers", call_handlers)  # noqa: B010 - a method, for mypy


# Which client a line is about.

_here = threading.local()


def name_this_thread(client: str) -> None:
    """Say that everything this thread logs is about *client*."""
    _here.client = client


def named(error: BaseException, client: str | None) -> BaseException:
    """*error*, with the name of the client if it has none."""
    if isinstance(error, ClaudeError) and error.client is None:
        error.client = client
    return error


class Naming:
    """A context in which log lines and errors have the name of a client."""

    def __init__(self, client: str | None) -> None:
        self._client = client

    def __enter__(self) -> None:
        self._before: str | None = getattr(_here, "client", None)
        _here.client = self._client

    def __exit__(self, _class: object, error: BaseException | None, _traceback: object) -> None:
        _here.client = self._before
        if error is not None:
            named(error, self._client)


def add_client(record: logging.LogRecord) -> bool:
    """Put the client's name into a record; a filter of the logger."""
    if hasattr(record, "client"):  # it comes from another process, say
        return True
    client = record.client = getattr(_here, "client", None)
    if client:
        prefix = client.replace("%", "%%") if record.args else client
        record.msg = f"{prefix}: {record.msg}"
    return True


logger.addFilter(add_client)


class Failures:
    """
    Failures that may come thousands of times: each kind is logged in full once, then counted.

    ``_lock`` guards the counts.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, type], int] = {}

    def log(self, what: str, error: BaseException) -> None:
        """Log that *what* happened, because of *error*."""
        kind = what, type(error)
        with self._lock:
            count = self._counts[kind] = self._counts.get(kind, 0) + 1
        if count == 1:
            logger.error("%s", what, exc_info=error)
        elif is_round(count):
            logger.error("%s, %d times so far: %s", what, count, type(error).__name__)

    def sum_up(self) -> None:
        """Log how often each came, if that was not the last thing logged."""
        with self._lock:
            counts, self._counts = self._counts, {}
        for (what, error_class), count in counts.items():
            if not is_round(count):
                logger.error("%s, %d times in all: %s", what, count, error_class.__name__)


def is_round(number: int) -> bool:
    """Whether it is 1, 10, 100, 1000 ..."""
    return str(number).rstrip("0") == "1"


# What a line shows.


def shortened(data: object) -> str:
    """A payload as one short line, without anything that looks like a credential."""
    from .support.redact import redact_text

    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data)
    text = redact_text(text[: 4 * LONGEST_PAYLOAD].strip())
    return text if len(text) <= LONGEST_PAYLOAD else text[:LONGEST_PAYLOAD] + " ..."


def log_received(lines: Iterable[bytes]) -> None:
    """
    Log messages of the CLI; lines that are not messages are logged where they are found.

    Of a stream only the number of its pieces: a secret may be split over several of them, and the
    whole message follows.
    """
    pieces = 0
    for line in (*lines, b""):
        if STREAM_EVENT in line[:LONGEST_PAYLOAD]:
            pieces += 1
            continue
        if pieces:
            logger.debug("< %d pieces of a stream", pieces)
            pieces = 0
        if line.lstrip()[:1] == b"{":
            logger.debug("< %s", shortened(line))


class ShownLines:
    """Lines of one stream, one after the other: a private key is split over several of them."""

    def __init__(self) -> None:
        self._key_lines_left = 0

    def shown(self, line: str) -> str:
        """The next line, :func:`shortened`; stars for one inside a private key."""
        from .support.redact import HIDDEN, begins_private_key, end_of_private_key

        if self._key_lines_left:
            ends = end_of_private_key(line) >= 0
            self._key_lines_left = 0 if ends else self._key_lines_left - 1
            return HIDDEN
        if begins_private_key(line):
            self._key_lines_left = MOST_KEY_LINES
        return shortened(line)


class StderrHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Print to what ``sys.stderr`` is at the time, unless the program's own logging does."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(logging.Formatter(FORMAT, "%H:%M:%S"))

    @property
    def stream(self) -> Any:
        """Where lines go: ``None`` in a program without a console."""
        return sys.stderr

    def emit(self, record: logging.LogRecord) -> None:
        """Print a line, once."""
        stream = self.stream
        # Also closed: the thread that logs is one of the client's, and must not end with it.
        if stream is None or getattr(stream, "closed", False):
            return
        others = [*logger.handlers, *(logging.getLogger().handlers if logger.propagate else ())]
        others = [each for each in others if getattr(each, "stream", None) is stream]
        if all(each is self or record.levelno < each.level for each in others):
            super().emit(record)


def log_to_stderr(level: str | None) -> None:
    """Print what is logged from *level* on to stderr; nothing for None or an empty text."""
    wanted = (level or "").strip()
    if not wanted:
        return
    if wanted.lower() not in LEVELS:
        logger.warning("%s=%r is not a level. Use one of: %s", VARIABLE, level, ", ".join(LEVELS))
        return
    logger.setLevel(wanted.upper())
    logger.addHandler(StderrHandler())


log_to_stderr(os.environ.get(VARIABLE))
