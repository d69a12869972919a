"""
Where exported conversations come from: clients, recordings, saved sessions, messages.

Decisions taken here and nowhere else:

* A client keeps no messages: what it said is read from the file that its CLI has saved.
  What it cost, and when what happened, the client knows itself.
* Recordings hold no secrets, but may have been made by hand: they are cleaned once more.
* Saved sessions are exported as they are. Nobody but the person knows what in them is private.
* A str is the id of a session, or the path of a file; what is in the file decides.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engine.marks import ENDED, SENT, Marks
from ..engine.recording.recordings import lives_of
from ..errors import UsageError
from ..messages.parsing import parse
from ..messages.usage import Usage
from ..protocol.codec import decode
from ..protocol.costs import CostMeter
from ..sessions.files import time_at
from ..support.conceal import Concealer, TooDeep
from .chats import Chat, title_of

if TYPE_CHECKING:
    from ..client import Client

__all__ = ["chat_of"]


def chat_of(source: Any, cwd: Any = None, config_dir: Any = None) -> Chat:
    """The conversation that *source* is; see :func:`claude_sync.export`."""
    from ..client import Client
    from ..messages.answer import Answer
    from ..sessions.listing import SessionInfo

    if isinstance(source, Client):
        chat = of_client(source, config_dir)
    elif isinstance(source, SessionInfo):
        chat = of_session(source, cwd, config_dir)
    elif isinstance(source, Answer):
        chat = of_answer(source)
    elif isinstance(source, (str, os.PathLike)):
        chat = of_name(source, cwd, config_dir)
    elif isinstance(source, Iterable):
        chat = of_messages(source)
    else:
        raise UsageError(
            "export() takes a client, an answer, a recording, a session or messages, not "
            f"{type(source).__name__}."
        )
    first = next((each.title for each in chat.rounds if each.title), "")
    # Old CLIs, and sessions without a title, are called after the whole first prompt.
    chat.title = (
        (title_of(chat.title) if chat.title else first) or chat.session_id or "Conversation"
    )
    return chat


# Messages and answers.


def of_messages(messages: Iterable[Any]) -> Chat:
    """What these messages say."""
    chat = Chat()
    for message in messages:
        if not hasattr(message, "raw"):
            raise UsageError(
                "export() takes messages as handlers get them, as read_session() and "
                f"answer.messages give them; not {type(message).__name__}."
            )
        chat.add(message)
    return chat


def of_answer(answer: Any) -> Chat:
    """One turn."""
    chat = of_messages(answer.messages)
    chat.cost_usd, chat.usage = answer.cost_usd, answer.usage
    chat.session_id = answer.session_id
    chat.timeline = answer.timeline()
    return chat


# Saved sessions, and clients, whose CLIs save them.


def of_client(client: Client, config_dir: Any) -> Chat:
    """What a client's conversation says so far."""
    if client.session_id is None:
        raise UsageError("this client has no conversation yet. Ask something first.")
    options = client._options
    environment = {**os.environ, **(options.env or {})}
    config = config_dir or config_of(environment)
    chat = of_session(client.session_id, None, config)
    chat.source = "client"
    chat.cost_usd, chat.usage = client.cost_usd, client.usage
    chat.timeline = client.timeline()
    return chat


def config_of(environment: Mapping[str, Any]) -> str | None:
    """Where a CLI with this environment keeps its files."""
    named = environment.get("CLAUDE_CONFIG_DIR")
    if named:
        return str(named)
    home = environment.get("HOME") or environment.get("USERPROFILE")
    return os.path.join(str(home), ".claude") if home else None


def of_session(session: Any, cwd: Any, config_dir: Any) -> Chat:
    """A conversation that a CLI has saved."""
    from ..sessions import read_session, session_info
    from ..sessions.listing import SessionInfo

    messages = read_session(session, cwd, subagents=True, config_dir=config_dir)
    if not messages and isinstance(session, Path):
        raise UsageError(
            f"there is no conversation in {os.fspath(session)!r}. Name a recording, or the file "
            "of a session."
        )
    chat = Chat(source="session")
    clock = Clock()
    usage = Usage()
    counted: dict[str, Any] = {}
    for message in messages:
        at = seconds_of(message.raw)
        chat.add(message, at)
        if at is not None:
            clock.saved(message, at)
        counted.update(usage_of(message))
    for each in counted.values():
        usage.count(each)
    chat.usage = usage
    chat.timeline = clock.timeline()
    times = (seconds_of(message.raw) for message in messages)
    chat.began = next((at for at in times if at is not None), None)
    if chat.cwd is None:
        found = (message.raw.get("cwd") for message in messages)
        chat.cwd = next((folder for folder in found if isinstance(folder, str)), None)
    if isinstance(session, SessionInfo):
        chat.title = session.title
    elif isinstance(session, str):
        chat.title = session_info(session, cwd, config_dir=config_dir).title
    return chat


def seconds_of(raw: Mapping[str, Any]) -> float | None:
    """When a line was saved, in seconds since 1970."""
    when = time_at(raw)
    return None if when is None else when.timestamp()


def usage_of(message: Any) -> dict[str, Any]:
    """The tokens of a reply, by its id: its lines repeat them, and the last is right."""
    usage = getattr(message, "usage", None)
    if message.type != "assistant" or not isinstance(usage, dict):
        return {}
    return {message.message_id: usage}


# Files.


def of_name(source: Any, cwd: Any, config_dir: Any) -> Chat:
    """A file, whatever it is; else a session of that id."""
    if not os.path.isfile(source):
        if isinstance(source, str) and not os.path.dirname(source):
            return of_session(source, cwd, config_dir)
        raise UsageError(f"there is no file {os.fspath(source)!r} to export. Check its name.")
    if is_recording(source):
        return of_recording(source)
    return of_session(Path(source), cwd, config_dir)


