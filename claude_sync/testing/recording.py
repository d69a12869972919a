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
``assert_done()`` raises :class:`ReplayDifference` with all of it. Each process of the recording
is a life. A client with a name plays what the client of that name recorded; otherwise lives are
played in the order in which they were started. ``client=`` picks those of one client, where
several wrote into one file.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..engine.recording.recordings import Life, lives_of
from ..errors import UsageError

if TYPE_CHECKING:
    from .replay import Replay

__all__ = ["Recording", "ReplayDifference"]

Wire = dict[str, Any]


class ReplayDifference(AssertionError):
    """The program does something else than when the session was recorded."""


class Recording(os.PathLike):  # type: ignore[type-arg]
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
        path: str | os.PathLike[str],
        *,
        client: str | None = None,
        same: Callable[[Wire, Wire], object] | None = None,
        speed: float | None = None,
        patience: float = 30.0,
        folders: Mapping[str, str] | None = None,
    ) -> None:
        if speed is not None and not speed > 0:
            raise UsageError(f"speed is a number above 0, or None for no pauses; not {speed!r}.")
        if not patience > 0:
            raise UsageError(f"patience is a number of seconds above 0, not {patience!r}.")
        self.path = os.fspath(path)
        self.lives = lives_of(self.path, client)
        self.same, self.speed, self.patience = same, speed, patience
        self.folders = dict(folders or {})
        # The ids of this program's messages, by those of the recorded one.
        self.ids: dict[str, str] = {}
        self._lock = threading.Lock()  # guards all below
        self._replays: list[Replay] = []
        # Those that nobody plays yet.
        self._free = list(self.lives)
        self._difference: str | None = None

    def __repr__(self) -> str:
        return f"Recording({self.path!r})"

    def __fspath__(self) -> str:
        return self.path

    def replay(self) -> Replay:
        """The next process, as a transport: for ``Client(transport=recording.replay)``."""
        from .replay import Replay

        with self._lock:
            if self._difference is not None:
                raise ReplayDifference(self._difference)
            if len(self._replays) >= len(self.lives):
                raise self._other_count("more often than", "")
            self._replays.append(Replay(self))
            return self._replays[-1]

    def life_for(self, client: str | None) -> Life:
        """What a process that is started now plays, for a client of this name."""
        with self._lock:
            named = [life for life in self._free if client is not None and life.client == client]
            life = (named or self._free)[0]
            self._free.remove(life)
            return life

    def differs(self, difference: str) -> None:
        """A replay has found a difference; the first one counts."""
        with self._lock:
            self._difference = self._difference or difference

    def assert_done(self) -> None:
        """The program has said all that it said then, and nothing else. After ``close()``."""
        with self._lock:
            difference = self._difference
            replays = [replay for replay in self._replays if replay.launch is not None]
        for replay in replays:
            difference = difference or replay.missing()
        if difference is not None:
            raise ReplayDifference(difference)
        if len(replays) < len(self.lives):
            raise self._other_count("less often than", f", {len(replays)} times now")

    def _other_count(self, what: str, now: str) -> ReplayDifference:
        return ReplayDifference(
            f"{self.path}: the program starts the CLI {what} when this was recorded "
            f"({len(self.lives)} times then{now}). Record it again if that is meant."
        )
