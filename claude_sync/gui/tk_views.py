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

from ..errors import UsageError
from ..permissions import forms
from ..permissions.forms import Line, PermissionForm, QuestionField, QuestionForm, shown_text
from ..render.rows import Colour, colours
from .tk_windows import AutoScrollbar, ScrollArea, nothing, when_destroyed

__all__ = ["Choices", "PermissionView", "QuestionsView", "RequestView", "colours_of", "view_of"]

# The size of a preview, in characters.
WIDTH = 84
MOST_LINES = 24
FEWEST_LINES = 4

HEADING = "claude_sync_heading"

# What stands for words of one's own among the numbers of the options.
OTHER = -1

NUMBERS = itertools.count(1)

# So many lines are drawn at most, however large the letters are: a window that is higher than
# displays can draw is an error that ends the program. And how much fits on a line at least.
MOST_ROWS = 400
COLUMNS = 40
# The most lines of an option's preview.
MOST_PREVIEW = 12


class RequestView:
    """
    What is asked, and the buttons that answer it.

    Attributes:
        form: What it shows and answers.
        look: What the names of the styles of its widgets begin with.
        frame: All of its widgets.
        first: What gets the focus.
        keys: What keys do, where the window has no others.

    """

    def __init__(
        self, parent: tkinter.Misc, form: Any, answered: Callable[[], object], look: str = ""
    ) -> None:
        self.form = form
        self.look = look
        self._answered = answered
        self.keys: Dict[str, Callable[..., object]] = {}
        self.frame = ttk.Frame(parent, padding=12, style=f"{look}TFrame")
        self.first: tkinter.Misc = self.frame
        self.frame.columnconfigure(0, weight=1)
        heading(self.frame, form.title, look).grid(row=0, column=0, sticky="w")
        when_destroyed(self.frame, self._forget)

    def settle(self, verb: str, *arguments: Any) -> None:
        """Answer by a verb of the form."""
        answered = self._answered
        getattr(self.form, verb)(*arguments)
        answered()

    def _forget(self) -> None:
        """The widgets are gone: no cycle stays, which the garbage collector would find."""
        self._answered = nothing
        self.keys.clear()


class PermissionView(RequestView):
    """
    May Claude use this tool? What would happen, and the choices.

    Attributes:
        preview: The text with what would happen.
        reason: The entry for what Claude is to read after a no.
        allow, edits, always, deny: The buttons; *edits* and *always* are None where the CLI does
            not offer them.
        everything: The button that shows all that is known.

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
        self._allows: List[Any] = []
        body = self.frame
        body.rowconfigure(2, weight=1)
        if form.details:
            details = wrapped(body, "\n".join(form.details), look)
            details.grid(row=1, column=0, sticky="w", pady=(4, 0))
        frame, self.preview = preview_of(body, form)
        self.first = self.preview
        frame.grid(row=2, column=0, sticky="nsew", pady=(8, 8))
        self._build_reason(body).grid(row=3, column=0, sticky="ew")
        meanings = [f"{choice.meaning}." for choice in form.choices if choice.meaning]
        if meanings:
            words = wrapped(body, "\n".join(meanings), look)
            words.grid(row=4, column=0, sticky="w", pady=(8, 0))
        self._build_buttons(body).grid(row=5, column=0, sticky="ew", pady=(12, 0))

    def begin(self) -> None:
        """It can be seen: from a moment later on it can be answered."""
        tk: Any = self.frame.tk
        self._settling = tk.createtimerhandler(forms.SETTLING, self._settled)

    def _build_reason(self, body: ttk.Frame) -> ttk.Frame:
        row = ttk.Frame(body, style=f"{self.look}TFrame")
        row.columnconfigure(1, weight=1)
        label = ttk.Label(row, text=f"{forms.REASON}:", style=f"{self.look}TLabel")
        label.grid(row=0, column=0, padx=(0, 8))
        self.reason = ttk.Entry(row, style=f"{self.look}TEntry")
        self.reason.grid(row=0, column=1, sticky="ew")
        self.reason.bind("<Return>", lambda _: self.refuse())
        return row

    def _build_buttons(self, body: ttk.Frame) -> ttk.Frame:
        row = ttk.Frame(body, style=f"{self.look}TFrame")
        row.columnconfigure(0, weight=1)
        style = f"{self.look}TButton"
        self.deny = ttk.Button(row, text="Deny", underline=0, command=self.refuse, style=style)
        self.deny.grid(row=0, column=0, sticky="w")
        self.keys["<Alt-d>"] = lambda _: self.refuse()
        self.everything = ttk.Button(
            row, text=forms.EVERYTHING, command=self._show_everything, style=style
        )
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
            if not self._allows[0].instate(["disabled"]):
                self.settle(name)

        style = f"{self.look}TButton" if name != "allow" else strong_style(self.look)
        button = ttk.Button(row, text=label, underline=underline, command=press, style=style)
        button.grid(row=0, column=row.grid_size()[0], padx=(0, 8))
        self.keys[f"<Alt-{label[underline].lower()}>"] = press
        button.state(["disabled"])
        self._allows.append(button)
        return button

    def _show_everything(self) -> None:
        """Show all that is known instead of the preview."""
        fill(self.preview, self.form.everything())
        self.everything.state(["disabled"])

    def _settled(self) -> None:
        self._settling = None
        for button in self._allows:
            button.state(["!disabled"])

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
        answer, decline: The buttons.

    """

    form: QuestionForm

    def __init__(
        self,
        parent: tkinter.Misc,
        form: QuestionForm,
        answered: Callable[[], object],
        look: str = "",
        scrolls: bool = False,
    ) -> None:
        if sum(map(rows_of, form.fields)) > MOST_ROWS:
            raise UsageError(
                f"{len(form.fields)} questions with all their options are more than a window has "
                "room for. Answer them in a handler of your own."
            )
        self.fields: List[Choices] = []
        super().__init__(parent, form, answered, look)
        body = self.frame
        body.rowconfigure(1, weight=1)
        area = ScrollArea(body) if scrolls else None
        content = area.content if area is not None else ttk.Frame(body, style=f"{look}TFrame")
        place = area.frame if area is not None else content
        place.grid(row=1, column=0, sticky="nsew", pady=(8, 0))
        for field in form.fields:
            choices = Choices(content, field, self._changed, self.send, look)
            choices.frame.pack(fill="x", pady=(0, 10))
            self.fields.append(choices)
        buttons = ttk.Frame(body, style=f"{look}TFrame")
        buttons.grid(row=2, column=0, sticky="ew", pady=(4, 0))
        buttons.columnconfigure(0, weight=1)
        self.decline = ttk.Button(
            buttons,
            text="Decline",
            command=lambda: self.settle("decline"),
            style=f"{look}TButton",
        )
        self.decline.grid(row=0, column=0, sticky="w")
        self.answer = ttk.Button(
            buttons, text="Answer", command=self.send, style=strong_style(look)
        )
        self.answer.grid(row=0, column=1)
        self._changed()

    def begin(self) -> None:
        """It can be seen; nothing can be answered by accident."""

    def _changed(self) -> None:
        """Something was chosen: the answers can be sent once none is missing."""
        self.answer.state(["disabled" if self.form.missing() is not None else "!disabled"])

    def send(self) -> None:
        """Send the answers, if none is missing."""
        if self.form.missing() is None:
            self.settle("answer")

    def _forget(self) -> None:
        for choices in self.fields:
            choices.forget()
        super()._forget()


