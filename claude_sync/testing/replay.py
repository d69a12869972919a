"""
Play one process of a recording: say what was said then, when the program says what it said then.

::

    lives -> [replay] -> reader -> lines -> messages -> handlers -> turn

Decisions taken here and nowhere else:

* What the CLI said stands behind what the program had said by then, and comes as soon as
  that has come. So permission requests, hooks and calls of tools come at their place.
* Answers to requests of the CLI, and requests of several threads, may come in another order
  than then: what comes early is kept. Two questions may not: each sort has its order.
* The program is waited for without an end while it waits for nothing. While it waits for us,
  *patience* ends that: it has not done what it did then.
* A process that ended in mid-turn, or was started again, ends by itself; any other one when
  the client closes.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any, NoReturn

from ..support.conceal import Concealer, TooDeep
from .cli_side import encoded
from .differences import Difference, is_compared, kind_of, reply_id, same_form
from .folders import mapped
from .scripted import ScriptedCli

if TYPE_CHECKING:
    from ..engine.launch.command import Launch
    from ..engine.recording.recordings import Life, Line
    from .recording import Recording

__all__ = ["Replay"]

Wire = dict[str, Any]

KILLED = -9
# So much is said in one piece.
LINES_AT_ONCE = 100


class Stopped(Exception):
    """There is a difference: the replay ends here."""


class Replay(ScriptedCli):
    """
    The transport of one life. The recording makes it; see the module.

    Attributes:
        life: What is played; known when it is started.

    """

    life: Life

    def __init__(self, recording: Recording) -> None:
        super().__init__(lambda _: self._play_life(), patience=recording.patience)
        self._recording = recording
        self._concealer = Concealer()
        self._place = 0
        # What the program has said, and its place has not come.
        self._kept: list[Wire] = []
        # What it waits for: a turn, and replies to its requests, by their recorded ids.
        self._turn_runs = False
        self._requests: dict[str, str] = {}
        # The requests of the CLI.
        self._served: set[str] = set()
        # Set while nothing is left to say before the program says something.
        self._quiet = threading.Event()
        self._notes: list[str] = []

    # The client's side.

    def start(self, launch: Launch) -> None:
        """Begin; what is hidden in a recording is hidden in what is compared with it."""
        if self.launch is None:  # otherwise it is refused below: it lives once
            self.life = self._recording.life_for(
                getattr(getattr(launch, "options", None), "name", None)
            )
            self._served = requests_in(self.life)
        self._concealer.learn(getattr(launch, "environment", None) or {})
        argv = self._concealer.argv(getattr(launch, "argv", None) or ())
        if self.life.argv:
            self._note_argv(self.life.argv[1:], argv[1:])
        super().start(launch)

    def close(self, timeout: float) -> None:
        """End it, as it ended then."""
        if self.launch is not None and self.life.exit_code is not None:
            self.hang_up(self.life.exit_code)
        super().close(timeout)

    def end_when_quiet(self, exit_code: int) -> None:
        """Hang up once everything is said that can be said now."""
        if not self._quiet.wait(self._recording.patience):
            raise AssertionError("the replay still has something to say, and cannot hang up")
        self.hang_up(exit_code)

    def missing(self) -> Difference | None:
        """What the program said then and has not said now; None if there is no such thing."""
        for line in self.life.lines[self._place :]:
            if line.is_heard and line.message is not None:
                return self._difference(line, None, "it ended before that")
        return None

    def assert_played(self) -> None:
        """Nothing went wrong here; otherwise raise what did, such as an error of ``same=``."""
        if self._script_error is not None:
            raise self._script_error

    # Playing.

    def _play_life(self) -> None:
        try:
            self._play_lines()
            code = self._code_at_the_end()
            self._quiet.set()
            if code is not None:
                self.exit(code)
            while True:
                self._keep(self.receive())
                self._check_kept()
        except Stopped:
            self._quiet.set()
            self.exit(1)

    def _play_lines(self) -> None:
        lines = self.life.lines
        said: list[bytes] = []
        before = lines[0].seconds if lines else 0.0
        while self._place < len(lines):
            line = lines[self._place]
            if line.is_heard:
                self._say_all(said)
                if line.message is not None:
                    self._wait_for(line, line.message)
            else:
                if self._recording.speed is not None:
                    self._say_all(said)
                    self.pause(max(0.0, line.seconds - before) / self._recording.speed)
                said.append(self._said_by_cli(line))
                if len(said) >= LINES_AT_ONCE:
                    self._say_all(said)
            before = line.seconds
            self._place += 1
        self._say_all(said)

    def _say_all(self, said: list[bytes]) -> None:
        if said:
            self._quiet.clear()
            self.print_raw(b"".join(said))
            said.clear()

    def _said_by_cli(self, line: Line) -> bytes:
        """What the CLI said, with the ids of this program."""
        message = line.message
        if message is None:
            return line.raw.encode("utf-8", "surrogateescape") + b"\n"
        kind = message.get("type")
        if kind == "result":
            self._turn_runs = False
        elif kind == "control_response":
            response = message.get("response")
            if isinstance(response, dict):
                actual = self._requests.pop(str(response.get("request_id")), None)
                if actual is not None:
                    message = {**message, "response": {**response, "request_id": actual}}
        ids = self._recording.ids
        named = mapped(message, lambda text, _: ids.get(text, text))
        return encoded([self._recording.folders.shown(named)])

    # Hearing.

    def _wait_for(self, line: Line, recorded: Wire) -> None:
        """Wait until the program says what it said here."""
        while True:
            for message in self._kept:
                if self._is_same(recorded, message):
                    self._kept.remove(message)
                    self._is_said(recorded, message)
                    return
            self._check_kept()
            self._quiet.set()
            waits = self._kept or self._turn_runs or self._requests or reply_id(recorded)
            patience = self._recording.patience
            heard = self.receive(patience if waits else None)
            if heard is None:
                instead = self._kept[0] if self._kept else None
                self._stop(line, instead, f"{patience:g} seconds went by")
            self._keep(heard)

    def _keep(self, message: Wire | None) -> None:
        if message is not None:
            self._kept.append(message)

    def _is_said(self, recorded: Wire, message: Wire) -> None:
        """The program has said it: its ids are known, and it waits for what follows."""
        kind = message.get("type")
        then, now = recorded.get("uuid"), message.get("uuid")
        if isinstance(then, str) and isinstance(now, str):
            self._recording.ids[then] = now
        if kind == "control_request":
            self._requests[str(recorded.get("request_id"))] = str(message.get("request_id"))
        elif kind in ("user", "user_message"):
            self._turn_runs = True

    def _check_kept(self) -> None:
        """Stop at what was not said then, and at questions in another order."""
        ahead = [line for line in self.life.lines[self._place :] if line.is_heard]
        for message in list(self._kept):
            line = next((line for line in ahead if is_counterpart(line.message, message)), None)
            if line is not None and line.message is not None:
                if not self._is_same(line.message, message):
                    self._stop(line, message)
                ahead.remove(line)
            elif reply_id(message) in self._served:
                self._kept.remove(message)  # then it was withdrawn before it was answered
            else:
                self._stop(next(iter(ahead), None), message)

    def _is_same(self, recorded: Wire, message: Wire) -> bool:
        if not is_counterpart(recorded, message):
            return False
        if not is_compared(recorded):
            return True
        then, now = same_form(recorded, {}), self._as_recorded(message)
        same = self._recording.same
        return bool(then == now or (same is not None and same(then, now)))

    def _as_recorded(self, message: Wire) -> Any:
        """A message of this program, as it would have been recorded."""
        then_by_now = {now: then for then, now in list(self._recording.ids.items())}
        message = self._recording.folders.hidden(message)
        with contextlib.suppress(TooDeep):  # which was not recorded as a message either
            message = self._concealer.message(message)
        return same_form(message, then_by_now)

    # The end.

    def _code_at_the_end(self) -> int | None:
        """The exit code of a process that ended by itself; None: it ends with the client."""
        life = self.life
        waits = self._turn_runs or bool(self._requests)
        if waits or (life.exited and life.goes_on and life.exit_code != 0):
            return KILLED if life.exit_code is None else life.exit_code
        return None

    def _stop(self, line: Line | None, now: Wire | None, why: str = "") -> NoReturn:
        difference = self._difference(line, now, why)
        self._recording.differs(difference)
        for text in difference.short():
            self.print_error(text)
        raise Stopped

    def _difference(self, line: Line | None, now: Wire | None, why: str) -> Difference:
        recorded = line.message if line is not None else None
        # Behind the last one, if anything was said then at all.
        line = line or next(reversed(self.life.lines), None)
        where = self._recording.path
        return Difference(
            where if line is None else f"{where}, line {line.number}",
            None if recorded is None else same_form(recorded, {}),
            None if now is None else self._as_recorded(now),
            why,
            self._notes,
        )

    def _note_argv(self, then: list[str], now: list[str]) -> None:
        self._notes += [f"- started then with {word}" for word in then if word not in now]
        self._notes += [f"+ started now with {word}" for word in now if word not in then]


def requests_in(life: Life) -> set[str]:
    """The ids of what the CLI asked for in *life*."""
    return {
        str(line.message.get("request_id"))
        for line in life.lines
        if line.message is not None and not line.is_heard and "request_id" in line.message
    }


def is_counterpart(recorded: Wire | None, message: Wire) -> bool:
    """Whether the program says, with *message*, something of the sort of *recorded*."""
    if recorded is None or reply_id(recorded) != reply_id(message):
        return False
    return kind_of(recorded) == kind_of(message)
