"""
Ask for permission with buttons, when no cell waits for the turn.

While a cell runs, a kernel does not look at clicks. So buttons are for turns that
nobody waits for: ``client.submit()`` and ``show()``. The handler returns at once, and
the click answers. Without ipywidgets the request is shown with the line of code that
answers it, for another cell.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any, Callable, List, Tuple, Union

from ..displays import preview_html
from ..errors import AlreadyAnswered
from ..markup import escape
from ..permissions import LATER, PermissionRequest, Questions
from ..terminal import REFUSED, indented, on_one_line
from .boards import Board, Notice, board_of, open_board, title_html
from .rendering import PRE
from .views import current_shell, is_kernel

if TYPE_CHECKING:
    from ..permissions import Decision

__all__ = ["buttons", "waiting"]

Subject = Union[PermissionRequest, Questions]

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
    return request._slot.is_decided()


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
    engine = permission._slot.connection.serving._engine
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
            f'<pre style="{PRE}">{escape(preview)}</pre>'
            if isinstance(subject, Questions)
            else preview_html(subject)
        )
        code = f"claude_sync.notebook.waiting()[0].{how}"
        self._shown = f"{title_html(title)}{body}"
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
        return widgets.HBox(
            [
                self._button(widgets, "Allow", "success", request.allow),
                self._button(widgets, "Always", "", request.allow_always),
                self._button(
                    widgets, "Deny", "danger", lambda: request.deny(reason.value or REFUSED)
                ),
                reason,
            ]
        )

    def _choices(self, widgets: Any, questions: Questions) -> List[Any]:
        chosen: List[Tuple[str, Any]] = []
        for question in questions.questions:
            kind = widgets.SelectMultiple if question.multi_select else widgets.RadioButtons
            chosen.append((question.text, kind(options=question.labels)))

        def answer() -> Decision:
            return questions.answer(
                {
                    text: list(choice.value) if isinstance(choice.value, tuple) else choice.value
                    for text, choice in chosen
                }
            )

        row = [
            self._button(widgets, "Answer", "success", answer),
            self._button(widgets, "No answer", "", questions.decline),
        ]
        return [*(choice for _, choice in chosen), widgets.HBox(row)]

    def _button(self, widgets: Any, label: str, style: str, verb: Callable[[], object]) -> Any:
        button = widgets.Button(description=label, button_style=style)

        def click(_: object) -> None:
            # Two clicks in a row, or a request that another handler has answered meanwhile.
            with contextlib.suppress(AlreadyAnswered):
                verb()
            self.close()

        button.on_click(click)
        return button
