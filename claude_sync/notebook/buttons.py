"""
Ask for permission with buttons, when no cell waits for the turn.

While a cell runs, a kernel does not look at clicks. So buttons are for turns that
nobody waits for: ``client.submit()`` and ``show()``. The handler returns at once, and
the click answers. Without ipywidgets the request is shown with the line of code that
answers it, for another cell.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import Any, Callable, List, Tuple, Union

from ..errors import AlreadyAnswered, UsageError
from ..permissions.forms import EVERYTHING, REASON, PermissionForm, QuestionField, QuestionForm
from ..permissions.preview import preview_lines, shown
from ..permissions.request import LATER, PermissionRequest, Questions
from ..permissions.terminal import indented
from ..render.html import boxed
from ..render.markdown import escape
from ..render.repr import preview_html
from .boards import Board, Notice, board_of, open_board, title_html
from .views import current_shell, is_kernel

__all__ = ["buttons", "waiting"]

Subject = Union[PermissionRequest, Questions]

TOO_SOON = "This had just appeared here, so the click did not count. Read it, and click again."

# What waits for an answer in this process, oldest first; guarded by the lock.
_waiting: List[Subject] = []
_waiting_lock = threading.Lock()


def waiting() -> Tuple[Any, ...]:
    """
    The requests and questions that :func:`buttons` has put up and nobody has answered.

    Without ipywidgets this is how to answer: ``waiting()[0].allow()``.
    """
    with _waiting_lock:
        _waiting[:] = [subject for subject in _waiting if not is_decided(subject)]
        return tuple(_waiting)


def is_decided(subject: Subject) -> bool:
    """Whether it was answered, by whomever, or is no longer wanted."""
    request = subject.request if isinstance(subject, Questions) else subject
    return not request.is_open


def buttons(request: Any) -> Any:
    """
    Let a person decide with buttons; a handler for ``on_permission`` and ``on_question``::

        client = claude_sync.Client(on_permission=buttons, on_question=buttons)
        show(client.submit("Tidy up this folder."))

    The buttons are below the turn that ``show()`` shows. Not for cells that wait, as
    ``%claude`` and ``client.ask()`` do: a kernel takes no clicks while a cell runs.
    """
    shell = current_shell()
    if not is_kernel(shell):
        return None  # nobody would see them: not ours to decide
    permission = request.request if isinstance(request, Questions) else request
    if isinstance(request, PermissionRequest) and request.tool == "AskUserQuestion":
        return None  # of a form that cannot be asked, or it would be on_question's
    slot: Any = permission._slot
    session = slot.desk.session
    board = board_of(session)
    notice = RequestNotice(request, board)
    with _waiting_lock:
        _waiting.append(request)
    permission.on_cancel(notice.close)
    board.put_up(notice)
    if not board.is_open():
        open_board(session, shell)
    return LATER


class RequestNotice(Notice):
    """A request with its buttons."""

    def __init__(self, subject: Subject, board: Board) -> None:
        self._subject = subject
        self._board = board
        if isinstance(subject, Questions):
            title, how = "Claude asks", "answer({...})"
            self._form = None
        else:
            self._form = PermissionForm(subject)
            title, how = self._form.title, "allow() or .deny('reason')"
        self._title = title
        request = subject.request if isinstance(subject, Questions) else subject
        lines = preview_lines(request.tool, request.raw_input, request.cwd)
        preview = "\n".join(line.text for line in lines)
        body = (
            f"<pre>{escape(preview)}</pre>"
            if isinstance(subject, Questions)
            else preview_html(subject)
        )
        code = f"claude_sync.notebook.waiting()[0].{how}"
        choices = self._form.choices if self._form else ()
        details = self._form.details if self._form else ()
        meanings = [f"{choice.meaning}." for choice in choices if choice.meaning]
        words = "".join(f"<div>{escape(each)}</div>" for each in (*details, *meanings))
        self._shown = boxed(f"{title_html(title)}{body}{words}")
        self.html = f"<div>{self._shown}Answer in another cell: <code>{escape(code)}</code></div>"
        self.text = f"{shown(title)}\n{indented(lines)}Answer in another cell: {code}"

    def close(self) -> None:
        """It was answered, or is no longer wanted."""
        with _waiting_lock:
            if self._subject in _waiting:
                _waiting.remove(self._subject)
        self._board.take_down(self)

    def is_over(self) -> bool:
        """See :class:`Notice`."""
        return is_decided(self._subject)

    def widget(self, widgets: Any) -> Any:
        """See :class:`Notice`."""
        shown = widgets.HTML(self._shown)
        if isinstance(self._subject, Questions):
            return widgets.VBox([shown, *self._choices(widgets, self._subject)])
        assert self._form is not None
        return widgets.VBox([shown, self._decisions(widgets, self._form)])

    def _decisions(self, widgets: Any, form: PermissionForm) -> Any:
        reason = widgets.Text(placeholder=REASON)
        problem = widgets.HTML("")
        self._all = widgets.HTML("")

        def allowing(verb: Callable[[], object]) -> Callable[[], object]:
            def allow() -> object:
                if self._board.can_be_read(self):
                    return verb()
                problem.value = TOO_SOON
                raise UsageError(TOO_SOON)

            return allow

        row = []
        for choice in form.choices:
            verb = getattr(form, choice.name)
            if choice.allows:
                style = "success" if choice.name == "allow" else ""
                row.append(self._button(widgets, choice.label, style, allowing(verb)))
            else:
                deny = partial(deny_with, form, reason)
                row.append(self._button(widgets, choice.label, "danger", deny))
        row.append(self._everything(widgets, form))
        return widgets.VBox([widgets.HBox([*row, reason]), problem, self._all])

    def _everything(self, widgets: Any, form: PermissionForm) -> Any:
        """The button that shows all that is known about a request."""
        button = widgets.Button(description=EVERYTHING)

        def show(_: object) -> None:
            text = "\n".join(line.text for line in form.everything())
            button.layout.display = "none"
            self._all.value = f"<pre>{escape(text)}</pre>"

        button.on_click(show)
        return button

    def _choices(self, widgets: Any, questions: Questions) -> List[Any]:
        form = QuestionForm(questions)
        shown: List[Any] = []
        taken: List[Callable[[], None]] = []
        for field in form.fields:
            other = widgets.Text(placeholder="or in your own words")
            choice = choice_of(widgets, field)
            shown += [widgets.HTML(escape(field.text)), *([choice] if choice else []), other]
            taken.append(partial(take, field, choice, other))
        problem = widgets.HTML("")

        def answer() -> None:
            for each in taken:
                each()
            try:
                questions.answer(form.answers(), free_text=True)
            except AlreadyAnswered:
                raise
            except UsageError as error:  # one is missing, most probably
                problem.value = escape(str(error))
                raise

        row = [
            self._button(widgets, "Answer", "success", answer),
            self._button(widgets, "No answer", "", questions.decline),
        ]
        return [*shown, widgets.HBox(row), problem]

    def _button(self, widgets: Any, label: str, style: str, verb: Callable[[], object]) -> Any:
        button = widgets.Button(description=label, button_style=style)

        def click(_: object) -> None:
            try:
                verb()
                self._note()
            except AlreadyAnswered:
                pass  # two clicks in a row, or another handler has answered it meanwhile
            except UsageError:
                return  # told where it was made; the request is still open
            self.close()

        button.on_click(click)
        return button

    def _note(self) -> None:
        """The display of the turn tells what was decided, when the buttons are gone."""
        decision = self._form.decision if self._form is not None else None
        tool_use_id = getattr(self._subject, "tool_use_id", None)
        if decision is not None and tool_use_id:
            outcome = {"allow": "allowed"}.get(decision.behavior, "refused")
            self._board.decisions[tool_use_id] = outcome


def deny_with(form: PermissionForm, reason: Any) -> None:
    """Deny, for the reason in a field."""
    form.deny(reason.value)


def choice_of(widgets: Any, field: QuestionField) -> Any:
    """The widget with the options of a question, none of them chosen; None if it has none."""
    labels = field.question.labels
    if not labels:
        return None
    if field.is_multiple:
        return widgets.SelectMultiple(options=labels)
    return widgets.RadioButtons(options=labels, value=None)


def take(field: QuestionField, choice: Any, other: Any) -> None:
    """Tell a form what was chosen, and what was written instead."""
    value = None if choice is None else choice.value
    chosen = value if isinstance(value, tuple) else (value,)
    labels = field.question.labels
    field.chosen = tuple(n for n, label in enumerate(labels) if label in chosen)
    field.write(other.value)