def view_of(
    parent: tkinter.Misc,
    form: Any,
    answered: Callable[[], object],
    look: str = "",
    scrolls: bool = False,
) -> Union[PermissionView, QuestionsView]:
    """The view of a form."""
    if isinstance(form, QuestionForm):
        return QuestionsView(parent, form, answered, look, scrolls)
    return PermissionView(parent, form, answered, look)


def strong_style(look: str) -> str:
    """The style of the button that stands out, where there is one."""
    return f"{look}Strong.TButton" if look else "TButton"


def rows_of(field: QuestionField) -> int:
    """How many lines a question takes at most, with its options."""
    texts = [field.text, *(text for option in field.options for text in option)]
    return sum(1 + len(line) // COLUMNS for text in texts for line in text.split("\n"))


class Choices:
    """
    The widgets of one question.

    Attributes:
        frame: All of them.
        buttons: One for each option, then the one for other answers.
        other: The entry for words of one's own.

    """

    def __init__(
        self,
        parent: tkinter.Misc,
        field: QuestionField,
        changed: Callable[[], object],
        finish: Callable[[], object],
        look: str = "",
    ) -> None:
        self._look = look
        self._field = field
        self._told = changed
        # Variables of Tk's and not of tkinter's: see HEADING. All buttons share the first.
        self._name = f"claude_sync_choice_{next(NUMBERS)}"
        title = field.title or "Question"
        self.frame = ttk.LabelFrame(parent, text=title, padding=8, style=f"{look}TLabelframe")
        self.frame.columnconfigure(0, weight=1)
        wrapped(self.frame, field.text, look).grid(sticky="w", pady=(0, 4))
        self.buttons: List[Union[ttk.Radiobutton, ttk.Checkbutton]] = []
        for number, (label, description) in enumerate(field.options):
            self._add_button(self.frame, label, number).grid(sticky="w")
            if description:
                about = wrapped(self.frame, description, look)
                about.grid(sticky="w", padx=(24, 0), pady=(0, 2))
        self._build_other(finish)
        self._preview: Optional[tkinter.Text] = None
        if any(option.preview for option in field.question.options):
            self._preview = paper(self.frame, height=MOST_PREVIEW, width=60, state="disabled")
            self._preview.grid(sticky="ew", pady=(6, 0))

    def _add_button(
        self, parent: tkinter.Misc, label: str, number: int
    ) -> Union[ttk.Radiobutton, ttk.Checkbutton]:
        button: Union[ttk.Radiobutton, ttk.Checkbutton]
        if self._field.is_multiple:
            name = f"{self._name}_{len(self.buttons)}"
            parent.setvar(name, "0")
            button = ttk.Checkbutton(
                parent,
                text=label,
                variable=name,  # type: ignore[arg-type]
                command=lambda: self._chosen(number, parent.getvar(name) in ("1", 1, True)),
                style=f"{self._look}TCheckbutton",
            )
        else:
            parent.setvar(self._name, "")
            button = ttk.Radiobutton(
                parent,
                text=label,
                variable=self._name,  # type: ignore[arg-type]
                value=str(number),
                command=lambda: self._chosen(number, True),
                style=f"{self._look}TRadiobutton",
            )
        self.buttons.append(button)
        return button

    def _build_other(self, finish: Callable[[], object]) -> None:
        row = ttk.Frame(self.frame, style=f"{self._look}TFrame")
        row.grid(sticky="ew")
        row.columnconfigure(1, weight=1)
        label = "Other:" if self._field.options else "Answer:"
        self._add_button(row, label, OTHER).grid(row=0, column=0, padx=(0, 8))
        self.other = ttk.Entry(row, validate="key", style=f"{self._look}TEntry")
        self.other.configure(validatecommand=(self.other.register(self._written), "%P"))
        self.other.grid(row=0, column=1, sticky="ew")
        self.other.bind("<Return>", lambda _: finish())

    def _chosen(self, number: int, is_chosen: bool) -> None:
        if number == OTHER:
            # Without the mark, what is written there is no answer; with it, it is one.
            self._field.chosen = self._field.chosen if self._field.is_multiple else ()
            self._field.write(self.other.get() if is_chosen else "")
            if is_chosen:
                self.other.focus_set()
        else:
            self._field.choose(number, is_chosen)
            self._show_preview(number)
        self._told()

    def _written(self, text: str) -> bool:
        """Somebody writes: that is the answer, or one of them. Any text will do."""
        if self._field.is_multiple:
            self.frame.setvar(f"{self._name}_{len(self.buttons) - 1}", str(int(bool(text.strip()))))
        elif text.strip():
            self.frame.setvar(self._name, str(OTHER))
        self._field.write(text)
        self._told()
        return True

    def _show_preview(self, number: int) -> None:
        if self._preview is not None:
            text = shown_text(self._field.question.options[number].preview or "")
            self._preview.configure(state="normal")
            self._preview.delete("1.0", "end")
            self._preview.insert("1.0", text)
            self._preview.configure(state="disabled")

    def forget(self) -> None:
        """The window is gone: let go of it, and of the variables."""
        self._told = nothing  # no cycle, which the garbage collector would have to find
        tk: Any = self.frame.tk
        names = [self._name, *(f"{self._name}_{number}" for number in range(len(self.buttons)))]
        for name in names:
            tk.call("unset", "-nocomplain", f"::{name}")


# Parts.


def heading(parent: tkinter.Misc, text: str, look: str = "") -> ttk.Label:
    """A line that says what this is about."""
    tk: Any = parent.tk
    # A font of Tk's and not of tkinter's, whose objects want to be collected on Tk's thread.
    if HEADING not in tk.splitlist(tk.call("font", "names")):
        like = tk.splitlist(tk.call("font", "actual", "TkDefaultFont"))
        tk.call("font", "create", HEADING, *like, "-weight", "bold")
    style = f"{look}TLabel"
    return ttk.Label(parent, text=text, font=HEADING, wraplength=600, justify="left", style=style)


def wrapped(parent: tkinter.Misc, text: str, look: str = "") -> ttk.Label:
    """A few lines of text."""
    style = f"{look}TLabel"
    return ttk.Label(parent, text=text, wraplength=600, justify="left", style=style)


def preview_of(parent: tkinter.Misc, form: PermissionForm) -> Tuple[ttk.Frame, tkinter.Text]:
    """What would happen: a text with colours that scrolls, and its frame."""
    frame = ttk.Frame(parent)
    frame.columnconfigure(0, weight=1)
    frame.rowconfigure(0, weight=1)
    # Wrapped: behind many blanks, the rest of a line would be where nobody looks.
    text = paper(frame, width=WIDTH, wrap="char")
    rows = sum(1 + len(line.text) // WIDTH for line in form.lines)
    text.configure(height=max(FEWEST_LINES, min(MOST_LINES, rows + 1)))
    known = colours_of(text)
    for kind in ("added", "removed", "hunk"):
        text.tag_configure(kind, background=known[kind])
    text.tag_configure("note", foreground=known["note"])
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
    text = tkinter.Text(
        parent,
        font="TkFixedFont",
        relief="flat",
        highlightthickness=1,
        padx=8,
        pady=6,
        **options,
    )
    known = colours_of(text)
    text.configure(
        background=known["back"],
        foreground=known["text"],
        highlightbackground=known["edge"],
        highlightcolor=known["accent"],
    )
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
