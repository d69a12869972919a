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
* Ids and uuids differ from run to run, and a recording hides secrets, homes and addresses.
  So both sides are brought into the same form before they are compared. Which reply belongs
  to which request is known by the request's id, which is the CLI's.
* The greeting, and what is said about the program's own tools, differs from release to
  release: these are not compared. What a tool returns is.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from ..support.conceal import Concealer, TooDeep
from .cli_side import encoded
from .scripted import KILLED, ScriptedCli

if TYPE_CHECKING:
    from ..engine.launch.command import Launch
    from ..engine.recording.recordings import Life, Line
    from .recording import Recording

__all__ = ["Replay", "hidden_folders"]

Wire = dict[str, Any]

# What names a message, and not what is said in it.
IDS = ("uuid", "session_id", "request_id", "id")
REPLIES = ("control_response", "callback.response")
# What stands for something hidden is numbered, in the order in which it came.
PLACEHOLDER = re.compile(r"<(secret|account|email)-\d+>")
# So much fits into what an error shows of stderr.
FEW_LINES, LONGEST_LINE = 10, 300


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
        # The ids of the requests of the CLI.
        self._served: set[object] = set()
        # How else the program was started: more about a difference.
        self._notes: list[str] = []

    def start(self, launch: Launch) -> None:
        """Begin; what is hidden in a recording is hidden in what is compared with it."""
        if self.launch is None:  # otherwise it is refused below: it lives once
            options = getattr(launch, "options", None)
            self.life = self._recording.life_for(getattr(options, "name", None))
            said = [line.message for line in self.life.lines if not line.is_heard and line.message]
            self._served = {each["request_id"] for each in said if "request_id" in each}
        self._concealer.learn(getattr(launch, "environment", None) or {})
        then, now = self.life.argv[1:], self._concealer.argv(getattr(launch, "argv", None) or ())
        if self.life.argv:
            self._notes += [f"- started then with {word}" for word in then if word not in now]
            self._notes += [f"+ started now with {word}" for word in now[1:] if word not in then]
        super().start(launch)

    def close(self, timeout: float) -> None:
        """End it, as it ended then."""
        if self.launch is not None and self.life.exit_code is not None:
            self.hang_up(self.life.exit_code)
        super().close(timeout)

    def missing(self) -> str | None:
        """
        What the program said then and has not said now; None if there is no such thing.

        Raises what went wrong here, such as an error of ``same=``.
        """
        if self._script_error is not None:
            raise self._script_error
        line = next(iter(self._ahead()), None)
        if line is None:
            return None
        return "\n".join(self._difference(line, None, "it ended before that"))

    def _ahead(self) -> list[Line]:
        """What the program said then and has not said yet."""
        lines = self.life.lines[self._place :]
        return [line for line in lines if line.is_heard and line.message is not None]

    # Playing.

    def _play_life(self) -> None:
        life, speed = self.life, self._recording.speed
        before = life.lines[0].seconds if life.lines else 0.0
        for line in life.lines:
            if line.is_heard and line.message is not None:
                self._wait_for(line, line.message)
            elif not line.is_heard:
                if speed is not None:
                    self.pause(max(0.0, line.seconds - before) / speed)
                self.print_raw(self._said_by_cli(line))
            before = line.seconds
            self._place += 1
        waits = self._turn_runs or bool(self._requests)
        if waits or (life.exited and life.goes_on and life.exit_code != 0):
            self.exit(KILLED if life.exit_code is None else life.exit_code)
        while True:
            self._keep(self.receive())

    def _said_by_cli(self, line: Line) -> bytes:
        """What the CLI said, with the ids and folders of this program."""
        message = line.message
        if message is None:
            return line.raw.encode("utf-8", "surrogateescape") + b"\n"
        if message.get("type") == "result":
            self._turn_runs = False
        response = message.get("response")
        if message.get("type") == "control_response" and isinstance(response, dict):
            now = self._requests.pop(str(response.get("request_id")), response.get("request_id"))
            message = {**message, "response": {**response, "request_id": now}}
        ids = self._recording.ids
        named = mapped(message, lambda text: ids.get(text, text))
        return encoded([shown_folders(named, self._recording.folders)])

    # Hearing.

    def _wait_for(self, line: Line, recorded: Wire) -> None:
        """Wait until the program says what it said here."""
        patience = self._recording.patience
        while (message := self._kept_like(recorded)) is None:
            waits = self._kept or self._turn_runs or self._requests or reply_id(recorded)
            heard = self.receive(patience if waits else None)
            if heard is None:
                instead = self._kept[0] if self._kept else None
                self._stop(line, instead, f"{patience:g} seconds went by")
            self._keep(heard)
        self._kept.remove(message)
        # Its ids are known, and it waits for what follows.
        then, now = recorded.get("uuid"), message.get("uuid")
        if isinstance(then, str) and isinstance(now, str):
            self._recording.ids[then] = now
        if message.get("type") == "control_request":
            self._requests[str(recorded.get("request_id"))] = str(message.get("request_id"))
        elif message.get("type") in ("user", "user_message"):
            self._turn_runs = True

    def _kept_like(self, recorded: Wire) -> Wire | None:
        return next((each for each in self._kept if self._says(recorded, each)), None)

    def _keep(self, heard: Wire | None) -> None:
        """Keep what was heard; stop at what was not said then, and at another order."""
        self._kept += [heard] if heard is not None else []
        ahead = self._ahead()
        for message in list(self._kept):
            line = next((line for line in ahead if is_counterpart(line.message, message)), None)
            if line is not None and self._says(line.message or {}, message):
                ahead.remove(line)
            elif line is None and reply_id(message) in self._served:
                self._kept.remove(message)  # then it was withdrawn before it was answered
            else:
                self._stop(line or next(iter(ahead), None), message)

    def _says(self, recorded: Wire, message: Wire) -> bool:
        """Whether a message of this program says what *recorded* says."""
        if not is_counterpart(recorded, message):
            return False
        if not is_compared(recorded):
            return True
        then, now = same_form(recorded, {}), self._as_recorded(message)
        same = self._recording.same
        return then == now or bool(same is not None and same(then, now))

    def _as_recorded(self, message: Wire) -> Wire:
        """A message of this program, as it would have been recorded."""
        then_by_now = {now: then for then, now in list(self._recording.ids.items())}
        message = hidden_folders(message, self._recording.folders)
        with contextlib.suppress(TooDeep):  # which was not recorded as a message either
            message = self._concealer.message(message)
        formed: Wire = same_form(message, then_by_now)
        return formed

    # Differences.

    def _stop(self, line: Line | None, now: Wire | None, why: str = "") -> NoReturn:
        self._recording.differs("\n".join(self._difference(line, now, why)))
        for text in self._difference(line, now, why, 0)[:FEW_LINES]:
            self.print_error(text[:LONGEST_LINE])
        self.exit(1)

    def _difference(
        self, line: Line | None, now: Wire | None, why: str, context: int = 3
    ) -> list[str]:
        """What the program said then, and what it says now: as a diff, for people."""
        recorded = line.message if line is not None else None
        # Behind the last one, if anything was said then at all.
        line = line or next(reversed(self.life.lines), None)
        where = self._recording.path + (f", line {line.number}" if line else "")
        then = shown(recorded and same_form(recorded, {}))
        diff = difflib.unified_diff(
            then, shown(now and self._as_recorded(now)), lineterm="", n=context
        )
        return [
            f"{where}: the program does not do what was recorded{f' ({why})' if why else ''}",
            "- asked then, + asked now (assert_done() shows all of it):",
            *(text for text in list(diff)[2:] if text[:2] != "@@"),
            *self._notes,
            "Record it again if that is meant.",
        ]


