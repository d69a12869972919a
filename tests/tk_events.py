"""Real events for Tk's widgets, as a mouse and a keyboard make them."""

from __future__ import annotations


def click(widget):
    """Press and release the left button in the middle of a widget."""
    widget.update()
    x, y = widget.winfo_width() // 2, widget.winfo_height() // 2
    widget.event_generate("<Enter>", x=x, y=y)
    widget.event_generate("<Motion>", x=x, y=y)
    widget.event_generate("<ButtonPress-1>", x=x, y=y)
    if widget.winfo_exists():
        widget.event_generate("<ButtonRelease-1>", x=x, y=y)


def press(widget, *keys):
    """Press keys while a widget has the focus."""
    widget.focus_force()
    widget.update()
    for key in keys:
        if widget.winfo_exists():
            widget.event_generate(f"<{key}>")


def write(widget, text):
    """Write into an entry."""
    names = {" ": "space"}
    press(widget, *(f"Key-{names.get(letter, letter)}" for letter in text))
