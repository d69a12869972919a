"""
A turn on the screen: text as it arrives, tools, and what is going on meanwhile.

::

    client -> handlers -> [screen] -> stdout (answers), stderr (what is going on)

Decisions taken here and nowhere else:

* Handlers run on the thread that waits (``post="manual"``): the person can be asked in
  the middle of a turn, Ctrl-C reaches it, and the spinner needs no thread of its own.
* A pipe gets the text as it is, and nothing else. A terminal gets it painted.
* What the CLI says *about* a failed turn ("Not logged in") is an error message, not an
  answer: it goes to stderr with the error, although it arrives as text.
* The spinner is drawn on a line where nothing stands, and wiped before anything else is.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Set, Tuple

from ..client import stop_own_turn
from ..errors import AskTimeout
from ..support.styles import PLAIN, columns, is_terminal, palette, safe
from .common import ROOM_MAKERS, here
from .painting import painter_for

if TYPE_CHECKING:
    from ..client import Client
    from ..engine.turn import Turn
    from ..messages.answer import Answer
    from ..permissions.request import Decision, PermissionRequest

__all__ = ["Screen", "person", "tool_line"]

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
ASCII_FRAMES = "|/-\\"
# How often the spinner turns, and after how much silence it appears.
TICK = 0.1
QUIET = 0.3
WIPE = "\r\x1b[K"
MARKS = {"running": "●", "done": "✓", "failed": "✗"}
# Of a result, so much is shown under its tool.
LONGEST_RESULT = 200
LONGEST_RULE = 60


class Screen:
    """
    Shows the turns of one client.

    Args:
        tools: Whether each use of a tool is a line of its own; otherwise only the spinner
            tells of it.
        cwd: Files below this folder are named without it.

    """

    def __init__(self, tools: bool = False, cwd: Optional[str] = None) -> None:
        self._out = sys.stdout
        self._folder = os.path.abspath(cwd or here())
        self.on_terminal = is_terminal(sys.stdout)
        self.styles = palette(sys.stdout) if self.on_terminal else PLAIN
        self._tools = tools and self.on_terminal
        self.spinner = Spinner(self.on_terminal and is_terminal(sys.stderr))
        self._painter = painter_for(self._write, self.on_terminal, self.styles)
        self._message_id: Optional[str] = None
        self._complaints: Set[str] = set()
        self._wrote = self._silent = False
        # Why nothing can be written any more. What a handler raises would stop nobody.
        self._broken: Optional[OSError] = None
        ROOM_MAKERS[:] = [self.make_room]

    def attach(self, client: Client, text: bool = True) -> None:
        """Show what this client's turns do; and what they say, unless it is not for people."""
        self._silent = not text
        if text:
            client.on_message(self._message)
            client.on_text(self._text)
        client.on_thinking(lambda _: self.spinner.now("thinking"))
        client.on_tool_use(self.use)
        client.on_tool_result(self.result)
        client.on_system(self._system)

    def wait(self, turn: Turn) -> Answer:
        """Show *turn* until it is over; its answer. Ctrl-C stops it, and goes through."""
        self._wrote = False
        self.spinner.now("waiting for Claude")
        try:
            while not turn.done():
                with contextlib.suppress(AskTimeout):  # not that of the turn, which it returns
                    turn.exception(TICK)
                if self._broken is not None:
                    raise self._broken
                self._painter.tick()
                self._flush()
                if not self._painter.column:
                    self.spinner.tick()
            answer = turn.result()
            if not self._wrote and not self._silent:
                # Commands of the CLI answer without saying anything.
                self._painter.feed(answer.text)
            return answer
        except KeyboardInterrupt:
            self.clear()
            stop_own_turn(turn)
            raise
        finally:
            self.clear()
            self.spinner.forget()

    def clear(self) -> None:
        """End what is being written: something else wants a line of its own."""
        self.spinner.wipe()
        self._painter.end()
        self._flush()
        self._message_id = None

    def make_room(self) -> None:
        """Something is to be written on stderr: it begins a line, and the answer stays as it is."""
        if self.on_terminal:
            self.clear()
        elif self._painter.column and is_terminal(sys.stderr):
            self._flush()
            sys.stderr.write("\n")

    def rule(self) -> None:
        """A line between two turns."""
        if self.styles:
            width = min(shutil.get_terminal_size().columns, LONGEST_RULE)
            self.say("\N{BOX DRAWINGS LIGHT HORIZONTAL}" * width, "faint")

    def say(self, text: str, style: str = "") -> None:
        """A line of ours on stdout."""
        self.clear()
        self._write(self.styles.paint(style, safe(text)) + "\n")
        self._flush()

    # Handlers.

    def _message(self, message: Any) -> None:
        if getattr(message, "error", None) and message.type == "assistant":
            self._complaints.add(message.message_id)

    def _system(self, message: Any) -> None:
        if message.subtype == "api_retry":
            self.retry(message)

    def _text(self, text: Any) -> None:
        if text.message_id not in self._complaints:
            self.show(str(text), text.message_id)

    def show(self, text: str, message_id: Optional[str]) -> None:
        """A piece of text; each message of Claude begins on a line of its own."""
        if message_id != self._message_id:
            self.clear()
        self._message_id = message_id
        self._wrote = True
        self.spinner.wipe()
        self._painter.feed(text)
        self._flush()
        self.spinner.now("writing")

    def use(self, use: Any) -> None:
        """A tool is used."""
        if self.on_terminal:
            self.clear()
        line = tool_line(use.name, use.input, self._folder)
        self.spinner.begin(use.id, line)
        if self._tools:
            indent = "  " if use.parent_tool_use_id else ""
            self.say(f"{indent}{MARKS['running']} {line}", "faint")

    def result(self, result: Any) -> None:
        """A tool has returned something; what went wrong is told."""
        name, _ = self.spinner.finish(result.tool_use_id)
        if self._tools and result.is_error:
            text = " ".join(result.text.split())
            text = text if len(text) <= LONGEST_RESULT else text[: LONGEST_RESULT - 1] + "…"
            self.say(f"  {MARKS['failed']} {name}: {text}", "wrong")

    def retry(self, retry: Any) -> None:
        """The service failed, and the CLI tries again; a line about it may follow in the log."""
        # Only here: it goes well nearly always.
        from ..engine.stopping import count_of, what_happened

        if self.on_terminal:
            self.clear()
        count = count_of(retry)
        tries = "trying again" + (f" ({count})" if count else "")
        self.spinner.now(f"{what_happened(retry)}, {tries}")

    def _write(self, text: str) -> None:
        if self._broken is None:
            try:
                self._out.write(text)
            except OSError as error:
                self._broken = error

    def _flush(self) -> None:
        if self._broken is None:
            try:
                self._out.flush()
            except OSError as error:
                self._broken = error