def shown(message: Wire | None) -> list[str]:
    """A message as lines for people, the lines of its texts among them."""
    if message is None:
        return ["(nothing)"]
    return json.dumps(message, indent=1, ensure_ascii=False).replace("\\n", "\n    ").splitlines()


# What two messages have in common.


def is_counterpart(recorded: Wire | None, message: Wire) -> bool:
    """Whether the program says, with *message*, something of the sort of *recorded*."""
    if recorded is None or reply_id(recorded) != reply_id(message):
        return False
    return kind_of(recorded) == kind_of(message)


def kind_of(message: Wire) -> tuple[Any, Any]:
    """What sort of message it is: those of one sort come in their order."""
    request = message.get("request")
    return message.get("type"), request.get("subtype") if isinstance(request, dict) else None


def reply_id(message: Wire) -> str | None:
    """The id of the request of the CLI that this answers; None if it is no answer."""
    if message.get("type") not in REPLIES:
        return None
    response = message.get("response")
    for part in (message, response if isinstance(response, dict) else {}):
        for name in ("request_id", "callbackId", "callback_id", "id"):
            if isinstance(part.get(name), str):
                return str(part[name])
    return ""


def is_compared(message: Wire) -> bool:
    """Whether what it says matters, and not only that it is said."""
    if kind_of(message) == ("control_request", "initialize"):
        return False
    response = message.get("response")
    body = response.get("response") if isinstance(response, dict) else None
    if isinstance(body, dict) and isinstance(body.get("mcp_response"), dict):
        result = body["mcp_response"].get("result")
        # The result of a call; the rest is the handshake and the list of tools.
        return not isinstance(result, dict) or "content" in result
    return True


