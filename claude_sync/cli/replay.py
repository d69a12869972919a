"""
``claude-sync replay``: a recording, shown again as it was.

It is read, not run: no tool is used, nothing is asked, and a recording of any CLI will do.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from typing import Any, List, Mapping, Optional, Set

from ..engine.recording.recordings import lives_of
from ..errors import UsageError
from ..messages.parsing import parse
from .common import OK
from .screens import Screen

__all__ = ["DESCRIPTION", "EPILOG", "add_arguments", "run"]

DESCRIPTION = """\
Show a recording again: the prompts, the text as it arrived, the tool calls. Nothing is sent, no
tool runs, and it costs nothing. On a terminal it takes as long as the original.
"""

EPILOG = """\
examples:
  claude-sync record session.jsonl "What does setup.py do?"
  claude-sync replay session.jsonl
  claude-sync replay session.jsonl --speed 10
  claude-sync replay session.jsonl --speed 0 | less

exit codes:
  0    shown
  2    the command line was wrong, or the file is no recording
  130  interrupted by Ctrl-C
"""

# Nobody wants to wait while nobody types.
LONGEST_PAUSE = 3.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said on the command line, --offline excepted."""
    parser.add_argument("file", metavar="FILE", help="the recording")
    parser.add_argument(
        "--speed",
        metavar="N",
        type=speed,
        help="1: original speed; 10: ten times as fast; 0: no pauses (default: 1; in a pipe: 0)",
    )


def speed(word: str) -> float:
    """A number, zero or more."""
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{word!r} is no number of 0 or more")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Do what *arguments* say; the exit code."""
    if not os.path.exists(arguments.file):
        raise UsageError(
            f"there is no file {arguments.file!r}. Check its name; claude-sync record makes one."
        )
    lives = lives_of(arguments.file)
    screen = Screen(tools=True)
    chosen = arguments.speed
    if chosen is None:
        chosen = 1.0 if screen.on_terminal else 0.0
    player = Player(screen, chosen)
    for life in lives:
        player.before = None
        for line in life.lines:
            if line.message is not None:
                player.play(line.message, line.is_heard, line.seconds)
    screen.clear()
    sys.stdout.flush()
    return OK


class Player:
    """Shows the lines of a recording."""

    def __init__(self, screen: Screen, speed: float) -> None:
        self._screen = screen
        self._speed = speed
        self._never = threading.Event()
        self.before: Optional[float] = None
        self._sent: Set[str] = set()
        # Messages of which pieces were shown.
        self._streamed: Set[str] = set()
        self._message_id = ""
        self._said: List[str] = []

    def play(self, wire: Mapping[str, Any], is_heard: bool, at: float) -> None:
        """One line."""
        self._pause(at)
        if is_heard:
            self._heard(wire)
        elif wire.get("type") == "stream_event":
            self._piece(wire)
        elif wire.get("type") not in ("control_request", "control_response"):
            self._message(parse(wire))

    def _pause(self, at: float) -> None:
        before, self.before = self.before, at
        if self._speed and before is not None and at > before:
            self._never.wait(min((at - before) / self._speed, LONGEST_PAUSE))

    def _heard(self, wire: Mapping[str, Any]) -> None:
        response = wire.get("response")
        body = response.get("response") if isinstance(response, dict) else None
        if isinstance(body, dict) and body.get("behavior") in ("allow", "deny"):
            said = "allowed" if body["behavior"] == "allow" else "denied"
            self._screen.say(f"  {said}", "faint")
        if wire.get("type") in ("user", "user_message"):
            message = parse(wire)
            text = getattr(message, "text", "") or str(wire.get("content", ""))
            self._said.clear()
            self._screen.say(f"> {text}", "user")

    def _piece(self, wire: Mapping[str, Any]) -> None:
        event = wire.get("event")
        if not isinstance(event, dict) or wire.get("parent_tool_use_id") is not None:
            return
        started = event.get("message")
        if event.get("type") == "message_start" and isinstance(started, dict):
            self._message_id = str(started.get("id"))
        delta = event.get("delta")
        text = delta.get("text") if isinstance(delta, dict) else None
        if event.get("type") == "content_block_delta" and isinstance(text, str) and text:
            self._streamed.add(self._message_id)
            self._show(text, self._message_id)

    def _show(self, text: str, message_id: str) -> None:
        self._said.append(text)
        self._screen.show(text, message_id)

    def _message(self, message: Any) -> None:
        if message.type == "assistant":
            if message.parent_tool_use_id is None and message.message_id not in self._streamed:
                self._show(message.text, message.message_id)
            for use in message.tool_uses:
                self._screen.use(use)
        elif message.type == "user":
            for result in message.tool_results:
                self._screen.result(result)
        elif message.type == "result":
            self._result(message)

    def _result(self, message: Any) -> None:
        failed = message.is_error or message.subtype.startswith("error")
        if failed or (message.text and not self._said):
            self._screen.say(message.text or message.subtype, "wrong" if failed else "")
        else:
            self._screen.clear()
        self._said.clear()
