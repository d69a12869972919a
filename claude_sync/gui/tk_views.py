"""
What a person is asked, as widgets of Tk: inside of dialogs, and of conversations.

::

    request -> form -> [view] -> form -> answer

Nothing is allowed by accident: Enter allows nothing, and nothing does in the first moment,
before one can have read what is asked. Each question can be answered in words of one's own;
the answers go out together, once every question has one.
"""

from __future__ import annotations

import itertools
import tkinter
from tkinter import ttk
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from ..errors import ClaudeError, UsageError
from ..log import logger
from ..permissions import forms
from ..permissions.forms import Line, PermissionForm, QuestionField, QuestionForm, shown_text
from ..render.rows import Colour, colours
from .dialogs import KEYS
from .tk_windows import AutoScrollbar, when_destroyed

__all__ = ["Choices", "PermissionView", "QuestionsView", "RequestView", "colours_of", "view_of"]

# The size of a preview, in characters, and how many lines that of an option has.
WIDTH = 84
MOST_LINES = 24
FEWEST_LINES = 4
OPTION_LINES = 12
# How wide texts are, in pixels, and how much of the screen questions may take.
WRAP = 600
MOST_OF_SCREEN = 0.6
# How much is seen above what was scrolled to, in pixels.
MARGIN = 40
# A window that is higher than displays can draw is an error that ends the program.
MOST_OPTIONS = 80

HEADING = "claude_sync_heading"
NUMBERS = itertools.count(1)


class RequestView:
    """
    What is asked, and the buttons that answer it.

    Attributes:
        form: What it shows and answers.
        frame: All of its widgets.
        buttons: By what they do: ``allow``, ``deny``, ``answer``, ``decline``, ...
        first: What gets the focus.
        keys: What keys do, where the window has no others.

    """

    def __init__(
        self, parent: tkinter.Misc, form: Any, answered: Callable[[], object], look: str
    ) -> None:
        """*look*: what the names of the styles of its widgets begin with."""
        self.form = form
        self._look = look
        self._answered = answered
        self.frame = ttk.Frame(parent, padding=12, style=f"{look}TFrame")
        self.first: tkinter.Misc = self.frame
        self.buttons: Dict[str, ttk.Button] = {}
        self.keys: Dict[str, Callable[..., object]] = {}
        self._message = self._words("")
        self._words(form.title, heading_font(self.frame)).pack(anchor="w")
        self._row = ttk.Frame(self.frame, style=f"{look}TFrame")
        self._row.pack(side="bottom", fill="x", pady=(12, 0))
        when_destroyed(self.frame, self._forget)

    def _words(self, text: str, font: str = "TkDefaultFont") -> ttk.Label:
        return words(self.frame, text, self._look, font)

    def _button(self, name: str, label: str, press: Callable[[], object], side: str) -> None:
        strong = "Strong." if self._look and name in ("allow", "answer") else ""
        made = ttk.Button(self._row, text=label, style=f"{self._look}{strong}TButton")
        made.configure(command=press)
        if name in KEYS:
            made.configure(underline=label.index(KEYS[name]))
            self.keys[f"<Alt-{KEYS[name].lower()}>"] = lambda _: made.invoke()
        padx = (0, 8) if side == "left" else (8, 0)
        made.pack(side=side, padx=padx)  # type: ignore[arg-type]
        self.buttons[name] = made

    def settle(self, name: str, *arguments: Any) -> None:
        """Answer by a verb of the form; an answer that is none is told instead, if it can be."""
        answered = self._answered
        try:
            getattr(self.form, name)(*arguments)
        except ClaudeError as error:
            logger.warning("a dialog could not answer: %s", error)
            if self.form.is_open:
                self._message.configure(text=str(error))
                self._message.pack(anchor="w", before=self._row)
                return
        answered()

    def begin(self) -> None:
        """It can be seen."""

    def _forget(self) -> None:
        """The widgets are gone: no cycle stays, which the garbage collector would find."""
        self._answered = int
        self.keys.clear()


