"""
The one logger of the library: ``logging.getLogger("claude_sync")``.

Lines begin with a sign: ``>`` sent, ``<`` received, ``=`` a change of state,
``!`` something went wrong. Payloads are shortened, and credentials never appear.

=========== ======================================================================
``ERROR``   a handler, a tool or a hook failed; the recording ended; with traceback
``WARNING`` the CLI crashed or was started again; a tool was denied because nobody
            decides; a handler is slow; a request waits for an answer
``INFO``    an answer came too late
``DEBUG``   every message both ways, pieces of a stream counted, and the CLI's stderr
=========== ======================================================================

Warnings and errors reach stderr even in a program that configures no logging:
a handler that fails, or a tool that was denied, should not go unnoticed. The
environment variable ``CLAUDE_SYNC_LOG=debug`` (or ``info``, ...) prints that
level to stderr, once, whatever else the program's logging prints; only a program that
disables this logger (as ``logging.config.dictConfig`` does by default with all that are there
already) silences it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from typing import Any, Iterable, Optional

__all__ = ["ShownLines", "log_received", "log_to_stderr", "logger", "shortened"]

logger = logging.getLogger("claude_sync")

VARIABLE = "CLAUDE_SYNC_LOG"
LEVELS = ("debug", "info", "warning", "error")
FORMAT = "%(asctime)s.%(msecs)03d %(threadName)s %(message)s"

LONGEST_PAYLOAD = 200
# How pieces of a stream are told from other lines, without reading them.
STREAM_EVENT = b'"stream_event"'
# A private key that does not end is not longer.
MOST_KEY_LINES = 2000


def call_handlers(record: logging.LogRecord) -> None:
    """Log a line; a handler that raises (stderr may be closed) ends none of our threads."""
    with contextlib.suppress(Exception):
        logging.Logger.callHandlers(logger, record)


setattr(logger, "callHandlers", call_handlers)  # noqa: B010 - a method, for mypy


def shortened(data: object) -> str:
    """A payload as one short line, without anything that looks like a credential."""
    from .runtime.redaction import redact_text

    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data)
    text = redact_text(text[: 4 * LONGEST_PAYLOAD].strip())
    return text if len(text) <= LONGEST_PAYLOAD else text[:LONGEST_PAYLOAD] + " ..."


def log_received(lines: Iterable[bytes]) -> None:
    """
    Log messages of the CLI; what is no message is logged by whoever finds that out.

    Of a stream only the number of its pieces: a secret may go over several of them, and the
    whole message follows.
    """
    pieces = 0
    for line in lines:
        if STREAM_EVENT in line[:LONGEST_PAYLOAD]:
            pieces += 1
            continue
        if pieces:
            logger.debug("< %d pieces of a stream", pieces)
            pieces = 0
        if line.lstrip()[:1] == b"{":
            logger.debug("< %s", shortened(line))
    if pieces:
        logger.debug("< %d pieces of a stream", pieces)


class ShownLines:
    """Lines of one stream, one after the other: a private key goes over several of them."""

    def __init__(self) -> None:
        self._key_lines_left = 0

    def shown(self, line: str) -> str:
        """The next line, :func:`shortened`; stars for one inside a private key."""
        from .runtime.private_keys import begins_private_key, end_of_private_key
        from .runtime.redaction import HIDDEN

        if self._key_lines_left:
            ends = end_of_private_key(line, 0) >= 0
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
        if not any(
            other is not self
            and getattr(other, "stream", None) is stream
            and record.levelno >= other.level
            for other in others
        ):
            super().emit(record)


def log_to_stderr(level: Optional[str]) -> None:
    """Print what is logged from *level* on to stderr; nothing for None or an empty text."""
    wanted = (level or "").strip()
    if not wanted:
        return
    if wanted.lower() not in LEVELS:
        logger.warning("! %s=%r is no level. Use one of: %s", VARIABLE, level, ", ".join(LEVELS))
        return
    logger.setLevel(wanted.upper())
    logger.addHandler(StderrHandler())


log_to_stderr(os.environ.get(VARIABLE))
