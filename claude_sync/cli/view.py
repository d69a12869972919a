"""
A turn on the screen: text as it arrives, tools, and what is going on meanwhile.

::

    client, recording -> text, tools -> [view] -> stdout (answers), stderr (what is going on)

Decisions taken here and nowhere else:

* Handlers run on the thread that waits (``post="manual"``): the person can be asked in the middle
  of a turn, Ctrl-C reaches it, and the spinner needs no thread.
* A terminal gets Markdown painted by rich. What may still change, which is the last block, and the
  spinner below it are drawn again and again; what came before them is written once.
* A pipe gets the text as it is, and so does a terminal where rich is not installed. A terminal
  obeys nothing that is in the text: control characters are spelled out.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..client import stop_own_turn
from ..errors import AskTimeout
from ..support.styles import OWN, is_terminal, palette, safe
from .common import ROOM_MAKERS, here

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.markdown import Markdown
    from rich.text import Text

    from ..client import Client
    from ..engine.turn import Turn
    from ..messages.answer import Answer
    from ..permissions.request import Decision, PermissionRequest

# In seconds: how often the screen is drawn, and after how much silence the spinner appears.
TICK = 0.05
QUIET = 0.3
# Drawing long blocks takes a tenth of the time, and no more.
SHARE = 10
# The width at which lines are easy to read; narrower terminals have theirs.
WIDEST = 100
LONGEST_RULE = 60
# The parser loses what is nested deeper than twenty levels, of which a list has two: what comes
# near is shown as text.
DEEPEST = 18
# Of a result, so much is shown under its tool.
LONGEST_RESULT = 200
# Between blocks: a blank line, and after it a line that does not go on with a list or a table.
BLOCK_END = re.compile(r"\n[ \t]*\n(?=[^\s\-+*|>0-9])")
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
STOPPED = "The user pressed Ctrl-C at the question, and wants this turn to end."


class View:
    """
    Shows turns.

    Args:
        tools: Whether each use of a tool is a line; otherwise only the spinner tells of it.
        cwd: Files below this folder are named without it.

    """

    def __init__(self, tools: bool = False, cwd: str | None = None) -> None:
        self.on_terminal = is_terminal(sys.stdout)
        self.styles = palette(sys.stdout)
        self.console = make_console() if self.on_terminal else None
        self._folder = os.path.abspath(cwd or here())
        self._tools = tools
        self._is_silent = False
        # What is not written for good, and whether the cursor is inside of a line.
        self._pieces: list[str] = []
        self._in_line = False
        self._message_id: str | None = None
        self._wrote = False
        self._live: Live | None = None
        self._is_first_block = True
        self._running: dict[str, tuple[str, float]] = {}
        self._doing = ("", 0.0)
        self._touched = self._next_draw = 0.0
        ROOM_MAKERS[:] = [self.make_room]

    def attach(self, client: Client, text: bool = True) -> None:
        """Show what this client's turns do; and what they say, unless it is not for people."""
        self._is_silent = not text
        if text:
            client.on_text(self.text)
        client.on_thinking(lambda _: self._begin("thinking"))
        client.on_tool_use(self.use)
        client.on_tool_result(self.result)
        client.on_system(self._system)

    def wait(self, turn: Turn) -> Answer:
        """Show *turn* until it is over; its answer. Ctrl-C stops it, and goes through."""
        self._wrote = False
        self._begin("waiting for Claude")
        try:
            while not turn.done():
                with contextlib.suppress(AskTimeout):  # not that of the turn, which it returns
                    turn.exception(TICK)
                self.tick()
            answer = turn.result()
            if not self._wrote and not self._is_silent:
                self._pieces.append(answer.text)  # commands of the CLI answer without a message
            return answer
        except KeyboardInterrupt:
            self.clear()
            stop_own_turn(turn)
            raise
        finally:
            self.clear()
            self._running.clear()

    # What happens.

    def text(self, piece: Any) -> None:
        """A piece of text; each message of Claude begins on a new line."""
        if piece.message_id != self._message_id:
            self.clear()
        self._message_id, self._wrote, self._touched = piece.message_id, True, time.monotonic()
        self._pieces.append(str(piece))
        self._begin("writing")

    def use(self, use: Any) -> None:
        """A tool is used."""
        line = tool_line(use.name, use.input, self._folder)
        self._running[use.id] = (line, time.monotonic())
        if self._tools:
            self.say(f"{'  ' if use.parent_tool_use_id else ''}● {line}", "faint")

    def result(self, result: Any) -> None:
        """A tool has returned something; what went wrong is shown."""
        line, _ = self._running.pop(result.tool_use_id, ("a tool", 0.0))
        self._doing = ("waiting for Claude", time.monotonic())
        if self._tools and result.is_error:
            text = " ".join(result.text.split())
            text = text if len(text) <= LONGEST_RESULT else text[: LONGEST_RESULT - 1] + "…"
            self.say(f"  ✗ {line}: {text}", "wrong")

    def _system(self, message: Any) -> None:
        if message.subtype == "api_retry":
            # Only here: it goes well nearly always.
            from ..engine.stopping import count_of, what_happened

            count = count_of(message)
            tries = "trying again" + (f" ({count})" if count else "")
            self._begin(f"{what_happened(message)}, {tries}")

    def _begin(self, what: str) -> None:
        """This goes on while no tool runs."""
        if what != self._doing[0]:
            self._doing = (what, time.monotonic())

    # What is written.

    def say(self, text: str, style: str = "") -> None:
        """A line of ours on stdout."""
        self.clear()
        sys.stdout.write(self.styles.paint(style, safe(text)) + "\n")
        sys.stdout.flush()

    def rule(self) -> None:
        """A line between two turns."""
        if self.styles:
            self.say("─" * min(shutil.get_terminal_size().columns, LONGEST_RULE), "faint")

    def feed(self, text: str) -> None:
        """Write a text."""
        self._pieces.append(text)
        self.clear()

    def clear(self) -> None:
        """End what is being written: something else wants to begin a line."""
        if self.console is None:
            self._write()
            if self._in_line:
                sys.stdout.write("\n")
            self._in_line = False
        else:
            self._stop_live()
            text = self._taken()
            if text.strip():
                self._print(self.console, text)
            self._is_first_block = True
        sys.stdout.flush()
        self._message_id = None

    def make_room(self) -> None:
        """Something is to be written on stderr: it begins a line, and the answer stays as it is."""
        if self.on_terminal:
            self.clear()
        elif is_terminal(sys.stderr):
            self._write()
            if self._in_line:
                sys.stderr.write("\n")

    def tick(self) -> None:
        """Draw what has come, unless that was done a moment ago; call it often."""
        begun = time.monotonic()
        if begun >= self._next_draw:
            if self.console is None:
                self._write()
                sys.stdout.flush()
            else:
                self._draw(self.console)
            self._next_draw = begun + max(TICK, SHARE * (time.monotonic() - begun))

    def _taken(self) -> str:
        text = "".join(self._pieces)
        self._pieces.clear()
        return text.replace("\r\n", "\n") if self.on_terminal else text

    def _write(self) -> None:
        """Without rich: the text as it is."""
        text = self._taken()
        if text:
            sys.stdout.write(safe(text) if self.on_terminal else text)
            self._in_line = not text.endswith("\n")

    def _draw(self, console: Console) -> None:
        """With rich: finished blocks for good, and the last one with the spinner for now."""
        from rich.console import Group
        from rich.live import Live

        text = self._taken()
        while (end := end_of_block(text)) is not None:
            self._print(console, text[:end])
            text = text[end:].lstrip("\n")
        self._pieces.append(text)
        shown: list[Any] = []
        if text.strip():
            shown = [*([] if self._is_first_block else [""]), Ending(markdown_of(text))]
        if time.monotonic() - self._touched > QUIET:
            shown.append(self._spinner(console))
        if self._live is None:
            quiet: Any = {"redirect_stdout": False, "redirect_stderr": False}
            self._live = Live(console=console, auto_refresh=False, transient=True, **quiet)
            self._live.start()
        self._live.update(Group(*shown), refresh=True)

    def _print(self, console: Console, text: str) -> None:
        """A block, below the one before it; without the blanks to which rich fills lines up."""
        from rich.constrain import Constrain

        self._stop_live()
        draw = console.print  # into the text below, not on the screen
        with console.capture() as captured:
            draw(Constrain(markdown_of(text), WIDEST))
        lines = [line.rstrip() for line in captured.get().split("\n")]
        said = [number for number, line in enumerate(lines) if OWN.sub("", line).strip()]
        lines = lines[said[0] : said[-1] + 1] if said else []
        sys.stdout.write("\n".join([*([] if self._is_first_block else [""]), *lines, ""]))
        self._is_first_block = False

    def _stop_live(self) -> None:
        """Wipe what is drawn again and again."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _spinner(self, console: Console) -> Any:
        """What goes on, and for how long: the newest of the tools that run, if any."""
        from rich.spinner import Spinner
        from rich.text import Text

        what, since = [self._doing, *self._running.values()][-1]
        if len(self._running) > 1:
            what += f" (and {len(self._running) - 1} more)"
        seconds = f" {int(time.monotonic() - since)} s"
        line = Text(what)
        line.truncate(max(console.width - len(seconds) - 3, 1), overflow="ellipsis")
        name = "dots" if console.encoding.startswith("utf") else "line"
        return Spinner(name, line.append(seconds), style="dim")


class Ending:
    """For rich: the last lines of something, as many as the screen has room for."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole

    def __rich_console__(self, console: Console, options: Any) -> Any:
        from rich.segment import Segment

        options = options.update(width=min(options.max_width, WIDEST))
        lines = console.render_lines(self._whole, options, pad=False)
        for line in lines[-max(console.height - 3, 1) :]:
            yield from line
            yield Segment.line()