class PermissionView(RequestView):
    """
    May Claude use this tool? What would happen, and the choices.

    Attributes:
        preview: The text with what would happen.
        reason: The entry for what Claude is to read after a no.

    """

    form: PermissionForm

    def __init__(
        self,
        parent: tkinter.Misc,
        form: PermissionForm,
        answered: Callable[[], object],
        look: str = "",
    ) -> None:
        super().__init__(parent, form, answered, look)
        self._settling: Any = None
        if form.details:
            self._words("\n".join(form.details)).pack(anchor="w", pady=(4, 0))
        frame, self.preview = preview_of(self.frame, form)
        self.first = self.preview
        frame.pack(fill="both", expand=True, pady=8)
        row = ttk.Frame(self.frame, style=f"{look}TFrame")
        ttk.Label(row, text=f"{forms.REASON}:", style=f"{look}TLabel").pack(side="left")
        self.reason = ttk.Entry(row, style=f"{look}TEntry")
        self.reason.pack(side="left", fill="x", expand=True, padx=(8, 0))
        self.reason.bind("<Return>", lambda _: self.refuse())
        row.pack(fill="x")
        for choice in form.choices:
            if choice.meaning:
                self._words(f"{choice.meaning}.").pack(anchor="w", pady=(8, 0))
        self._button("deny", "Deny", self.refuse, "left")
        self.keys["<Escape>"] = lambda _: self.refuse()
        # What stands first is what is most likely wanted: at the right end.
        for choice in form.choices:
            if choice.allows:
                self._add(choice.name, choice.label)
        self._button("everything", forms.EVERYTHING, self._show_everything, "right")

    def _add(self, name: str, label: str) -> None:
        self._button(name, label, lambda: self.settle(name), "right")
        self.buttons[name].state(["disabled"])

    def begin(self) -> None:
        """It can be seen: from a moment later on it can be answered."""
        tk: Any = self.frame.tk
        self._settling = tk.createtimerhandler(forms.SETTLING, self._settled)

    def _settled(self) -> None:
        self._settling = None
        for choice in self.form.choices:
            self.buttons[choice.name].state(["!disabled"])

    def _show_everything(self) -> None:
        """Show all that is known instead of the preview."""
        fill(self.preview, self.form.everything())
        self.buttons["everything"].state(["disabled"])

    def refuse(self) -> None:
        """Deny, for the reason that was written."""
        self.settle("deny", self.reason.get())

    def _forget(self) -> None:
        if self._settling is not None:
            self._settling.deletetimerhandler()
            self._settling = None
        super()._forget()


class QuestionsView(RequestView):
    """
    Claude asks the person something: choices, and room for other answers.

    Attributes:
        fields: The widgets of each question, :class:`Choices`.

    """

    form: QuestionForm

    def __init__(
        self,
        parent: tkinter.Misc,
        form: QuestionForm,
        answered: Callable[[], object],
        look: str = "",
    ) -> None:
        if sum(len(field.options) + 2 for field in form.fields) > MOST_OPTIONS:
            raise UsageError(
                f"{len(form.fields)} questions with all their options are more than a window has "
                "room for. Answer them in a handler of your own."
            )
        super().__init__(parent, form, answered, look)
        self._button("decline", forms.DECLINE, lambda: self.settle("decline"), "left")
        self._button("answer", "Answer", self.send, "right")
        if look:  # inside of a conversation, which scrolls
            frame = content = ttk.Frame(self.frame, style=f"{look}TFrame")
        else:
            frame, content = scrolled(self.frame)
        frame.pack(fill="both", expand=True, pady=(8, 0))
        self.fields: List[Choices] = []
        for field in form.fields:
            self.fields.append(Choices(content, field, self._changed, self.send, look))
        self.keys["<Escape>"] = lambda _: self.settle("decline")

    def _changed(self) -> None:
        """Something was chosen: the answers can be sent once none is missing."""
        is_missing = self.form.missing() is not None
        self.buttons["answer"].state(["disabled" if is_missing else "!disabled"])

    def send(self) -> None:
        """Send the answers, if none is missing."""
        if self.form.missing() is None:
            self.settle("answer")

    def _forget(self) -> None:
        for choices in self.fields:
            choices.forget()
        super()._forget()


def view_of(
    parent: tkinter.Misc, form: Any, answered: Callable[[], object], look: str = ""
) -> Union[PermissionView, QuestionsView]:
    """The view of a form."""
    if isinstance(form, QuestionForm):
        return QuestionsView(parent, form, answered, look)
    return PermissionView(parent, form, answered, look)


