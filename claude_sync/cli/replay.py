"""
``claude-sync replay``: a recording, shown again as it was.

It is read, not run: no tool is used, nothing is asked, and a recording of any CLI will do.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from collections.abc import Mapping
from typing import Any

from ..engine.recording.recordings import lives_of
from ..errors import UsageError
from ..messages.parsing import parse
from ..messages.stream_text import Text
from ..protocol.streaming import Assembler
from .common import OK, option
from .view import TICK, View

# Nobody wants to wait while nobody types.
LONGEST_PAUSE = 3.0
DECISIONS = {"allow": "  allowed", "deny": "  denied"}


def replay(arguments: argparse.Namespace) -> int:
    """
    Show a recording again: the prompts, the text as it arrived, the tool calls. Nothing is sent, no
    tool runs, and it costs nothing. On a terminal it takes as long as the original.

    examples:
      claude-sync record session.jsonl "What does setup.py do?"
      claude-sync replay session.jsonl
      claude-sync replay session.jsonl --speed 10
      claude-sync replay session.jsonl --speed 0 | less

    exit codes:
      0    shown
      2    the command line was wrong, or the file is not a recording
      130  interrupted by Ctrl-C
    """
    if not os.path.exists(arguments.file):
        raise UsageError(
            f"there is no file {arguments.file!r}. Check its name; claude-sync record makes one."
        )
    if arguments.speed is not None and not 0 <= arguments.speed < float("inf"):
        raise UsageError("--speed is a number of 0 or more.")
    lives = lives_of(arguments.file)
    view = View(tools=True)
    speed = arguments.speed
    if speed is None:
        speed = 1.0 if view.on_terminal else 0.0
    try:
        for life in lives:
            player, before = Player(view), None
            for line in life.lines:
                if line.message is None:
                    continue
                if speed and before is not None:
                    pause(view, min((line.seconds - before) / speed, LONGEST_PAUSE))
                before = line.seconds
                player.play(line.message, line.is_heard)
                view.tick()
    finally:
        view.clear()
    return OK


def replay_arguments(parser: argparse.ArgumentParser) -> None:
    """What can be said on the command line, --offline excepted."""
    parser.add_argument("file", metavar="FILE", help="the recording")
    text = "1: original speed; 10: ten times as fast; 0: no pauses (default: 1; in a pipe: 0)"
    option(parser, "--speed N", text, type=float)


def pause(view: View, seconds: float) -> None:
    """Let so much time pass on the screen."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        view.tick()
        threading.Event().wait(min(left, TICK))


class Player:
    """Shows the lines of one process."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._assembler = Assembler()
        # Whether Claude has said something since the last prompt.
        self._spoke = False

    def play(self, wire: Mapping[str, Any], is_heard: bool) -> None:
        """One line."""
        kind = wire.get("type")
        if is_heard:
            self._heard(wire)
        elif kind == "stream_event":
            self._say(self._assembler.stream_event(wire))
        elif kind in ("assistant", "user", "result"):
            message: Any = parse(wire)
            # What the CLI says about a failure in Claude's name, the result says again.
            if kind == "assistant" and not getattr(message, "error", None):
                for piece in self._assembler.complete(wire):
                    self._say(piece)
            for use in getattr(message, "tool_uses", ()):
                self._view.use(use)
            for result in getattr(message, "tool_results", ()):
                self._view.result(result)
            if kind == "result":
                self._end(message)

    def _say(self, piece: Any) -> None:
        if isinstance(piece, Text) and piece.parent_tool_use_id is None:
            self._spoke = True
            self._view.text(piece)

    def _heard(self, wire: Mapping[str, Any]) -> None:
        response = wire.get("response")
        body = response.get("response") if isinstance(response, dict) else None
        behavior = body.get("behavior") if isinstance(body, dict) else None
        if behavior in DECISIONS:
            self._view.say(DECISIONS[behavior], "faint")
        if wire.get("type") in ("user", "user_message"):
            text = getattr(parse(wire), "text", "") or str(wire.get("content", ""))
            self._spoke = False
            self._view.say(f"> {text}", "user")

    def _end(self, result: Any) -> None:
        failed = result.is_error or result.subtype.startswith("error")
        if failed or (result.text and not self._spoke):
            self._view.say(result.text or result.subtype, "wrong" if failed else "")
        self._view.clear()
        self._spoke = False