def same_form(value: Any, ids: Mapping[str, str], depth: int = 0) -> Any:
    """
    A message in the form in which two are compared.

    Without its own ids, those of others as in *ids*; without the numbers of what is hidden;
    and without fields that are null, which say as much as fields that are missing.
    """
    if isinstance(value, dict):
        own = IDS if depth == 0 else ("request_id",) if depth == 1 else ()
        parts = {name: part for name, part in value.items() if part is not None and name not in own}
        return {name: same_form(part, ids, depth + 1) for name, part in parts.items()}
    if isinstance(value, list):
        return [same_form(part, ids, depth + 1) for part in value]
    if isinstance(value, str):
        return PLACEHOLDER.sub(r"<\1>", ids.get(value, value))
    return value


def mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with every text changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): mapped(part, change) for key, part in value.items()}
    return [mapped(part, change) for part in value] if isinstance(value, list) else value


# Folders that are others in every run. A test works in a folder of its own, whose name is new
# each time; in its recording that folder is <tmp_path>. So what a program said then and says now
# can be compared, and what the CLI said then is about the folder of now.


def hidden_folders(value: Any, folders: Mapping[str, str]) -> Any:
    """A JSON value in which names stand for *folders*, also in JSON that is inside it."""
    if not folders:
        return value
    text = json.dumps(value, ensure_ascii=False)
    # Long ones first: one may be inside another. Not /tmp/x1 for /tmp/x.
    for name, folder in sorted(folders.items(), key=lambda each: -len(each[1])):
        once = escaped(folder)
        for form in (escaped(once), once):
            text = re.sub(re.escape(form) + r"(?!\w)", name, text)
    return json.loads(text)


def shown_folders(value: Any, folders: Mapping[str, str]) -> Any:
    """The value again, with the folders of this run; with slashes, which no JSON escapes."""
    if not folders:
        return value
    text = json.dumps(value, ensure_ascii=False)
    for name, folder in folders.items():
        text = text.replace(name, escaped(folder.replace("\\", "/")))
    return json.loads(text)


def escaped(folder: str) -> str:
    """A folder as it is inside the quotes of JSON."""
    return json.dumps(folder, ensure_ascii=False)[1:-1]