class Choices:
    """
    The widgets of one question.

    Attributes:
        frame: All of them.
        buttons: One for each option.
        other: The entry for words of one's own.
        preview: What the option that was chosen last looks like; None if none shows that.

    """

    def __init__(
        self,
        parent: tkinter.Misc,
        field: QuestionField,
        changed: Callable[[], object],
        finish: Callable[[], object],
        look: str,
    ) -> None:
        self._field = field
        self._told = changed
        # Variables of Tk's and not of tkinter's: see heading_font().
        self._name = f"claude_sync_choice_{next(NUMBERS)}_"
        self.frame = ttk.LabelFrame(
            parent, text=field.title or "Question", padding=8, style=f"{look}TLabelframe"
        )
        self.frame.pack(fill="x", pady=(0, 10))
        words(self.frame, field.text, look).pack(anchor="w", pady=(0, 4))
        self.buttons: List[Any] = []
        kind: Any = ttk.Checkbutton if field.is_multiple else ttk.Radiobutton
        for number, (label, description) in enumerate(field.options):
            made = kind(self.frame, text=label, style=f"{look}T{kind.__name__}")
            made.configure(variable=f"{self._name}{number}")
            made.configure(command=lambda number=number: self._choose(number))
            if not field.is_multiple:
                made.configure(value="1")
            made.pack(anchor="w")
            self.buttons.append(made)
            if description:
                words(self.frame, description, look).pack(anchor="w", padx=(24, 0), pady=(0, 2))
        row = ttk.Frame(self.frame, style=f"{look}TFrame")
        row.pack(fill="x", pady=(4, 0))
        label = f"{forms.OWN_WORDS}:" if field.options else "Answer:"
        ttk.Label(row, text=label, style=f"{look}TLabel").pack(side="left", padx=(0, 8))
        self.other = ttk.Entry(row, validate="key", style=f"{look}TEntry")
        self.other.configure(validatecommand=(self.other.register(self._write), "%P"))
        self.other.pack(side="left", fill="x", expand=True)
        self.other.bind("<Return>", lambda _: finish())
        self.preview: Optional[tkinter.Text] = None
        if any(option.preview for option in field.question.options):
            self.preview = paper(self.frame, height=OPTION_LINES, width=60, state="disabled")
            self.preview.pack(fill="x", pady=(6, 0))
        self._show()

    def _choose(self, number: int) -> None:
        is_marked = self.frame.getvar(f"{self._name}{number}") in ("1", 1, True)
        self._field.choose(number, is_marked or not self._field.is_multiple)
        if self.preview is not None:
            text = shown_text(self._field.question.options[number].preview or "")
            fill(self.preview, [Line("plain", line) for line in text.split("\n")])
        if self.other.get() != self._field.other:
            self.other.delete(0, "end")
        self._show()

    def _write(self, text: str) -> bool:
        """Somebody writes: that is the answer, or one of them. Any text will do."""
        if text or self._field.other:
            self._field.write(text)
            self._show()
        return True

    def _show(self) -> None:
        """The form decides what is marked, so that an answer of one's own counts, too."""
        for number in range(len(self.buttons)):
            mark = str(int(number in self._field.chosen))
            self.frame.setvar(f"{self._name}{number}", mark)
        self._told()

    def forget(self) -> None:
        """The window is gone: let go of it, and of the variables."""
        self._told = int  # no cycle, which the garbage collector would have to find
        tk: Any = self.frame.tk
        for number in range(len(self.buttons)):
            tk.call("unset", "-nocomplain", f"::{self._name}{number}")


# Parts.


def heading_font(widget: tkinter.Misc) -> str:
    """The font of a heading."""
    tk: Any = widget.tk
    # A font of Tk's and not of tkinter's, whose objects want to be collected on Tk's thread.
    if HEADING not in tk.splitlist(tk.call("font", "names")):
        like = tk.splitlist(tk.call("font", "actual", "TkDefaultFont"))
        tk.call("font", "create", HEADING, *like, "-weight", "bold")
    return HEADING


def words(parent: tkinter.Misc, text: str, look: str, font: str = "TkDefaultFont") -> ttk.Label:
    """A few lines of text."""
    style = f"{look}TLabel"
    return ttk.Label(parent, text=text, font=font, wraplength=WRAP, justify="left", style=style)