def is_recording(path: Any) -> bool:
    """Whether a file is a recording, and not a session of a CLI."""
    try:
        with open(path, "rb") as file:
            for _ in range(20):
                line = decode(file.readline(1 << 24))
                if line is not None:
                    return isinstance(line.get("dir"), str)
    except OSError as error:
        raise UsageError(f"{os.fspath(path)!r} cannot be read: {error}.") from None
    return False


def of_recording(path: Any) -> Chat:
    """What ``Client(record=...)`` has written."""
    reading = RecordingReader()
    for life in lives_of(path):
        reading.meter.new_process()
        for line in life.lines:
            if line.message is not None:
                reading.line(line.message, line.is_heard, line.seconds)
    chat = reading.chat
    chat.cost_usd, chat.usage = reading.meter.total_usd, reading.meter.usage
    chat.timeline = reading.clock.timeline()
    return chat


class RecordingReader:
    """Both directions of the wire, line by line."""

    def __init__(self) -> None:
        self.chat = Chat(source="recording")
        self.meter = CostMeter()
        self.clock = Clock()
        self._concealer = Concealer()
        self._asked: dict[str, Mapping[str, Any]] = {}
        self._usage_requests: list[str] = []
        self._prompts: list[str] = []

    def line(self, wire: Mapping[str, Any], is_heard: bool, at: float) -> None:
        """One message."""
        try:
            clean = self._concealer.message(wire)
        except TooDeep:
            return
        kind = clean.get("type")
        if kind in ("control_request", "control_response"):
            self._control(clean, is_heard, at)
        elif kind == "control_cancel_request":
            self.clock.answered(str(clean.get("request_id")), at)
        elif is_heard:
            self._prompt(clean, at)
        elif kind != "user" or str(clean.get("uuid")) not in self._prompts:
            message = parse(clean)
            if message.type == "result":
                charge = self.meter.result(clean)
                self.chat.end(message, at, charge.usd)  # type: ignore[arg-type]
            else:
                self.chat.add(message, at)
            self.clock.see(clean, at)

    def _prompt(self, clean: Mapping[str, Any], at: float) -> None:
        message = parse({"type": "user", **clean} if "message" in clean else clean)
        if message.type == "user":
            self._prompts.append(str(clean.get("uuid")))
            self.chat.add(message, at)
            self.clock.begin(getattr(message, "text", ""), at)

    def _control(self, clean: Mapping[str, Any], is_heard: bool, at: float) -> None:
        request = clean.get("request")
        response = clean.get("response")
        if isinstance(request, dict):
            request_id = str(clean.get("request_id"))
            if is_heard and request.get("subtype") == "get_usage":
                self._usage_requests.append(request_id)
            elif not is_heard and request.get("subtype") == "can_use_tool":
                self._asked[request_id] = request
                self.clock.asked(request_id, request, at)
        elif isinstance(response, dict):
            request_id = str(response.get("request_id"))
            body = response.get("response")
            body = body if isinstance(body, dict) else {}
            if request_id in self._usage_requests and not is_heard:
                self._usage_requests.remove(request_id)
                self.meter.resumed(body, own=bool(self._prompts))
            elif is_heard and request_id in self._asked:
                self.clock.answered(request_id, at)
                self._decided(self._asked.pop(request_id), body)

    def _decided(self, request: Mapping[str, Any], body: Mapping[str, Any]) -> None:
        said = {"allow": "allowed", "deny": "denied"}.get(str(body.get("behavior")), "")
        if said and isinstance(request.get("tool_use_id"), str):
            self.chat.decided(request["tool_use_id"], said)


class Clock:
    """Marks, as a client makes them, of times that were written down."""

    def __init__(self) -> None:
        self._marks: list[Marks] = []
        self._waits: dict[str, Any] = {}
        self._ended = True
        self._last = 0.0

    def begin(self, prompt: str, at: float) -> None:
        """A question."""
        self._finish()
        marks = Marks(prompt)
        marks.made = at
        marks.events.append((at, SENT, None))
        self._marks.append(marks)
        self._ended, self._last = False, at

    def see(self, raw: Mapping[str, Any], at: float) -> None:
        """A message of the turn."""
        if self._ended or not self._marks:
            return
        self._last = at
        self._marks[-1].see(raw, at)
        self._ended = raw.get("type") == "result"

    def saved(self, message: Any, at: float) -> None:
        """A line of a saved session, in which turns have no end of their own."""
        is_prompt = message.type == "user" and not message.tool_results
        if is_prompt and message.parent_tool_use_id is None and not message.raw.get("isMeta"):
            self.begin(message.text, at)
        else:
            self.see(message.raw, at)

    def asked(self, request_id: str, request: Mapping[str, Any], at: float) -> None:
        """The CLI asks, and waits."""
        if not self._ended and self._marks:
            wait = self._marks[-1].asked("can_use_tool", request)
            if wait is not None:
                wait.start, self._waits[request_id] = at, wait

    def answered(self, request_id: str, at: float) -> None:
        """It was answered, or withdrawn."""
        wait = self._waits.pop(request_id, None)
        if wait is not None:
            wait.end = at

    def timeline(self) -> Any:
        """What it all comes to; None where nothing was asked, or no times are told."""
        from .timeline import timeline_of

        self._finish()
        if not any(marks.events[-1][0] > marks.made for marks in self._marks):
            return None
        return timeline_of(self._marks)

    def _finish(self) -> None:
        if not self._ended:
            self._marks[-1].events.append((self._last, ENDED, None, "success", False))
            self._ended = True
