"""
Claude asks the person something: a window with its questions and their options.

::

    client.on_question(tk.QuestionDialog.handler(root))

Each question can be answered in words of one's own. The answers go out together, once
every question has one; Escape, and to close the window, declines.
"""

from __future__ import annotations

import itertools
import tkinter
from tkinter import ttk
from typing import Any, Callable, List, Optional, Union

from ..errors import UsageError
from ..permissions.forms import QuestionField, QuestionForm, shown_text
from ..permissions.request import Later, Questions
from .tk_dialogs import Dialog, heading, paper, wrapped
from .tk_windows import ScrollArea, check_widget, nothing

__all__ = ["QuestionDialog"]

# What stands for words of one's own among the numbers of the options.
OTHER = -1

NUMBERS = itertools.count(1)

# So many lines are drawn at most, however large the letters are: a window that is higher than
# displays can draw is an error that ends the program. And how much fits on a line at least.
MOST_ROWS = 400
COLUMNS = 40
# The most lines of an option's preview.
MOST_LINES = 12


class QuestionDialog(Dialog):
    """
    A window with the questions of Claude: choices, and room for other answers.

    ``QuestionDialog(root, questions)`` opens one; the handler has to return
    ``claude_sync.LATER``. :meth:`handler` does both, one after the other.

    Attributes:
        form: What it shows and answers.
        window: The window.
        fields: The widgets of each question, :class:`Choices`.
        answer, decline: The buttons.

    """

    form: QuestionForm

    def __init__(
        self,
        root: tkinter.Misc,
        questions: Union[Questions, QuestionForm],
        on_end: Optional[Callable[[], object]] = None,
    ) -> None:
        check_widget(root, "QuestionDialog()")
        form = questions if isinstance(questions, QuestionForm) else QuestionForm(questions)
        if sum(map(rows_of, form.fields)) > MOST_ROWS:
            raise UsageError(
                f"{len(form.fields)} questions with all their options are more than a window has "
                "room for. Answer them in a handler of your own."
            )
        self.fields: List[Choices] = []
        super().__init__(root, form, on_end)

    @classmethod
    def handler(cls, root: tkinter.Misc) -> Callable[[Any], Later]:
        """A handler for ``client.on_question``, of a client that is attached to Tk."""
        from .tk_prompts import handler

        return handler(root, question=cls)

    def _build(self, body: ttk.Frame) -> tkinter.Misc:
        body.columnconfigure(0, weight=1)
        body.rowconfigure(1, weight=1)
        heading(body, self.form.title).grid(row=0, column=0, sticky="w")
        area = ScrollArea(body)
        area.frame.grid(row=1, column=0, sticky="nsew", pady=(8, 0))
        for field in self.form.fields:
            choices = Choices(area.content, field, self._changed, self._answer)
            choices.frame.pack(fill="x", pady=(0, 10))
            self.fields.append(choices)
        buttons = ttk.Frame(body)
        buttons.grid(row=2, column=0, sticky="ew", pady=(4, 0))
        buttons.columnconfigure(0, weight=1)
        self.decline = ttk.Button(buttons, text="Decline", command=self.close)
        self.decline.grid(row=0, column=0, sticky="w")
        self.answer = ttk.Button(buttons, text="Answer", command=self._answer)
        self.answer.grid(row=0, column=1)
        self._changed()
        return self.window

    def _changed(self) -> None:
        """Something was chosen: the answers can be sent once none is missing."""
        self.answer.state(["disabled" if self.form.missing() is not None else "!disabled"])

    def _answer(self) -> None:
        if self.form.missing() is None:
            self.form.answer()
            self._destroy()

    def _refuse(self) -> None:
        self.form.decline()
        for choices in self.fields:
            choices.forget()


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
    ) -> None:
        self._field = field
        self._told = changed
        # Variables of Tk's and not of tkinter's: see HEADING. All buttons share the first.
        self._name = f"claude_sync_choice_{next(NUMBERS)}"
        self.frame = ttk.LabelFrame(parent, text=field.title or "Question", padding=8)
        self.frame.columnconfigure(0, weight=1)
        wrapped(self.frame, field.text).grid(sticky="w", pady=(0, 4))
        self.buttons: List[Union[ttk.Radiobutton, ttk.Checkbutton]] = []
        for number, (label, description) in enumerate(field.options):
            self._add_button(self.frame, label, number).grid(sticky="w")
            if description:
                about = wrapped(self.frame, description)
                about.grid(sticky="w", padx=(24, 0), pady=(0, 2))
        self._build_other(finish)
        self._preview: Optional[tkinter.Text] = None
        if any(option.preview for option in field.question.options):
            self._preview = paper(self.frame, height=MOST_LINES, width=60, state="disabled")
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
            )
        else:
            parent.setvar(self._name, "")
            button = ttk.Radiobutton(
                parent,
                text=label,
                variable=self._name,  # type: ignore[arg-type]
                value=str(number),
                command=lambda: self._chosen(number, True),
            )
        self.buttons.append(button)
        return button

    def _build_other(self, finish: Callable[[], object]) -> None:
        row = ttk.Frame(self.frame)
        row.grid(sticky="ew")
        row.columnconfigure(1, weight=1)
        label = "Other:" if self._field.options else "Answer:"
        self._add_button(row, label, OTHER).grid(row=0, column=0, padx=(0, 8))
        self.other = ttk.Entry(row, validate="key")
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
