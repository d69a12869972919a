"""
Recordings of ``Client(record="x.jsonl")``, to be played back in tests.

::

    x.jsonl -> [Recording] -> lives -> replay -> reader -> lines -> messages -> handlers -> turn

A recording plays the CLI: it says what was said then, as soon as the program says what
it said then. Nothing is started, nothing costs anything, and nothing is waited for::

    recording = Recording("x.jsonl")
    with Client(transport=recording.replay) as client:
        assert client.ask("What is 2+2?") == "4"
    recording.assert_done()

A program that says something else gets a ``CliExited`` that shows the difference, and
``assert_done()`` raises :class:`ReplayDifference` with all of it. Decisions taken here and
nowhere else:

* Each process of the recording is a life. A client with a name plays what the client of that
  name recorded; otherwise lives are played in the order in which they were started.
  ``client=`` picks those of one client, where several wrote into one file.
* Recordings whose lines name no process, because somebody has shortened them, begin a new
  life with each ``argv``, or with each greeting.
"""

from __future__ import annotations

import json
import os
import threading
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Tuple,
    Union,
)

from ..errors import UsageError
from .differences import Difference, ReplayDifference
from .folders import Folders

if TYPE_CHECKING:
    from .replay import Replay

__all__ = ["Life", "Line", "Recording", "ReplayDifference"]

Wire = Dict[str, Any]
Same = Callable[[Wire, Wire], object]

# What the recorder writes; see ``engine/recording/recorder.py``.
FORMAT = 1
KILLED = -9


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

    __slots__ = ("is_heard", "message", "number", "raw", "seconds")

    def __init__(self, number: int, record: Wire) -> None:
        self.number = number
        self.is_heard = record["dir"] == "in"
        told = record.get("t")
        self.seconds = float(told) if isinstance(told, (int, float)) else 0.0
        message = record.get("msg")
        self.message: Optional[Wire] = message if isinstance(message, dict) else None
        self.raw = str(record.get("raw", ""))


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

    def __init__(self, run: str) -> None:
        self.run = run
        self.argv: List[str] = []
        self.client: Optional[str] = None
        self.lines: List[Line] = []
        self.exited = False
        self.exit_code: Optional[int] = None
        self.goes_on = False

    def started(self, record: Wire) -> None:
        """Take what is told of its start."""
        argv = record.get("msg")
        self.argv = [str(word) for word in argv] if isinstance(argv, list) else []
        client = record.get("client")
        self.client = client if isinstance(client, str) else None

    def add(self, line: Line, began: Any) -> None:
        """
        Take a line. One that *began* earlier, with the first piece of a text, goes there.

        What the program said meanwhile may have been an answer to that piece.
        """
        place = len(self.lines)
        if isinstance(began, (int, float)):
            while place and self.lines[place - 1].seconds >= began:
                before = self.lines[place - 1]
                if before.seconds == began and not before.is_heard:
                    break
                place -= 1
        self.lines.insert(place, line)

    def ended(self, record: Wire) -> None:
        """Take what is told of its end."""
        self.exited = True
        code = record.get("msg")
        self.exit_code = code if isinstance(code, int) else None


