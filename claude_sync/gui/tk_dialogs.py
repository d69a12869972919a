"""
May Claude do this? A window that shows what would happen, and takes the answer.

::

    client.on_permission(tk.PermissionDialog.handler(root))

The window does not hold on to mouse and keyboard: the program's own Stop button stays
usable, and a request that is withdrawn takes its window with it. Decisions taken here and
nowhere else:

* Nothing is allowed by accident: no button has the focus when the window appears, Enter
  allows nothing, and nothing does in the first moment, before one can have read what is
  asked. Escape, and to close the window, is a no.
* A window lasts as long as its request is open, whoever answers it.
"""

from __future__ import annotations

import contextlib
import threading
import tkinter
import weakref
from tkinter import ttk
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

from ..log import logger
from ..permissions import forms
from ..permissions.forms import Line, PermissionForm
from ..permissions.request import Later, PermissionRequest
from .tk_windows import AutoScrollbar, check_widget, show_over, when_destroyed

__all__ = ["Dialog", "PermissionDialog"]

# Milliseconds between two looks whether the request is still open. Usually one is told; a
# client that is no longer attached cannot tell.
LOOK = 250

# The size of a preview, in characters.
WIDTH = 84
MOST_LINES = 24
FEWEST_LINES = 4

HEADING = "claude_sync_heading"

# Tk opens windows on a machine without fonts, and fails with the first letter.
NO_FONTS = (
    "a dialog cannot be shown, since Tk finds no fonts, so the answer is no. Install some (on "
    "Debian and Ubuntu: apt install fonts-dejavu-core)"
)

# Background and foreground, for any theme.
PAPER = ("#ffffff", "#1f2328")
COLOURS = {
    "added": ("#e6ffec", "#116329"),
    "removed": ("#ffebe9", "#a40e26"),
    "hunk": ("#ddf4ff", "#0550ae"),
    "note": ("#ffffff", "#6e7781"),
    "plain": PAPER,
}


class Dialog:
    """
    A window about one request, there until it is answered.

    Attributes:
        form: What it shows and answers.
        window: The window.

    """

    def __init__(
        self,
        parent: tkinter.Misc,
        form: Any,
        on_end: Optional[Callable[[], object]] = None,
    ) -> None:
        self.form = form
        self._on_end = on_end
        self._thread = threading.get_ident()
        owner = parent.winfo_toplevel()
        self.window = tkinter.Toplevel(owner)
        self.window.withdraw()
        self.window.title(form.title)
        self.window.protocol("WM_DELETE_WINDOW", self.close)
        self.window.bind("<Escape>", self._escape)
        when_destroyed(self.window, self._destroyed)
        self._tk: Any = self.window.tk
        self._timer: Any = self._tk.createtimerhandler(LOOK, self._look)
        try:
            body = ttk.Frame(self.window, padding=12)
            body.pack(fill="both", expand=True)
            first = self._build(body)
            show_over(self.window, owner)
            first.focus_set()
        except BaseException as error:
            # The handler fails, which is a no; nothing of the window may stay.
            self._destroy()
            if isinstance(error, tkinter.TclError) and "font" in str(error):
                logger.error("%s", NO_FONTS)
            raise
        # Weakly: what Tk made must not end up in a cycle, which the garbage collector would
        # take apart on any thread.
        withdrawn = weakref.WeakMethod(self._withdrawn)
        form.on_withdrawn(lambda: call_if_there(withdrawn()))

    @property
    def is_open(self) -> bool:
        """Whether the window is there."""
        return self._timer is not None

    def close(self) -> None:
        """Close the window. Without an answer so far that is a no."""
        self._destroy()

    # For subclasses.

    def _build(self, body: ttk.Frame) -> tkinter.Misc:
        """Fill the window; what gets the focus."""
        raise NotImplementedError

    def _refuse(self) -> None:
        """The window is closed without an answer."""
        raise NotImplementedError

    def _escape(self, _: object) -> None:
        self.close()

    # Its end.

    def _withdrawn(self) -> None:
        if threading.get_ident() == self._thread:
            self._destroy()
        # Otherwise the next look finds out: Tk is for its own thread.

    def _look(self) -> None:
        """Whether the request was answered elsewhere, or is no longer open."""
        if self.form.is_open:
            self._timer = self._tk.createtimerhandler(LOOK, self._look)
        else:
            self._destroy()

    def _destroy(self) -> None:
        with contextlib.suppress(tkinter.TclError):  # the application has ended
            self.window.destroy()

    def _destroyed(self) -> None:
        """The window is gone, for whatever reason."""
        timer, self._timer = self._timer, None
        timer.deletetimerhandler()
        self._refuse()
        if self._on_end is not None:
            self._on_end()


