"""
Write both directions of the wire into a file, secrets removed.

One JSON object a line: ``dir`` is ``in`` (to the CLI) or ``out`` (from it),
``t`` the seconds since the start, ``msg`` the message; what is not JSON is a
text under ``raw``. The file is private and whole lines are flushed, so a crash
leaves a readable file. Whatever goes wrong here, the session goes on.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import Any, Dict, Optional

from ..errors import UsageError
from ..log import logger
from ..protocol.codec import decode, encode
from .redaction import redact_message, redact_text

__all__ = ["Recorder"]


class Recorder:
    """A file that grows; used by the reader and by whoever writes, so it has a lock."""

    def __init__(self, path: Any) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        try:
            descriptor = os.open(os.fspath(path), flags, 0o600)
        except OSError as error:
            raise UsageError(
                f"cannot record into {os.fspath(path)!r}: {error.strerror}. Pass the path of a "
                "file in a folder that exists: record=..."
            ) from error
        self._file: Optional[Any] = os.fdopen(descriptor, "ab")
        self._lock = threading.Lock()  # guards the file: lines must not be mixed
        self._start = time.monotonic()

    def received(self, line: bytes) -> None:
        """A line from the CLI."""
        self._write("out", line)

    def sent(self, data: bytes) -> None:
        """Lines to the CLI."""
        for line in data.splitlines():
            self._write("in", line)

    def flush(self) -> None:
        """Make sure that what was recorded is in the file."""
        with self._lock:
            if self._file is not None:
                with contextlib.suppress(OSError):
                    self._file.flush()

    def close(self) -> None:
        """Close the file; later lines are dropped."""
        with self._lock:
            file, self._file = self._file, None
            if file is not None:
                with contextlib.suppress(OSError):
                    file.close()

    def _write(self, direction: str, line: bytes) -> None:
        record: Dict[str, Any] = {"dir": direction, "t": round(time.monotonic() - self._start, 3)}
        message = decode(line)
        try:
            # First read, then redacted: in the text of JSON, quotes and escapes hide secrets.
            data = encode({**record, "msg": redact_message(message)}) if message else b""
        except (UsageError, RecursionError):  # nested too deeply, or a number JSON does not have
            data = b""
        if not data:
            data = encode({**record, "raw": redact_text(line.decode("utf-8", "replace"))})
        try:
            with self._lock:
                if self._file is not None:
                    self._file.write(data)
                    self._file.flush()
        except OSError as error:
            logger.error("! the recording ends here: %s", error)
            self.close()
