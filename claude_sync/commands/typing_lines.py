"""
What a person types: lines with editing, history and completion, where readline is there.

The history is in ``claude-sync/history`` of the folder for such things
(``XDG_STATE_HOME``, else ``~/.local/state``), for its owner's eyes only. Replies to questions
about tools are typed at the same terminal, and are no part of it.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any, Callable, List, Optional, Sequence

from ..log import logger

__all__ = ["Typing", "history_file"]

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

    def __init__(self, complete: Callable[[str], Sequence[str]]) -> None:
        self._complete = complete
        self._found: List[str] = []
        self._readline: Any = None
        with contextlib.suppress(ImportError):
            import readline

            self._readline = readline

    def __enter__(self) -> Typing:
        readline = self._readline
        if readline is None:
            return self
        readline.set_auto_history(False)
        readline.set_completer_delims(" \t\n")
        readline.set_completer(self._candidate)
        is_editline = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if is_editline else "tab: complete")
        if not is_editline and os.environ.get("TERM") != "dumb":
            # What is pasted is one text, and nothing of it is done before Enter is pressed.
            readline.parse_and_bind("set enable-bracketed-paste on")
        with contextlib.suppress(OSError):
            readline.read_history_file(str(history_file()))
        return self

    def __exit__(self, *exc_info: object) -> None:
        readline = self._readline
        if readline is None:
            return
        readline.set_completer(None)
        readline.set_auto_history(True)
        try:
            save_history(readline, history_file())
        except OSError as error:
            logger.warning("the history of what was typed is not kept: %s", error)

    def read(self, prompt: str, more: str = "... ") -> str:
        """
        A line, or several where each but the last ends with a backslash.

        EOFError at the end of input, KeyboardInterrupt at Ctrl-C, as of ``input()``.
        """
        lines = [input(self._measured(prompt))]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            lines.append(input(self._measured(more)))
        # A terminal of another encoding leaves pieces that the wire could not carry.
        text = "\n".join(lines).encode("utf-8", "replace").decode("utf-8").strip()
        if text and self._readline is not None:
            last = self._readline.get_current_history_length()
            if not last or self._readline.get_history_item(last) != text:
                with contextlib.suppress(UnicodeError):  # nothing that this terminal could type
                    self._readline.add_history(text)
        return text

    def _measured(self, prompt: str) -> str:
        """A prompt whose escape sequences do not count as columns."""
        if self._readline is None or "\x1b" not in prompt:
            return prompt
        from .painting import OWN

        return OWN.sub(lambda found: f"{OPEN}{found.group()}{CLOSE}", prompt)

    def _candidate(self, text: str, state: int) -> Optional[str]:
        """What readline asks for, one candidate after the other."""
        if state == 0:
            begin = self._readline.get_begidx()
            self._found = list(self._complete(text)) if begin == 0 else []
        return self._found[state] if state < len(self._found) else None


def save_history(readline: Any, path: Path) -> None:
    """Write the last lines, readable for nobody else."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    os.close(handle)
    readline.set_history_length(MOST_LINES)
    readline.write_history_file(str(path))
    os.chmod(path, 0o600)