def scrolled(parent: tkinter.Misc) -> Tuple[ttk.Frame, ttk.Frame]:
    """A frame that scrolls what is higher than the screen allows, and where its content goes."""
    frame = ttk.Frame(parent)
    ground = ttk.Style(parent).lookup("TFrame", "background") or "#d9d9d9"
    canvas = tkinter.Canvas(frame, highlightthickness=0, background=ground)
    bar = AutoScrollbar(frame, orient="vertical", command=canvas.yview)
    canvas.configure(yscrollcommand=bar.set)
    canvas.grid(row=0, column=0, sticky="nsew")
    bar.grid(row=0, column=1, sticky="ns")
    frame.columnconfigure(0, weight=1)
    frame.rowconfigure(0, weight=1)
    content = ttk.Frame(canvas)
    item = canvas.create_window(0, 0, anchor="nw", window=content)

    def fit(_: object) -> None:
        width, height = content.winfo_reqwidth(), content.winfo_reqheight()
        most = int(frame.winfo_screenheight() * MOST_OF_SCREEN)
        canvas.configure(width=width, height=min(height, most), scrollregion=(0, 0, 0, height))

    def wheel(event: tkinter.Event[Any]) -> None:
        if not isinstance(event.widget, tkinter.Text):
            canvas.yview_scroll(-1 if event.num == 4 or event.delta > 0 else 1, "units")

    def show(event: tkinter.Event[Any]) -> None:
        """What has the focus is seen."""
        top, first = event.widget.winfo_rooty() - content.winfo_rooty(), canvas.canvasy(0)
        bottom = top + event.widget.winfo_height()
        is_seen = first <= top and bottom <= first + canvas.winfo_height()
        if str(event.widget).startswith(f"{content}.") and not is_seen:
            canvas.yview_moveto(max(0, top - MARGIN) / content.winfo_height())

    content.bind("<Configure>", fit)
    canvas.bind("<Configure>", lambda event: canvas.itemconfigure(item, width=event.width))
    window = frame.winfo_toplevel()
    # The buttons are the wheel where X11 draws; the others have an event of its own.
    for name in ("<MouseWheel>", "<Button-4>", "<Button-5>"):
        window.bind(name, wheel)
    window.bind("<FocusIn>", show)
    return frame, content


def preview_of(parent: tkinter.Misc, form: PermissionForm) -> Tuple[ttk.Frame, tkinter.Text]:
    """What would happen: a text with colours that scrolls, and its frame."""
    frame = ttk.Frame(parent)
    frame.columnconfigure(0, weight=1)
    frame.rowconfigure(0, weight=1)
    # Wrapped: behind many blanks, the rest of a line would be where nobody looks.
    text = paper(frame, width=WIDTH, wrap="char")
    rows = sum(1 + len(line.text) // WIDTH for line in form.lines)
    text.configure(height=max(FEWEST_LINES, min(MOST_LINES, rows + 1)))
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
    known = colours_of(parent)
    text = tkinter.Text(parent, font="TkFixedFont", relief="flat", padx=8, pady=6, **options)
    text.configure(background=known["back"], foreground=known["text"], highlightthickness=1)
    text.configure(highlightbackground=known["edge"], highlightcolor=known["accent"])
    for kind in ("added", "removed", "hunk"):
        text.tag_configure(kind, background=known[kind])
    text.tag_configure("note", foreground=known["note"])
    return text


def colours_of(widget: tkinter.Misc) -> Dict[str, str]:
    """
    The colours of a chat that fit to the program: to its theme, light or dark.

    What is written on is white in a light theme, and as the theme is in a dark one.
    """
    style = ttk.Style(widget)
    ground = rgb(widget, style.lookup(".", "background") or "#d9d9d9")
    is_dark = sum(ground) < 3 * 128
    accent = rgb(widget, "#6ea8fe" if is_dark else "#1f6feb")
    back, text = (ground, (236, 239, 242)) if is_dark else ((255, 255, 255), (31, 35, 40))
    return colours(back, text, accent)


def rgb(widget: tkinter.Misc, colour: Any) -> Colour:
    """A colour of Tk's as three numbers."""
    red, green, blue = widget.winfo_rgb(str(colour))
    return red >> 8, green >> 8, blue >> 8