def make_console() -> Console | None:
    """What paints; None where rich is not installed, or the terminal can do nothing."""
    if os.environ.get("TERM") == "dumb":
        return None
    try:
        from rich.console import Console
    except ImportError:
        return None
    return Console(color_system="standard", highlight=False)


def markdown_of(text: str) -> Markdown | Text:
    """A text for rich: headings begin where text begins, and line ends are line ends."""
    from markdown_it import MarkdownIt
    from rich import markdown
    from rich.text import Text

    class Heading(markdown.Heading):
        """A heading where text begins, not in the middle."""

        def __rich_console__(self, console: Any, options: Any) -> Any:
            self.text.justify = "left"
            self.text.stylize("bold")
            yield self.text

    # Addresses are shown: nobody can hover over a terminal.
    shown = markdown.Markdown("", code_theme="ansi_dark", hyperlinks=False)
    vars(shown)["elements"] = {**shown.elements, "heading_open": Heading}
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    shown.parsed = parser.parse(safe(text))
    if any(token.level >= DEEPEST for token in shown.parsed):
        return Text(safe(text))
    for token in shown.parsed:
        for each in token.children or ():
            if each.type == "softbreak":  # lines of addresses, poems and commands are meant
                each.type = "hardbreak"
            each.content = safe(each.content)  # "&#x202e;" has become the character
    return shown


