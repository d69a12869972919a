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
from ..permissions.forms import QuestionField, QuestionForm, always_of
from ..permissions.request import LATER, PermissionRequest, Questions
from ..permissions.terminal import REFUSED, indented, on_one_line
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
    engine = slot.connection.serving._engine
    board = board_of(engine)
    notice = RequestNotice(request, board)
    with _waiting_lock:
        _waiting.append(request)
    permission.on_cancel(notice.close)
    board.put_up(notice)
    if not board.is_open():
        open_board(engine, shell)
    return LATER


class RequestNotice(Notice):
    """A request with its buttons."""

    def __init__(self, subject: Subject, board: Board) -> None:
        self._subject = subject
        self._board = board
        if isinstance(subject, Questions):
            title, how = "Claude asks", "answer({...})"
        else:
            title = subject.title or f"Claude wants to use {subject.tool}"
            how = "allow() or .deny('reason')"
        self._title = title
        preview = subject.preview()
        body = (
            f"<pre>{escape(preview)}</pre>"
            if isinstance(subject, Questions)
            else preview_html(subject)
        )
        code = f"claude_sync.notebook.waiting()[0].{how}"
        self._always = None if isinstance(subject, Questions) else always_of(subject)
        words = "" if self._always is None else f"<div>Always: {escape(self._always)}</div>"
        self._shown = f"{title_html(title)}{body}{words}"
        self.html = f"<div>{self._shown}Answer in another cell: <code>{escape(code)}</code></div>"
        self.text = f"{on_one_line(title)}\n{indented(preview)}Answer in another cell: {code}"

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
        return widgets.VBox([shown, self._decisions(widgets, self._subject)])

    def _decisions(self, widgets: Any, request: PermissionRequest) -> Any:
        reason = widgets.Text(placeholder="reason, if not")
        problem = widgets.HTML("")

        def allowing(verb: Callable[[], object]) -> Callable[[], object]:
            def allow() -> object:
                if self._board.can_be_read(self):
                    return verb()
                problem.value = TOO_SOON
                raise UsageError(TOO_SOON)

            return allow

        row = [self._button(widgets, "Allow", "success", allowing(request.allow))]
        if self._always is not None:
            row.append(self._button(widgets, "Always", "", allowing(request.allow_always)))
        deny = self._button(
            widgets, "Deny", "danger", lambda: request.deny(reason.value or REFUSED)
        )
        return widgets.VBox([widgets.HBox([*row, deny, reason]), problem])

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
            except AlreadyAnswered:
                pass  # two clicks in a row, or another handler has answered it meanwhile
            except UsageError:
                return  # told where it was made; the request is still open
            self.close()

        button.on_click(click)
        return button


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