class Spinner:
    """
    One line that tells what is going on, and for how long; on a terminal only.

    It is drawn in :meth:`tick`, which whoever waits calls now and then.
    """

    def __init__(self, works: bool) -> None:
        self._works = works and os.environ.get("TERM") != "dumb"
        encoding = (getattr(sys.stderr, "encoding", None) or "").lower()
        self._frames = FRAMES if "utf" in encoding else ASCII_FRAMES
        self._styles = palette(sys.stderr) if self._works else PLAIN
        self._running: Dict[str, Tuple[str, float]] = {}
        self._what, self._since = "", time.monotonic()
        self._touched = 0.0
        self._frame = 0
        self._drawn = False

    def now(self, what: str) -> None:
        """This goes on while no tool runs."""
        self._touched = time.monotonic()
        if what != self._what:
            self._what, self._since = what, self._touched

    def begin(self, tool_use_id: str, line: str) -> None:
        """A tool runs."""
        self._running[tool_use_id] = (line, time.monotonic())

    def finish(self, tool_use_id: str) -> Tuple[str, float]:
        """It ended; its line, and since when it ran."""
        self.wipe()
        self._what, self._since = "waiting for Claude", time.monotonic()
        return self._running.pop(tool_use_id, ("a tool", 0.0))

    def forget(self) -> None:
        """The turn is over, whatever ran in it."""
        self._running.clear()
        self._what = ""

    def tick(self) -> None:
        """Draw it, unless something was written just now."""
        now = time.monotonic()
        if not self._works or now - self._touched < QUIET:
            return
        sys.stderr.write(WIPE + self.line(now))
        sys.stderr.flush()
        self._frame += 1
        self._drawn = True

    def line(self, now: float) -> str:
        """What it shows."""
        what, since = self._what, self._since
        if self._running:
            what, since = list(self._running.values())[-1]
            if len(self._running) > 1:
                what = f"{what} (and {len(self._running) - 1} more)"
        frame = self._frames[self._frame % len(self._frames)]
        seconds = f" {int(now - since)} s"
        room = shutil.get_terminal_size().columns - len(seconds) - 3
        what = safe(what)
        while columns(what) > room:
            what = what[: max(0, room - 1)] if len(what) > room else what[:-1]
        return self._styles.paint("faint", f"{frame} {what}{seconds}")

    def wipe(self) -> None:
        """Take it away."""
        self._touched = time.monotonic()
        if self._drawn:
            sys.stderr.write(WIPE)
            sys.stderr.flush()
            self._drawn = False


def tool_line(name: str, given: Any, folder: str = "") -> str:
    """A use of a tool in a line: its name, and what it is about."""
    from ..render.chats import summary_of

    name, about = summary_of(name, given if isinstance(given, dict) else {}, folder)
    # Neither of them can begin a line of its own.
    return safe(" ".join(f"{name} {about}".split()))


# The person decides, in the middle of a turn. As ``policies.ask_on_terminal``, with two
# differences that a conversation wants: the spinner gets out of the way, and Ctrl-C at the
# question stops the turn.

STOPPED = "The user pressed Ctrl-C at the question, and wants this turn to end."


def person(clear: Callable[[], None]) -> Callable[[PermissionRequest], Decision | None]:
    """A policy that asks; *clear* makes room on the terminal for the question."""

    def policy(request: PermissionRequest) -> Decision | None:
        clear()
        return ask_person(request)

    return policy


def ask_person(request: PermissionRequest) -> Decision | None:
    """Show what is wanted and let the person decide."""
    from ..permissions import terminal

    try:
        return terminal.ask(request)
    except terminal.CannotAsk as problem:
        if isinstance(problem.__context__, KeyboardInterrupt):
            terminal.say("\n")  # the question stands on a line of its own
            return request.deny(STOPPED, interrupt=True)
        return request.deny(terminal.NOBODY.format(problem))
