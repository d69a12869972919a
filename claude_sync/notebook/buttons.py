"""
Ask for permission with buttons, when no cell waits for the turn.

While a cell runs, most kernels do not look at clicks. So buttons are for turns that
nobody waits for: ``client.submit()`` and ``show()``. The handler returns at once, and
the click answers. Without ipywidgets the request is shown with the line of code that
answers it, for another cell.

A widget can be made on any thread but belongs to a cell, and only the cell that calls
``show()`` is known to be the right one. So ``show()`` opens a board there, and requests are
put up on the board of their client. Those that come first open one themselves.
"""

from __future__ import annotations

import threading
import uuid
import weakref
from typing import TYPE_CHECKING, Any

from ..permissions.forms import PermissionForm, form_of
from ..permissions.request import LATER, QUESTION_TOOL, Questions
from ..render.markdown import escape
from .forms import Form, FormWidgets, form_text, shown_form, widgets_module
from .shells import current_shell, is_kernel

if TYPE_CHECKING:
    from ..engine.session import Session

__all__ = ["Board", "board_of", "buttons", "waiting"]


class Board:
    """
    What one client's CLI waits for, and where that is shown. Any thread may call any method.

    Attributes:
        decisions: What was decided about uses of tools, for the displays of their turns.

    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # guards the rest
        self._subjects: dict[Form, Any] = {}
        self._place: Any = None
        self.decisions: dict[str, str] = {}

    def put_up(self, form: Form, subject: Any, shell: Any) -> None:
        """Show a form, below the turn that is shown, or else here."""
        with self._lock:
            self._subjects[form] = subject
            self._note(form, "asked")
            if self._place is None:
                self.open(shell)
            else:
                self._place.show(self._subjects)

    def tidy_up(self) -> None:
        """Take down what was answered, here or elsewhere, or is no longer wanted."""
        with self._lock:
            over = [form for form in self._subjects if not form.is_open]
            for form in over:
                del self._subjects[form]
                behavior = "" if form.decision is None else form.decision.behavior
                self._note(form, {"allow": "allowed", "deny": "denied"}.get(behavior, ""))
            if over and self._place is not None:
                self._place.show(self._subjects)

    def _note(self, form: Form, decision: str) -> None:
        if isinstance(form, PermissionForm) and form.request.tool_use_id:
            self.decisions[form.request.tool_use_id] = decision

    def open(self, shell: Any) -> None:
        """Show everything in the cell that runs now, and no longer where it was shown before."""
        with self._lock:
            if self._place is not None:
                self._place.show({})
            widgets = widgets_module()
            publish = shell.display_pub.publish
            self._place = CodePlace(publish) if widgets is None else WidgetPlace(self, widgets)
            if widgets is not None:
                data = self._place.box._repr_mimebundle_()
                publish(data=data[0] if isinstance(data, tuple) else data, metadata={})
            self._place.show(self._subjects)

    def waiting(self) -> list[Any]:
        """The requests and questions that are shown."""
        self.tidy_up()
        with self._lock:
            return list(self._subjects.values())


class WidgetPlace:
    """A box of widgets; it is empty, and not to be seen, while there is nothing to answer."""

    def __init__(self, board: Board, widgets: Any) -> None:
        self._board, self._widgets = board, widgets
        self.box = widgets.VBox([])
        self._made: dict[Form, FormWidgets] = {}

    def show(self, subjects: dict[Form, Any]) -> None:
        """Show these and no others."""
        made = {}
        for form in subjects:
            known = self._made.get(form)
            made[form] = known or FormWidgets(self._widgets, form, self._board.tidy_up)
        if list(made)[: len(self._made)] != list(self._made):
            for each in made.values():  # something above it has gone
                each.move()
        self._made = made
        self.box.children = tuple(each.box for each in made.values())


class CodePlace:
    """A display without widgets: it tells how to answer in another cell."""

    def __init__(self, publish: Any) -> None:
        self._publish = publish
        self._id = f"claude-sync-{uuid.uuid4().hex}"
        self._is_shown = False

    def show(self, subjects: dict[Form, Any]) -> None:
        """Show these and no others."""
        if not subjects and not self._is_shown:
            return
        pages, texts = ["<div></div>"], []
        for form in subjects:
            verb = "allow() or .deny('reason')"
            verb = verb if isinstance(form, PermissionForm) else "answer({...})"
            code = f"claude_sync.notebook.waiting()[0].{verb}"
            told = f"Answer in another cell: <code>{escape(code)}</code>"
            pages.append(f"<div>{shown_form(form)}{told}</div>")
            texts.append(f"{form_text(form)}\nAnswer in another cell: {code}")
        self._publish(
            data={"text/html": "".join(pages), "text/plain": "\n".join(texts)},
            metadata={},
            transient={"display_id": self._id},
            update=self._is_shown,
        )
        self._is_shown = True


# By the client's session, which outlives none of its requests.
_boards: weakref.WeakKeyDictionary[Any, Board] = weakref.WeakKeyDictionary()
_boards_lock = threading.Lock()


def board_of(session: Session) -> Board:
    """The board of a client."""
    with _boards_lock:
        return _boards.setdefault(session, Board())


def waiting() -> tuple[Any, ...]:
    """
    The requests and questions that :func:`buttons` has put up and nobody has answered.

    Without ipywidgets this is how to answer: ``waiting()[0].allow()``.
    """
    with _boards_lock:
        boards = list(_boards.values())
    return tuple(subject for board in boards for subject in board.waiting())


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
    if not isinstance(request, Questions) and request.tool == QUESTION_TOOL:
        return None  # of a form that cannot be asked, or it would be on_question's
    form = form_of(request)
    slot: Any = form.request._slot
    board = board_of(slot.desk.session)
    form.on_withdrawn(board.tidy_up)
    board.put_up(form, request, shell)
    return LATER
