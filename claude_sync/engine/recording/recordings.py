"""
Read what ``Client(record=...)`` has written, process by process.

Recordings whose lines name no process, because somebody has shortened them, begin a new
life with each ``argv``, or with each greeting.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from typing import Any

from ...errors import UsageError
from .recorder import FORMAT

__all__ = ["Life", "Line", "lives_of"]

Wire = dict[str, Any]


@dataclasses.dataclass(slots=True)
class Line:
    """
    Something that was said.

    Attributes:
        number: Of the line in the file.
        is_heard: Whether the program said it, and not the CLI.
        seconds: When, since the recording was opened; 0 where that is not told.
        message: What was said, or None for a line that was no message.
        raw: That line.

    """

    number: int
    is_heard: bool
    seconds: float
    message: Wire | None
    raw: str = ""


@dataclasses.dataclass
class Life:
    """
    One process of a recording.

    Attributes:
        run: Its name in the recording.
        argv: How it was started; empty where that is not told.
        client: The name of the client that started it, if it is told.
        lines: What was said, in order.
        exited: Whether its end was recorded.
        exit_code: How it ended, if that is known.
        goes_on: Whether the same client has started another one after it.

    """

    run: str
    argv: list[str] = dataclasses.field(default_factory=list)
    client: str | None = None
    lines: list[Line] = dataclasses.field(default_factory=list)
    exited: bool = False
    exit_code: int | None = None
    goes_on: bool = False

    def take(self, number: int, record: Wire) -> None:
        """Take one record of the file."""
        direction, message = record["dir"], record.get("msg")
        if direction == "argv":
            self.argv = [str(word) for word in message] if isinstance(message, list) else []
            client = record.get("client")
            self.client = client if isinstance(client, str) else None
        elif direction == "exit":
            self.exited = True
            self.exit_code = message if isinstance(message, int) else None
        else:
            said = message if isinstance(message, dict) else None
            seconds = number_of(record.get("t")) or 0.0
            line = Line(number, direction == "in", seconds, said, str(record.get("raw", "")))
            self.lines.insert(self._place_of(number_of(record.get("began"))), line)

    def _place_of(self, began: float | None) -> int:
        """
        Where a line belongs that *began* earlier, with the first piece of a text.

        What the program said meanwhile may have been an answer to that piece.
        """
        place = len(self.lines)
        while began is not None and place and self.lines[place - 1].seconds >= began:
            before = self.lines[place - 1]
            if before.seconds == began and not before.is_heard:
                break
            place -= 1
        return place

    @property
    def family(self) -> str:
        """What the lives of one client have in common; all, where nothing is told."""
        return self.run.rpartition("-")[0]


def lives_of(path: str | os.PathLike[str], client: str | None = None) -> list[Life]:
    """The processes in a file, or those of one *client*; UsageError if it is no recording."""
    path = os.fspath(path)
    lives: dict[str, Life] = {}
    unnamed = 0
    for number, record in records_of(path):
        run = record.get("run")
        if not isinstance(run, str):
            known = lives.get(f"{unnamed}")
            if known is None or record["dir"] == "argv" or (known.lines and is_greeting(record)):
                unnamed += 1
            run = f"{unnamed}"
        lives.setdefault(run, Life(run)).take(number, record)
    found = [life for life in lives.values() if client is None or life.client == client]
    if not found:
        names = sorted({str(life.client) for life in lives.values() if life.client})
        raise UsageError(
            f"there is nothing to replay in {path!r}. Make a recording first."
            if not lives
            else f"{path!r} has no client {client!r}, but: {', '.join(names)}."
        )
    for place, life in enumerate(found):
        life.goes_on = any(later.family == life.family for later in found[place + 1 :])
    return found


def number_of(value: object) -> float | None:
    """A time in the file."""
    return float(value) if isinstance(value, (int, float)) else None


def is_greeting(record: Wire) -> bool:
    """Whether the program greets a CLI with this, which it does once in a life."""
    message = record.get("msg")
    request = message.get("request") if isinstance(message, dict) else None
    greets = isinstance(request, dict) and request.get("subtype") == "initialize"
    return greets and record["dir"] == "in"


def records_of(path: str) -> Iterator[tuple[int, Wire]]:
    """The lines of a file that tell of a process, with their numbers."""
    try:
        with open(path, encoding="utf-8") as file:
            # Not splitlines(), which takes more than the end of a line for one.
            lines = file.read().split("\n")
    except FileNotFoundError:
        raise UsageError(
            f"there is no recording {path!r}. Make it with Client(record={path!r})."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path!r} cannot be read as a recording: {error}.") from None
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue  # the last line of a program that was killed may be half a line
        direction = record.get("dir") if isinstance(record, dict) else None
        version = record.get("format") if direction == "head" else None
        if isinstance(version, int) and version > FORMAT:
            raise UsageError(
                f"{path!r} was recorded by a later release (format {version}). Update claude-sync."
            )
        # The rest are somebody's own notes.
        if direction in ("argv", "exit", "in", "out"):
            yield number, record
