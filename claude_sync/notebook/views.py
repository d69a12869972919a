"""
Where a turn is shown while it runs: one display that is updated, or plain text.

Both are told when to look (:meth:`update`), as often as one likes; they show
something when there is something new, and not too often: each update of a display
carries the whole turn, so a long one is updated less often than a short one.
"""

from __future__ import annotations

import sys
import time
import uuid
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Tuple

from ..render.turns import chat_of_turn, outcome_of, stamp_of
from ..support.text import visible
from .rendering import Shown, bundle_of, cost_line, folder_of, repr_of, text_of_step

if TYPE_CHECKING:
    from ..engine.turn import Turn

__all__ = ["REFRESH", "DisplayView", "TextView", "View", "current_shell", "view_for"]

# How often to look at a turn that runs.
REFRESH = 0.1
# How often a display tells how long it has taken, if nothing else is new.
TICK = 1.0
# Notebook servers drop what is more than a megabyte a second; this stays well below.
BYTES_A_SECOND = 200_000


class View:
    """Shows one turn."""

    def update(self, turn: Turn, now: bool = False) -> None:
        """Show what is new, unless that was done a moment ago; with *now* even then."""
        raise NotImplementedError

    def finish(self, turn: Turn) -> None:
        """Show the turn as it is now, for the last time."""
        raise NotImplementedError


class DisplayView(View):
    """
    One display of a notebook, updated in place.

    Args:
        publish: ``shell.display_pub.publish``, or what takes the same arguments.
        shown: What it shows besides the turn.
        clock: Tells seconds.

    """

    def __init__(
        self,
        publish: Callable[..., object],
        shown: Shown | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._publish = publish
        self._beside = shown or Shown()
        self._clock = clock
        self._id = f"claude-sync-{uuid.uuid4().hex}"
        self._shown = False
        self._stamp: Tuple[object, ...] = ()
        self._began = clock()
        self._second = 0
        self._not_before = self._began

    def update(self, turn: Turn, now: bool = False) -> None:
        """See :class:`View`."""
        time_now = self._clock()
        second = int((time_now - self._began) / TICK)
        stamp = (*stamp_of(turn), len(self._beside.decisions))
        is_new = stamp != self._stamp or second != self._second
        if not is_new or (time_now < self._not_before and not now):
            return
        self._stamp, self._second = stamp, second
        size = self._show(self._bundle(turn))
        took = self._clock() - time_now
        # What takes long to make and to send is made less often: at most a tenth of the time.
        self._not_before = time_now + max(REFRESH, 10 * took, size / BYTES_A_SECOND)

    def finish(self, turn: Turn) -> None:
        """See :class:`View`."""
        self._show(self._bundle(turn))

    def _bundle(self, turn: Turn) -> Mapping[str, str]:
        self._beside.seconds = self._clock() - self._began
        return bundle_of(turn, self._beside)

    def _show(self, bundle: Mapping[str, str]) -> int:
        # Known before it is sent: the kernel's interrupt may come while it is, and what is shown
        # after that must not be a second display, below one that is at work for ever.
        update, self._shown = self._shown, True
        self._publish(
            data=dict(bundle),
            metadata={},
            transient={"display_id": self._id},
            update=update,
        )
        return sum(map(len, bundle.values()))


class TextView(View):
    """
    Plain text, for a terminal: what is new is written behind what was written.

    Characters that would move a cursor or change a colour are spelled out.
    """

    def __init__(
        self, write: Optional[Callable[[str], object]] = None, shown: Shown | None = None
    ) -> None:
        self._write = write
        self._beside = shown or Shown()
        # How far it got: whole parts, and characters of the part after them.
        self._parts = 0
        self._characters = 0
        self._line_is_open = False

    def update(self, turn: Turn, now: bool = False) -> None:  # noqa: ARG002
        """See :class:`View`; text is cheap, so it is never too early."""
        parts = chat_of_turn(turn, self._beside.decisions).steps
        while self._parts < len(parts):
            part = parts[self._parts]
            is_last = self._parts == len(parts) - 1
            if part.kind != "tool":
                text = text_of_step(part)
                if text and not self._characters and self._line_is_open:
                    self._say("\n\n")
                self._say(text[self._characters :])
                self._characters = len(text)
                if is_last:
                    return  # it may go on
            elif part.state == "unfinished" and is_last and not turn.done():
                return  # said when it is known how it went
            else:
                self._say_line(text_of_step(part, folder_of(turn)))
            self._parts += 1
            self._characters = 0

    def finish(self, turn: Turn) -> None:
        """See :class:`View`."""
        self.update(turn)
        answer, _ = outcome_of(turn)
        if answer is not None and answer.data is not None:
            self._say_line(repr_of(answer.data))
        if answer is not None:
            self._say_line(f"[{cost_line(answer, self._beside.spent_before)}]")
        elif self._line_is_open:
            self._say("\n")

    def _say_line(self, text: str) -> None:
        self._say(("\n" if self._line_is_open else "") + text + "\n")

    def _say(self, text: str) -> None:
        if not text:
            return
        (self._write or write_out)(visible(text))
        self._line_is_open = not text.endswith("\n")


def write_out(text: str) -> None:
    """Write to standard output what it is able to show, at once."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def current_shell() -> Any:
    """The IPython shell of this process, or None; IPython is not loaded for it."""
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def view_for(shell: Any, shown: Shown | None = None) -> View:
    """A display where the shell belongs to a notebook's kernel, and text everywhere else."""
    if is_kernel(shell):
        return DisplayView(shell.display_pub.publish, shown)
    return TextView(shown=shown)


def is_kernel(shell: Any) -> bool:
    """Whether a shell's front end is another program: a notebook, most probably."""
    return getattr(shell, "kernel", None) is not None
