"""
Write both directions of the wire into a file, secrets removed.

One JSON object a line::

    {"dir": "head", "format": 1, "claude_sync": "0.1.0", "python": "3.11.2", ...}
    {"dir": "argv", "t": 0.012, "run": "5f0c1a-1", "msg": ["claude", ...], "time": ..., ...}
    {"dir": "in",   "t": 0.013, "run": "5f0c1a-1", "msg": {"type": "control_request", ...}}
    {"dir": "out",  "t": 0.471, "run": "5f0c1a-1", "msg": {"type": "control_response", ...}}
    {"dir": "out",  "t": 0.502, "run": "5f0c1a-1", "raw": "a line that is no message"}
    {"dir": "exit", "t": 2.552, "run": "5f0c1a-1", "msg": 0}

``in`` is to the CLI, ``out`` from it. ``argv`` is the start of a process: its command,
``time`` in UTC, ``cwd``, the client's name (``client``) and ``cli_version``, which is known
when it is started again. ``exit`` is its end and its exit code (null if nobody knows).
``t`` is the time since the recording was opened, in seconds; ``run`` names the life of one
process, so that restarts, and several clients with one file, can be told apart.

Decisions taken here and nowhere else:

* The file is private. It is added to, never overwritten; a file that is something else,
  somebody else's, or no plain file is refused, because something is about to be lost or
  shown. The last line of a program that was killed may be half a line; the next one
  begins on a line of its own.
* Each line is written at once, in one piece: a crash of the program leaves it.
* What is recorded was redacted (see ``support/conceal.py``), as JSON values and not as text: in
  the text of JSON, quotes and escapes hide secrets.
* The deltas of a block are recorded as one, when the block stops: a key that comes in two deltas
  is in neither of them, and yet whoever joins them reads it. Of a program that is killed, the block
  it was in is not recorded.
* Whatever goes wrong while recording, the session goes on, with one line in the log.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import stat
import threading
import time
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Tuple

import ujson

from ..._version import __version__
from ...errors import UsageError
from ...log import logger
from ...protocol.codec import decode
from ...support.conceal import Concealer, TooDeep

if TYPE_CHECKING:
    from ..launch.command import Launch
    from ..session import Session

__all__ = ["FORMAT", "Recorder"]

FORMAT = 1
# How every line of a recording begins.
MARK = b'{"dir":"'
# Kinds of delta that are pieces of a text, and the field it is in.
FIELDS = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
# What ends every block of whoever speaks.
ENDS = ("assistant", "message_start", "message_stop", "result")
# An escape of a plain character in JSON, but of a quote or a backslash.
ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\u00(?!22|5[Cc]|7[Ff])([2-7][0-9A-Fa-f])")
READ_AND_WRITE = os.O_RDWR | os.O_CREAT | os.O_APPEND


# When a block began, and all of it as one delta.
Ended = Tuple[float, Mapping[str, Any]]


class Recorder:
    """
    A file that grows; used by the reader and by whoever writes, so it has a lock.

    Args:
        path: Where; see the module for what is refused, with a UsageError.

    """

    def __init__(self, path: Any) -> None:
        self._descriptor: Optional[int] = open_private(os.fspath(path))
        # Guards everything below and the file: lines must not be mixed, nor their order.
        self._lock = threading.Lock()
        self._concealer = Concealer()
        self._blocks = Blocks(self._concealer)
        self._start = time.monotonic()
        self._name = os.urandom(3).hex()
        self._lives = 0
        self._run = f"{self._name}-0"
        with self._recording():
            self._begin_locked()

    def started(self, launch: Launch, session: Session) -> None:
        """A process was started; what it says comes after this."""
        with self._recording():
            options = session.options
            configurations = (options.mcp_servers, options.settings, options.agents)
            self._concealer.learn(launch.environment, configurations)
            self._lives += 1
            self._run = f"{self._name}-{self._lives}"
            self._put_locked(
                "argv",
                msg=self._concealer.argv(launch.argv),
                time=now(),
                cwd=self._concealer.message(launch.cwd),
                client=self._concealer.text(session.name),
                cli_version=session.cli_version,
            )

    def exited(self, code: Optional[int]) -> None:
        """The process has ended, and everything it said was recorded."""
        with self._recording():
            self._flush_locked()
            self._put_locked("exit", msg=code)

    def received(self, line: bytes) -> None:
        """A line from the CLI."""
        with self._recording():
            self._line_locked("out", line)

    def sent(self, data: bytes) -> None:
        """Lines to the CLI."""
        with self._recording():
            for line in data.splitlines():
                self._line_locked("in", line)

    def close(self) -> None:
        """Close the file; later lines are dropped."""
        with self._recording():
            self._flush_locked()
        with self._lock:
            self._close_locked()

    @contextlib.contextmanager
    def _recording(self) -> Iterator[None]:
        """Hold the lock. Whatever goes wrong inside ends the recording, and nothing else."""
        with self._lock:
            try:
                yield
            except OSError as error:
                self._fail_locked(error.strerror or str(error))
            except Exception as error:
                # Its text may be about what must not be shown.
                self._fail_locked(type(error).__name__)

    def _fail_locked(self, reason: str) -> None:
        if self._descriptor is not None:
            logger.error("the recording ends here; the session continues: %s", reason)
        self._close_locked()

    def _begin_locked(self) -> None:
        assert self._descriptor is not None
        size = os.fstat(self._descriptor).st_size
        if not size:
            self._put_locked(
                "head",
                format=FORMAT,
                claude_sync=__version__,
                python=platform.python_version(),
                platform=platform.system(),
                time=now(),
            )
        elif last_byte(self._descriptor, size) != b"\n":
            self._write_locked(b"\n")

    def _line_locked(self, direction: str, line: bytes) -> None:
        if self._descriptor is None:
            return
        message = decode(line)
        text = line.decode("utf-8", "replace")
        # An escape such as \u0040 may be anything.
        harmless = self._concealer.is_harmless(text) and "\\u" not in text
        if message is None:
            self._put_locked(direction, raw=self._concealer.text(text))
            return
        try:
            ended = self._blocks.take(message, self._seconds())
            if ended is None:
                return  # a delta, which is written with all of its block
            self._put_blocks_locked(ended)
            shown = message if harmless else self._concealer.message(message)
            self._put_locked(direction, msg=shown)
        except (ValueError, OverflowError, RecursionError):
            # Nested too deeply, or a number that JSON does not have.
            self._put_locked(direction, raw=self._concealer.text(text))

    def _flush_locked(self) -> None:
        with contextlib.suppress(TooDeep):
            self._put_blocks_locked(self._blocks.end())

    def _put_blocks_locked(self, blocks: List[Ended]) -> None:
        for began, message in blocks:
            # What the program said meanwhile may be an answer to the first of it.
            self._put_locked("out", began=began, msg=message)

    def _seconds(self) -> float:
        return round(time.monotonic() - self._start, 6)

    def _put_locked(self, direction: str, **fields: Any) -> None:
        record: Dict[str, Any] = {"dir": direction, "t": self._seconds(), "run": self._run}
        record.update(fields)
        self._write_locked(encoded(record))

    def _write_locked(self, data: bytes) -> None:
        view = memoryview(data)
        while view and self._descriptor is not None:
            view = view[os.write(self._descriptor, view) :]

    def _close_locked(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(descriptor)


class Blocks:
    """The blocks that are being written: what their deltas have brought so far."""

    def __init__(self, concealer: Concealer) -> None:
        self._concealer = concealer
        # By who speaks, which block and which field: when it began, its first delta, and all texts.
        self._open: Dict[Tuple[str, str, str], Tuple[float, Mapping[str, Any], List[str]]] = {}

    def take(self, message: Mapping[str, Any], seconds: float) -> Optional[List[Ended]]:
        """
        The blocks that end before *message*, each as one delta; None for a delta, which is kept.
        """
        event = message.get("event")
        parent, kind = str(message.get("parent_tool_use_id")), message.get("type")
        if kind == "stream_event" and isinstance(event, dict):
            kind, index = event.get("type"), str(event.get("index"))
            delta = event.get("delta")
            if kind == "content_block_delta" and isinstance(delta, dict):
                field = FIELDS.get(str(delta.get("type")), "")
                if not isinstance(delta.get(field), str):
                    return []
                key = (parent, index, field)
                _, _, texts = self._open.setdefault(key, (seconds, message, []))
                texts.append(delta[field])
                return None
            if kind == "content_block_stop":
                return self.end(parent, index)
        # The complete text of a block, in an assistant message, comes just before its end.
        return self.end(parent) if kind in ENDS else []

    def end(self, *whose: str) -> List[Ended]:
        """Those of one who speaks, or of one block, or all."""
        ended = []
        for key in [key for key in self._open if key[: len(whose)] == whose]:
            began, message, texts = self._open.pop(key)
            ended.append((began, self._joined(key[2], message, texts)))
        return ended

    def _joined(
        self, field: str, message: Mapping[str, Any], texts: List[str]
    ) -> Mapping[str, Any]:
        event = message["event"]
        plain = {**message, "event": {**event, "delta": {**event["delta"], field: ""}}}
        shown: Dict[str, Any] = self._concealer.message(plain)
        shown["event"]["delta"][field] = self._text(field, "".join(texts))
        return shown

    def _text(self, field: str, text: str) -> str:
        """A text without secrets; that of an input is JSON, where escapes could hide them."""
        if field == "partial_json" and not self._concealer.is_harmless(text.replace("\\u", "@")):
            try:
                value = json.loads(text)
            except ValueError:  # it was cut off
                text = ESCAPE.sub(lambda found: found[1] + chr(int(found[2], 16)), text)
            else:
                shown = self._concealer.message(value)
                return text if shown == value else json.dumps(shown, ensure_ascii=False)
        return self._concealer.text(text)


def encoded(record: Mapping[str, Any]) -> bytes:
    """A line of a recording."""
    text: str = ujson.dumps(record, ensure_ascii=True, escape_forward_slashes=False)
    if "Infinity" in text or "NaN" in text:
        # It refuses such numbers, which are no JSON, and lets such words pass.
        text = json.dumps(record, allow_nan=False)
    return text.encode("ascii") + b"\n"


def now() -> str:
    """The time, for people."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def open_private(path: str) -> int:
    """A descriptor of a file that nobody else can read, for adding to it."""
    try:
        check_kind(path)
        flags = READ_AND_WRITE | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        # Not to wait for a reader, should it have become a pipe in this moment.
        descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o600)
    except OSError as error:
        raise refused(
            path,
            error.strerror or str(error),
            "Pass the path of a file that you may write, in a folder that exists",
        ) from error
    try:
        check_open(path, descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def check_kind(path: str) -> None:
    """Refuse what is there and is no plain file, without opening it."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISLNK(mode):
        raise refused(
            path, "it is a symbolic link", f"Pass where it points to: {os.path.realpath(path)!r}"
        )
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "not a regular file, but a device or a pipe"
        raise refused(path, f"it is {what}", "Pass the path of a file")


def check_open(path: str, descriptor: int) -> None:
    """Refuse a file of somebody else, or that is no recording; make it private."""
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise refused(path, "it is not a regular file", "Pass the path of a file")
    first = read_at(descriptor, len(MARK), 0) if status.st_size else MARK
    if first != MARK:
        raise refused(
            path, "it exists and is not a recording", "Pass another path, or remove the file"
        )
    if not hasattr(os, "geteuid"):  # Windows: whoever may read the folder may read the file
        return
    if status.st_uid != os.geteuid():
        raise refused(path, "it belongs to another user, who could read it", "Pass another path")
    if stat.S_IMODE(status.st_mode) & 0o077:
        with contextlib.suppress(OSError):
            os.fchmod(descriptor, 0o600)
        if stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o077:
            raise refused(
                path,
                "others on this machine can read it, and that cannot be changed there",
                "Pass a path in your home folder",
            )


def last_byte(descriptor: int, size: int) -> bytes:
    """How a file ends."""
    return read_at(descriptor, 1, size - 1)


def read_at(descriptor: int, count: int, place: int) -> bytes:
    """Some bytes of a file; what is added to it is added at its end all the same."""
    os.lseek(descriptor, place, os.SEEK_SET)
    return os.read(descriptor, count)


def refused(path: str, reason: str, advice: str) -> UsageError:
    """The error for a path that cannot be recorded into."""
    text = f"cannot record into {path!r}: {reason}. {advice}."
    return UsageError(text, option="record", value=path)
