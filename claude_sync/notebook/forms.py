"""
What Claude asks for, in a notebook: as HTML above a prompt, or as widgets that answer.

Everything that Claude or the CLI wrote is escaped.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from ..errors import UsageError
from ..permissions import forms
from ..permissions.forms import (
    EVERYTHING,
    REASON,
    Choice,
    PermissionForm,
    QuestionField,
    QuestionForm,
)
from ..permissions.terminal import indented
from ..render.html import boxed
from ..render.markdown import escape
from ..render.repr import form_html, form_words

__all__ = ["FormWidgets", "form_text", "shown_form", "widgets_module"]

# Seconds in which what has just appeared, or has moved up into the place of another, is not to
# be answered with a yes: the click was meant for what was there before.
SETTLING = forms.SETTLING / 1000
TOO_SOON = "This had only just appeared, so the click did not count. Read it, and click again."

Form = PermissionForm | QuestionForm


def widgets_module() -> Any:
    """ipywidgets, if it is installed; else None."""
    try:
        return importlib.import_module("ipywidgets")
    except ImportError:
        return None


def shown_form(form: Form) -> str:
    """What is asked, as HTML."""
    return boxed(f"<b>{escape(form.title)}</b>{form_html(form)}")


def form_text(form: Form) -> str:
    """What is asked, as plain text."""
    if isinstance(form, QuestionForm):
        return f"{form.title}\n{form.questions.preview()}\n"
    return f"{form.title}\n{indented(form.lines)}" + "\n".join(form_words(form))


class FormWidgets:
    """
    A form as widgets.

    Args:
        widgets: The module ``ipywidgets``.
        form: The form.
        answered: Called when a click has answered it, or finds that somebody else has.

    Attributes:
        box: The widget that has all of them.

    """

    def __init__(self, widgets: Any, form: Form, answered: Callable[[], object]) -> None:
        self._widgets, self._form, self._answered = widgets, form, answered
        self._problem = widgets.HTML("")
        self.move()
        if isinstance(form, QuestionForm):
            shown = [widgets.HTML(f"<b>{escape(form.title)}</b>")]
            self._fields = [(field, *self._field(field, shown)) for field in form.fields]
            row = [
                self._button("Answer", "success", partial(self._answer, form)),
                self._button("No answer", "", form.decline),
            ]
        else:
            shown = [widgets.HTML(shown_form(form))]
            reason = widgets.Text(placeholder=REASON)
            row = [self._choice(form, choice, reason) for choice in form.choices]
            row += [self._everything(form, shown[0]), reason]
        layout = widgets.Layout(flex_flow="row wrap")
        self.box = widgets.VBox([*shown, widgets.HBox(row, layout=layout), self._problem])

    def move(self) -> None:
        """Note that it is in another place: for a moment it is not answered with a yes."""
        self._moved = time.monotonic()

    def _choice(self, form: PermissionForm, choice: Choice, reason: Any) -> Any:
        verb = getattr(form, choice.name)
        if not choice.allows:
            return self._button(choice.label, "danger", lambda: verb(reason.value))

        def allow() -> None:
            if time.monotonic() - self._moved < SETTLING:
                raise UsageError(TOO_SOON)
            verb()

        style = "success" if choice.name == "allow" else ""
        return self._button(choice.label, style, allow)

    def _everything(self, form: PermissionForm, shown: Any) -> Any:
        """The button that shows all that is known about a request."""
        button = self._widgets.Button(description=EVERYTHING)

        def show(_: object) -> None:
            text = "\n".join(line.text for line in form.everything())
            button.layout.display = "none"
            shown.value += f"<pre>{escape(text)}</pre>"

        button.on_click(show)
        return button

    def _field(self, field: QuestionField, shown: list[Any]) -> tuple[Any, Any]:
        """The widgets of a question: its options, none of them chosen, and a text."""
        options = [
            (f"{label}: {about}" if about else label, number)
            for number, (label, about) in enumerate(field.options)
        ]
        choice = None
        wide = self._widgets.Layout(width="auto")
        if options and field.is_multiple:
            choice = self._widgets.SelectMultiple(options=options, layout=wide)
        elif options:
            choice = self._widgets.RadioButtons(options=options, value=None, layout=wide)
        other = self._widgets.Text(placeholder="or in your own words")
        text = f'<div style="white-space: pre-wrap">{escape(field.text)}</div>'
        shown += [self._widgets.HTML(text), *([choice] if choice else []), other]
        return choice, other

    def _answer(self, form: QuestionForm) -> None:
        for field, choice, other in self._fields:
            value = None if choice is None else choice.value
            field.chosen = value if isinstance(value, tuple) else () if value is None else (value,)
            field.write(other.value)
        missing = form.missing()
        if missing is not None:
            raise UsageError(f"You have not answered: {missing.text}")
        form.answer()

    def _button(self, label: str, style: str, verb: Callable[[], object]) -> Any:
        layout = self._widgets.Layout(width="auto")
        button = self._widgets.Button(description=label, button_style=style, layout=layout)

        def click(_: object) -> None:
            try:
                verb()
            except UsageError as error:
                self._problem.value = escape(str(error))
            else:
                self._answered()

        button.on_click(click)
        return button
