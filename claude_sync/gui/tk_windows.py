"""
What every window of ours needs of Tk: its thread, its end, its timer, its place, scrolling.
"""

from __future__ import annotations

import itertools
import tkinter
from tkinter import ttk
from typing import Any, Callable, List, Union

from ..client import Client
from ..errors import UsageError
from ..log import logger
from .frames import Attachment

__all__ = [
    "AutoScrollbar",
    "TkAttachment",
    "check_widget",
    "refuse_other_threads",
    "scroll_with",
    "show_over",
    "when_destroyed",
]

NUMBERS = itertools.count(1)

# Tk's interpreters that clients were attached to. One that is collected on another thread
# than its own ends the process, and the garbage collector may run on any of ours. So they
# are never collected; a program has few.
KEPT: List[Any] = []


class TkAttachment(Attachment):
    """
    A client whose handlers run on Tk's thread; closed when its widget is destroyed.

    Timers are Tk's own and not commands with a name: those that are left over when the
    application ends would be reported as errors.
    """

    def __init__(self, client: Client, widget: tkinter.Misc, closes: bool = True) -> None:
        self._widget = widget
        self._tk: Any = widget.tk
        self._timer: Any = None
        self._forget: Callable[[], object] = lambda: None
        super().__init__(client)
        if self._tk not in KEPT:
            KEPT.append(self._tk)
        # A widget that does not own the client detaches it when it is destroyed.
        if closes:
            self._forget = when_destroyed(widget, self.close)

    def _next(self, milliseconds: int) -> None:
        if self._timer is not None:
            self._timer.deletetimerhandler()
        self._timer = self._tk.createtimerhandler(milliseconds, self._frame)

    def _end_timer(self) -> None:
        self._forget()
        if self._timer is not None:
            self._timer.deletetimerhandler()
            self._timer = None

    def _check_thread(self, what: str) -> None:
        refuse_other_threads(self._widget, what)


def check_widget(widget: object, what: str) -> None:
    """Raise UsageError unless *widget* is one that lives, and this its thread."""
    if not isinstance(widget, tkinter.Misc):
        raise UsageError(f"{what} takes a tkinter window or widget, not {widget!r}.")
    refuse_other_threads(widget, what)
    try:
        lives = bool(widget.winfo_exists())
    except tkinter.TclError:  # the whole application
        lives = False
    if not lives:
        raise UsageError(f"the window that {what} is to use has been destroyed. Make a new one.")


def refuse_other_threads(widget: tkinter.Misc, what: str) -> None:
    """Raise UsageError unless this is the thread that made *widget*'s application."""
    tk: Any = widget.tk
    try:
        # Of all calls the one that other threads are refused without waiting for Tk.
        tk.createtimerhandler(0, int).deletetimerhandler()
    except RuntimeError:
        raise UsageError(
            f"{what} is called on another thread than the one that made the window. Call it "
            "there; handlers run there once claude_sync.gui.tk.attach(client, root) was called."
        ) from None


def when_destroyed(widget: tkinter.Misc, function: Callable[[], object]) -> Callable[[], None]:
    """
    Call *function* once when *widget* is destroyed. What is returned takes that back.

    By a tag of our own: the program may bind ``<Destroy>`` of its widget to something
    else, and a binding of a window would hear of everything in it.
    """
    tag = f"claude_sync_{next(NUMBERS)}"
    commands = [f"{tag}_destroyed"]

    def forget() -> bool:
        if not commands:
            return False
        widget.tk.call("bind", tag, "<Destroy>", "")
        widget.tk.deletecommand(commands.pop())
        return True

    def destroyed() -> None:
        try:
            if forget():
                function()
        except Exception:
            # Whoever destroys the window has other things to do.
            logger.exception("the end of a window could not be handled")

    def take_back() -> None:
        if forget():
            widget.bindtags(tuple(each for each in widget.bindtags() if each != tag))

    # Not by tkinter's own bind_class: Python's versions differ in who deletes the command.
    widget.tk.createcommand(commands[0], destroyed)
    widget.tk.call("bind", tag, "<Destroy>", commands[0])
    widget.bindtags((tag, *widget.bindtags()))
    return take_back


def show_over(window: tkinter.Toplevel, parent: tkinter.Misc) -> None:
    """Show a window that is withdrawn, over the middle of another and on the screen."""
    window.update_idletasks()
    width, height = window.winfo_reqwidth(), window.winfo_reqheight()
    if parent.winfo_viewable():
        # A window that belongs to a hidden one would be hidden, too.
        window.wm_transient(parent)  # type: ignore[call-overload]
        left = parent.winfo_rootx() + (parent.winfo_width() - width) // 2
        top = parent.winfo_rooty() + (parent.winfo_height() - height) // 3
    else:
        left = (window.winfo_screenwidth() - width) // 2
        top = (window.winfo_screenheight() - height) // 3
    left = max(0, min(left, window.winfo_screenwidth() - width))
    top = max(0, min(top, window.winfo_screenheight() - height))
    window.geometry(f"+{left}+{top}")
    window.minsize(min(width, 320), min(height, 160))
    window.deiconify()
    window.lift()


class AutoScrollbar(ttk.Scrollbar):
    """A scrollbar that is there only when there is something to scroll; placed by grid."""

    def set(self, first: Union[float, str], last: Union[float, str]) -> None:
        """Called by what is scrolled: which part of it can be seen."""
        if float(first) <= 0.0 and float(last) >= 1.0:
            self.grid_remove()
        else:
            self.grid()
        super().set(first, last)


# Tcl, and no commands of Python's, which would have to be deleted: the wheel over a widget goes to
# the text that it stands in.
FORWARD = """
bind ClaudeSyncInside <{event}> {{
    apply {{w {{
        while {{[winfo class $w] ne "Text"}} {{set w [winfo parent $w]}}
        event generate $w <{event}> {more}
    }}}} %W
}}
"""


def scroll_with(widget: tkinter.Misc) -> None:
    """Have the wheel over *widget*, and all that is in it, scroll the text that it stands in."""
    for event, more in (("MouseWheel", "-delta %D"), ("Button-4", ""), ("Button-5", "")):
        widget.tk.eval(FORWARD.format(event=event, more=more))
    inside = [widget]
    for each in inside:  # which grows
        inside += each.winfo_children()
        if each.winfo_class() != "Text":  # which scrolls by itself
            each.bindtags((*each.bindtags(), "ClaudeSyncInside"))