def end_of_block(text: str) -> int | None:
    """Where the first block of a text ends that will not change any more."""
    for found in BLOCK_END.finditer(text):
        # Inside of code nothing ends: there is one fence more that opens than that closes.
        if len(FENCE.findall(text[: found.start()])) % 2 == 0 and text[: found.start()].strip():
            return found.start()
    return None


def tool_line(name: str, given: Any, folder: str = "") -> str:
    """A use of a tool in a line: its name, and what it is about."""
    from ..render.chats import summary_of

    name, about = summary_of(name, given if isinstance(given, dict) else {}, folder)
    # Neither of them can begin a line of its own.
    return safe(" ".join(f"{name} {about}".split()))


def asks_person(clear: Callable[[], None]) -> Callable[[PermissionRequest], Decision | None]:
    """
    A policy that asks; *clear* makes room on the terminal for the question.

    As ``policies.ask_on_terminal``, but Ctrl-C at the question stops the turn.
    """
    from ..permissions import terminal

    def ask(request: PermissionRequest) -> Decision | None:
        clear()
        try:
            return terminal.ask(request)
        except terminal.CannotAsk as problem:
            if isinstance(problem.__context__, KeyboardInterrupt):
                terminal.say("\n")  # the question stands on a line of its own
                return request.deny(STOPPED, interrupt=True)
            return request.deny(terminal.NOBODY.format(problem))

    return ask
