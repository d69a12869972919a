"""
What a person types: lines with editing, history and completion.

prompt_toolkit reads them where it is installed (several lines with Alt+Enter, completions in a
menu), else readline, else ``input()`` alone. The history is in ``claude-sync/history`` of the
folder for such things (``XDG_STATE_HOME``, else ``~/.local/state``), readable for its owner
only; an entry of several lines is one line there, with a backslash before each line end.
Replies to questions about tools are typed at the same terminal, and are no part of it.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..log import logger
from ..support.styles import OWN

__all__ = ["Typing", "history_file"]

Complete = Callable[[str], Sequence[str]]

MOST_LINES = 2000
# What a readline library may need to be told that these characters take no room.
OPEN, CLOSE = "\001", "\002"


def history_file() -> Path:
    """Where the lines are kept."""
    state = os.environ.get("XDG_STATE_HOME")
    folder = Path(state) if state and os.path.isabs(state) else Path.home() / ".local" / "state"
    return folder / "claude-sync" / "history"


class Typing:
    """Reads lines from the terminal; use it as a context manager, to keep the history."""

    def __init__(self, complete: Complete) -> None:
        self._kept: list[str] = []
        try:
            self._reader: Any = Toolkit(complete, self._kept)
        except ImportError:
            self._reader = Readline(complete, self._kept)

    def __enter__(self) -> Typing:
        with contextlib.suppress(OSError, UnicodeError):
            text = history_file().read_text(encoding="utf-8")
            self._kept += text.replace("\\\n", "\0").splitlines()
        self._kept[:] = [line.replace("\0", "\n") for line in self._kept]
        self._reader.begin()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._reader.finish()
        try:
            save_history(self._kept[-MOST_LINES:])
        except OSError as error:
            logger.warning("the history of what was typed is not kept: %s", error)

    def read(self, prompt: str, more: str = "... ") -> str:
        """
        A line, or several where each but the last ends with a backslash.

        EOFError at the end of input, KeyboardInterrupt at Ctrl-C, as of ``input()``.
        """
        lines = [self._reader.line(prompt)]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            lines.append(self._reader.line(more))
        # A terminal of another encoding leaves pieces that the wire could not carry.
        text = "\n".join(lines).encode("utf-8", "replace").decode("utf-8").strip()
        if text and self._kept[-1:] != [text]:
            self._kept.append(text)
            self._reader.keep(text)
        return text


def save_history(lines: Sequence[str]) -> None:
    """Write the last lines, readable for nobody else."""
    path = history_file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(handle, "w", encoding="utf-8") as file:
        os.chmod(path, 0o600)
        file.writelines(line.replace("\n", "\\\n") + "\n" for line in lines)


class Toolkit:
    """Lines by prompt_toolkit; ImportError where it is not installed."""

    def __init__(self, complete: Complete, kept: list[str]) -> None:
        toolkit = importlib.import_module("prompt_toolkit")
        completion = importlib.import_module("prompt_toolkit.completion")
        history = importlib.import_module("prompt_toolkit.history")
        bindings = importlib.import_module("prompt_toolkit.key_binding").KeyBindings()

        class Commands(completion.Completer):  # type: ignore[misc, name-defined]
            """Completes the first word."""

            def get_completions(self, document: Any, _: object) -> Iterator[Any]:
                text = document.text_before_cursor
                for found in complete(text):
                    yield completion.Completion(found, start_position=-len(text))

        @bindings.add("escape", "enter")  # type: ignore[untyped-decorator]
        def _(event: Any) -> None:
            event.current_buffer.insert_text("\n")

        self._kept = kept
        self._ansi = importlib.import_module("prompt_toolkit.formatted_text").ANSI
        self._history = history.InMemoryHistory()
        self._make: Any = toolkit.PromptSession
        self._settings = {
            "history": self._history,
            "completer": Commands(),
            "complete_while_typing": False,
            "key_bindings": bindings,
        }
        self._session: Any = None

    def begin(self) -> None:
        """The history is there."""
        for line in self._kept:
            self._history.append_string(line)

    def finish(self) -> None:
        """Nothing is left over."""

    def line(self, prompt: str) -> str:
        """What was typed."""
        if self._session is None:
            self._session = self._make(**self._settings)
        return str(self._session.prompt(self._ansi(prompt)))

    def keep(self, text: str) -> None:
        """It has kept the line already."""


class Readline:
    """Lines by ``input()``, with readline where that is there."""

    def __init__(self, complete: Complete, kept: list[str]) -> None:
        self._complete, self._kept = complete, kept
        self._found: list[str] = []
        self._readline: Any = None
        with contextlib.suppress(ImportError):
            self._readline = importlib.import_module("readline")

    def begin(self) -> None:
        """Set readline up, and give it the history."""
        readline = self._readline
        if readline is None:
            return
        readline.set_auto_history(False)
        readline.set_completer_delims(" \t\n")
        readline.set_completer(self.candidate)
        is_editline = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if is_editline else "tab: complete")
        if not is_editline and os.environ.get("TERM") != "dumb":
            # What is pasted is one text, and nothing of it is done before Enter is pressed.
            readline.parse_and_bind("set enable-bracketed-paste on")
        for line in self._kept:
            self.keep(line)

    def finish(self) -> None:
        """Leave readline as it was."""
        if self._readline is not None:
            self._readline.set_completer(None)
            self._readline.set_auto_history(True)

    def line(self, prompt: str) -> str:
        """What was typed. Escape sequences of the prompt do not count as columns."""
        if self._readline is not None:
            prompt = OWN.sub(lambda found: f"{OPEN}{found.group()}{CLOSE}", prompt)
        return input(prompt)

    def keep(self, text: str) -> None:
        """It can be called back with the arrows."""
        if self._readline is not None:
            with contextlib.suppress(UnicodeError):  # nothing that this terminal could type
                self._readline.add_history(text)

    def candidate(self, text: str, state: int) -> str | None:
        """What readline asks for, one candidate after the other."""
        if state == 0:
            begin = self._readline.get_begidx()
            self._found = list(self._complete(text)) if begin == 0 else []
        return self._found[state] if state < len(self._found) else None