def call_if_there(function: Optional[Callable[[], object]]) -> None:
    """Call what a weak reference had, if it still has it."""
    if function is not None:
        function()


class PermissionDialog(Dialog):
    """
    A window that asks whether Claude may use a tool.

    ``PermissionDialog(root, request)`` opens one; the handler has to return
    ``claude_sync.LATER``. :meth:`handler` does both, one request after the other.

    Attributes:
        form: What it shows and answers.
        window: The window.
        preview: The text with what would happen.
        reason: The entry for what Claude is to read after a no.
        allow, edits, always, deny: The buttons; *edits* and *always* are None where the CLI does
            not offer them.
        everything: The button that shows all that is known.

    """

    form: PermissionForm

    def __init__(
        self,
        root: tkinter.Misc,
        request: Union[PermissionRequest, PermissionForm],
        on_end: Optional[Callable[[], object]] = None,
    ) -> None:
        check_widget(root, "PermissionDialog()")
        form = request if isinstance(request, PermissionForm) else PermissionForm(request)
        self._settling: Any = None
        self._allows: List[Any] = []
        super().__init__(root, form, on_end)
        if self.is_open:  # nobody has answered meanwhile
            self._settling = self._tk.createtimerhandler(forms.SETTLING, self._settled)

    @classmethod
    def handler(cls, root: tkinter.Misc) -> Callable[[Any], Later]:
        """
        A handler for ``client.on_permission``, of a client that is attached to Tk.

        Questions, if there is no handler for them, get a :class:`QuestionDialog`.
        """
        from .tk_prompts import handler

        return handler(root, permission=cls)

    def _build(self, body: ttk.Frame) -> tkinter.Misc:
        body.columnconfigure(0, weight=1)
        body.rowconfigure(2, weight=1)
        heading(body, self.form.title).grid(row=0, column=0, sticky="w")
        if self.form.details:
            details = wrapped(body, "\n".join(self.form.details))
            details.grid(row=1, column=0, sticky="w", pady=(4, 0))
        frame, self.preview = preview_of(body, self.form)
        frame.grid(row=2, column=0, sticky="nsew", pady=(8, 8))
        self._build_reason(body).grid(row=3, column=0, sticky="ew")
        meanings = [f"{choice.meaning}." for choice in self.form.choices if choice.meaning]
        if meanings:
            words = wrapped(body, "\n".join(meanings))
            words.grid(row=4, column=0, sticky="w", pady=(8, 0))
        self._build_buttons(body).grid(row=5, column=0, sticky="ew", pady=(12, 0))
        return self.preview

    def _build_reason(self, body: ttk.Frame) -> ttk.Frame:
        row = ttk.Frame(body)
        row.columnconfigure(1, weight=1)
        ttk.Label(row, text=f"{forms.REASON}:").grid(row=0, column=0, padx=(0, 8))
        self.reason = ttk.Entry(row)
        self.reason.grid(row=0, column=1, sticky="ew")
        self.reason.bind("<Return>", lambda _: self._deny())
        return row

    def _build_buttons(self, body: ttk.Frame) -> ttk.Frame:
        row = ttk.Frame(body)
        row.columnconfigure(0, weight=1)
        self.deny = ttk.Button(row, text="Deny", underline=0, command=self._deny)
        self.deny.grid(row=0, column=0, sticky="w")
        self.window.bind("<Alt-d>", lambda _: self._deny())
        self.everything = ttk.Button(row, text=forms.EVERYTHING, command=self._show_everything)
        self.everything.grid(row=0, column=1, padx=(0, 8))
        self.allow = self._allowing(row, "allow", 0)
        self.edits = self._allowing(row, "accept_edits", 10)
        self.always = self._allowing(row, "allow_always", 1)
        self.allow.grid(column=9)
        return row

    def _allowing(self, row: ttk.Frame, name: str, underline: int) -> Any:
        """The button of a choice that lets something run; None where it is not offered."""
        choice = next((each for each in self.form.choices if each.name == name), None)
        if choice is None:
            return None
        label = choice.label

        def press(*_: object) -> None:
            self._answer(name)

        button = ttk.Button(row, text=label, underline=underline, command=press)
        button.grid(row=0, column=row.grid_size()[0], padx=(0, 8))
        self.window.bind(f"<Alt-{label[underline].lower()}>", press)
        button.state(["disabled"])
        self._allows.append(button)
        return button

    def _show_everything(self) -> None:
        """Show all that is known instead of the preview."""
        fill(self.preview, self.form.everything())
        self.everything.state(["disabled"])

    def _settled(self) -> None:
        """The window has been there for a moment: from here on it can be answered."""
        self._settling = None
        for button in self._allows:
            button.state(["!disabled"])

    def _answer(self, name: str) -> None:
        if self._settling is None:
            getattr(self.form, name)()
            self._destroy()

    def _deny(self) -> None:
        self.form.deny(self.reason.get())
        self._destroy()

    def _escape(self, _: object) -> None:
        self._deny()

    def _refuse(self) -> None:
        if self._settling is not None:
            self._settling.deletetimerhandler()
            self._settling = None
        self.form.close()