class Recording:
    """
    A recorded session that can be played back, once; see the module.

    Args:
        path: The file.
        client: Play only what the client of this name recorded.
        same: Called with what the program said then and says now, where they differ: true
            lets it pass. Both are messages as on the wire, without ids, secrets hidden.
        speed: 1 keeps the pauses of the CLI, 10 makes them a tenth; None: no pauses.
        patience: Seconds to wait for what the program said then, while it waits for us.
        folders: The folders of this run, by what stands for them in the file.

    Attributes:
        lives: The processes, in the order of their starts.

    """

    def __init__(
        self,
        path: Union[str, os.PathLike[str]],
        *,
        client: Optional[str] = None,
        same: Optional[Same] = None,
        speed: Optional[float] = None,
        patience: float = 30.0,
        folders: Optional[Mapping[str, str]] = None,
    ) -> None:
        if speed is not None and not speed > 0:
            raise UsageError(f"speed is a number above 0, or None for no pauses; not {speed!r}.")
        if not patience > 0:
            raise UsageError(f"patience is a number of seconds above 0, not {patience!r}.")
        self.path = os.fspath(path)
        self.lives = lives_of(self.path, client)
        self.same = same
        self.speed = speed
        self.patience = patience
        self.folders = Folders(folders)
        self._lock = threading.Lock()  # guards all below
        self._replays: List[Replay] = []
        # Those that nobody plays yet.
        self._free = list(self.lives)
        self._difference: Optional[Difference] = None
        # The ids of this program's messages, by those of the recorded one.
        self.ids: Dict[str, str] = {}

    def __repr__(self) -> str:
        return f"Recording({self.path!r})"

    def replay(self) -> Replay:
        """The next process, as a transport: for ``Client(transport=recording.replay)``."""
        from .replay import Replay

        with self._lock:
            if self._difference is not None:
                raise ReplayDifference(str(self._difference))
            if len(self._replays) >= len(self.lives):
                raise ReplayDifference(
                    f"{self.path}: the program starts the CLI more often than when this was "
                    f"recorded ({len(self.lives)} times then). Record it again if that is meant."
                )
            replay = Replay(self)
            self._replays.append(replay)
        return replay

    def life_for(self, client: Optional[str]) -> Life:
        """What a process that is started now plays, for a client of this name."""
        with self._lock:
            named = [life for life in self._free if client is not None and life.client == client]
            life = (named or self._free)[0]
            self._free.remove(life)
            return life

    def hang_up(self, exit_code: int = KILLED) -> None:
        """End the process that plays now, when it has said what it can: as a crash does."""
        with self._lock:
            replay = self._replays[-1] if self._replays else None
        if replay is None:
            raise UsageError("nothing plays: call hang_up() while a client is open.")
        replay.end_when_quiet(exit_code)

    def differs(self, difference: Difference) -> None:
        """A replay has found a difference; the first one counts."""
        with self._lock:
            if self._difference is None:
                self._difference = difference

    def assert_done(self) -> None:
        """The program has said all that it said then, and nothing else. After ``close()``."""
        with self._lock:
            difference = self._difference
            replays = [replay for replay in self._replays if replay.launch is not None]
        for replay in replays:
            replay.assert_played()
        for replay in replays:
            difference = difference or replay.missing()
        if difference is not None:
            raise ReplayDifference(str(difference))
        if len(replays) < len(self.lives):
            raise ReplayDifference(
                f"{self.path}: the program started the CLI {len(self.lives)} times when this was "
                f"recorded, and {len(replays)} times now. Record it again if that is meant."
            )


def lives_of(path: str, client: Optional[str] = None) -> List[Life]:
    """The processes in a file; UsageError if it is no recording."""
    lives: Dict[str, Life] = {}
    unnamed = 0
    for number, record in records_of(path):
        direction = record["dir"]
        run = record.get("run")
        if not isinstance(run, str):
            known = lives.get(f"{unnamed}")
            if known is None or direction == "argv" or (known.lines and is_greeting(record)):
                unnamed += 1
            run = f"{unnamed}"
        life = lives.get(run) or Life(run)
        if direction == "argv":
            life.started(record)
        elif direction == "exit":
            life.ended(record)
        elif direction in ("in", "out"):
            life.add(Line(number, record), record.get("began"))
        else:
            continue  # the head, or somebody's own notes
        lives[run] = life
    found = [life for life in lives.values() if client is None or life.client == client]
    if not found:
        known_names = sorted({str(life.client) for life in lives.values() if life.client})
        raise UsageError(
            f"there is nothing to replay in {path!r}. Make a recording first."
            if not lives
            else f"{path!r} has no client {client!r}, but: {', '.join(known_names)}."
        )
    for place, life in enumerate(found):
        life.goes_on = any(client_of(later) == client_of(life) for later in found[place + 1 :])
    return found


def client_of(life: Life) -> str:
    """What the lives of one client have in common; all, where nothing is told."""
    return life.run.rpartition("-")[0]


def is_greeting(record: Wire) -> bool:
    """Whether the program greets a CLI with this, which it does once in a life."""
    message = record.get("msg")
    request = message.get("request") if isinstance(message, dict) else None
    return (
        record["dir"] == "in"
        and isinstance(request, dict)
        and request.get("subtype") == "initialize"
    )


def records_of(path: str) -> Iterator[Tuple[int, Wire]]:
    """The lines of a file that are records, with their numbers."""
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
        if not isinstance(record, dict) or not isinstance(record.get("dir"), str):
            continue
        version = record.get("format")
        if record["dir"] == "head" and isinstance(version, int) and version > FORMAT:
            raise UsageError(
                f"{path!r} was recorded by a later release (format {version}). Update claude-sync."
            )
        yield number, record
