"""
What every window of ours needs of Tk: checks, its end, its place, and scrollbars.
"""

from __future__ import annotations

import itertools
import tkinter
from tkinter import ttk
from typing import Any, Callable, Union

from ..errors import UsageError
from ..log import logger

__all__ = [
    "AutoScrollbar",
    "ScrollArea",
    "check_widget",
    "refuse_other_threads",
    "show_over",
    "when_destroyed",
]

# How much of the screen a dialog may fill.
MOST_OF_SCREEN = 0.7
# How far a turn of the wheel goes, in steps of a scrollbar's arrows; and how much is seen above
# what was scrolled to, in pixels.
WHEEL = 1
MARGIN = 40

NUMBERS = itertools.count(1)


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
        tk.createtimerhandler(0, nothing).deletetimerhandler()
    except RuntimeError:
        raise UsageError(
            f"{what} is called on another thread than the one that made the window. Call it "
            "there; handlers run there once claude_sync.gui.tk.attach(client, root) was called."
        ) from None


def nothing() -> None:
    """Do nothing."""


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


class ScrollArea:
    """
    A frame whose content may be higher than the screen; the only one of its window.

    The wheel scrolls it wherever the mouse is in the window, and what gets the focus is seen.

    Attributes:
        frame: The frame.
        content: Where the content goes.

    """

    def __init__(self, parent: tkinter.Misc) -> None:
        self.frame = ttk.Frame(parent)
        background = ttk.Style(parent).lookup("TFrame", "background") or "#d9d9d9"
        self._canvas = tkinter.Canvas(self.frame, highlightthickness=0, background=background)
        bar = AutoScrollbar(self.frame, orient="vertical", command=self._canvas.yview)
        self._canvas.configure(yscrollcommand=bar.set)
        self._canvas.grid(row=0, column=0, sticky="nsew")
        bar.grid(row=0, column=1, sticky="ns")
        self.frame.columnconfigure(0, weight=1)
        self.frame.rowconfigure(0, weight=1)
        self.content = ttk.Frame(self._canvas)
        self._item = self._canvas.create_window(0, 0, anchor="nw", window=self.content)
        self.content.bind("<Configure>", self._fit)
        self._canvas.bind("<Configure>", self._widen)
        window = self.frame.winfo_toplevel()
        # The buttons are the wheel where X11 draws; the others have an event of its own.
        for event in ("<MouseWheel>", "<Button-4>", "<Button-5>"):
            window.bind(event, self._wheel)
        window.bind("<FocusIn>", self._show)

    def _fit(self, _: object) -> None:
        """The content has another size."""
        width, height = self.content.winfo_reqwidth(), self.content.winfo_reqheight()
        self._canvas.configure(
            width=min(width, int(self.frame.winfo_screenwidth() * MOST_OF_SCREEN)),
            height=min(height, int(self.frame.winfo_screenheight() * MOST_OF_SCREEN)),
            scrollregion=(0, 0, 0, height),
        )

    def _widen(self, event: tkinter.Event[Any]) -> None:
        """The window has another size: the content is as wide as it."""
        self._canvas.itemconfigure(self._item, width=event.width)

    def _wheel(self, event: tkinter.Event[Any]) -> None:
        """The wheel was turned; texts scroll by themselves."""
        if not isinstance(event.widget, tkinter.Text):
            up = event.num == 4 or event.delta > 0
            self._canvas.yview_scroll(-WHEEL if up else WHEEL, "units")

    def _show(self, event: tkinter.Event[Any]) -> None:
        """Something has the focus: scroll to it, if it is inside and cannot be seen."""
        widget, height = event.widget, self.content.winfo_height()
        if not str(widget).startswith(f"{self.content}.") or height <= 0:
            return
        top = widget.winfo_rooty() - self.content.winfo_rooty()
        bottom = top + widget.winfo_height()
        first = self._canvas.canvasy(0)
        if top < first or bottom > first + self._canvas.winfo_height():
            self._canvas.yview_moveto(max(0, top - MARGIN) / height)