# Parts of windows.


def heading(parent: tkinter.Misc, text: str) -> ttk.Label:
    """A line that says what this is about."""
    tk: Any = parent.tk
    # A font of Tk's and not of tkinter's, whose objects want to be collected on Tk's thread.
    if HEADING not in tk.splitlist(tk.call("font", "names")):
        like = tk.splitlist(tk.call("font", "actual", "TkDefaultFont"))
        tk.call("font", "create", HEADING, *like, "-weight", "bold")
    return ttk.Label(parent, text=text, font=HEADING, wraplength=600, justify="left")


def wrapped(parent: tkinter.Misc, text: str) -> ttk.Label:
    """A few lines of text."""
    return ttk.Label(parent, text=text, wraplength=600, justify="left")


def preview_of(parent: tkinter.Misc, form: PermissionForm) -> Tuple[ttk.Frame, tkinter.Text]:
    """What would happen: a text with colours that scrolls, and its frame."""
    frame = ttk.Frame(parent)
    frame.columnconfigure(0, weight=1)
    frame.rowconfigure(0, weight=1)
    # Wrapped: behind many blanks, the rest of a line would be where nobody looks.
    text = paper(frame, width=WIDTH, wrap="char")
    rows = sum(1 + len(line.text) // WIDTH for line in form.lines)
    text.configure(height=max(FEWEST_LINES, min(MOST_LINES, rows + 1)))
    for kind, (background, foreground) in COLOURS.items():
        text.tag_configure(kind, background=background, foreground=foreground)
    fill(text, form.lines)
    down = AutoScrollbar(frame, orient="vertical", command=text.yview)
    text.configure(yscrollcommand=down.set)
    text.grid(row=0, column=0, sticky="nsew")
    down.grid(row=0, column=1, sticky="ns")
    return frame, text


def fill(text: tkinter.Text, lines: Sequence[Line]) -> None:
    """Put lines into a text, instead of what is there."""
    text.configure(state="normal")
    text.delete("1.0", "end")
    for line in lines:
        text.insert("end", line.text + "\n", line.kind)
    text.delete("end-1c")
    # The newline that is left is Tk's own: without its tag the last line has colour only as
    # far as it has text.
    text.tag_add(lines[-1].kind, "end-1c", "end")
    text.tag_raise("sel")
    text.configure(state="disabled")


def paper(parent: tkinter.Misc, **options: Any) -> tkinter.Text:
    """A text to read, with letters of one width."""
    background, foreground = PAPER
    return tkinter.Text(
        parent,
        font="TkFixedFont",
        background=background,
        foreground=foreground,
        relief="flat",
        highlightthickness=1,
        highlightbackground="#d0d7de",
        highlightcolor="#0969da",
        padx=8,
        pady=6,
        **options,
    )
