"""
Where requests that wait for a person are put up: below a turn that is shown.

A widget can be made on any thread but belongs to a cell, and only the cell that calls
``show()`` is known to be the right one. So ``show()`` opens a board there, and
requests are put up on the board of their client. Those that come first wait for it.
"""

from __future__ import annotations

import threading
import time
import uuid
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, List

from ..render.markdown import escape

if TYPE_CHECKING:
    from ..engine.session import Session

__all__ = ["Board", "Notice", "board_of", "open_board"]

Publish = Callable[..., object]

# Seconds in which what has just appeared, or has moved up into the place of another, is not to
# be answered with a yes: the click was meant for what was there before.
SETTLING = 0.5


class Notice:
    """
    Something on a board; those for widgets and for plain displays are derived.

    Attributes:
        html: What to show where there are no widgets.
        text: The same as plain text.

    """

    html = ""
    text = ""

    def is_over(self) -> bool:
        """Whether there is nothing to do about it any more."""
        return False

    def widget(self, widgets: Any) -> Any:
        """The widget to show, made with the module *widgets*, where there is one."""
        raise NotImplementedError


class Board:
    """
    The notices of one client. Any thread may call any method.

    ``_lock`` guards the list of notices; what is shown is replaced as a whole.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._notices: List[Notice] = []
        self._places: List[Callable[[List[Notice]], None]] = []
        # What was decided about uses of tools, for the displays of their turns.
        self.decisions: Dict[str, str] = {}
        # When notices have last moved, and when those of now have appeared.
        self._moved = 0.0
        self._appeared: Dict[int, float] = {}

    def put_up(self, notice: Notice) -> None:
        """Show a notice, wherever the board is open."""
        with self._lock:
            self._notices.append(notice)
            self._appeared[id(notice)] = time.monotonic()
            self._show()

    def can_be_read(self, notice: Notice) -> bool:
        """Whether a notice has been in its place for a moment."""
        with self._lock:
            since = max(self._moved, self._appeared.get(id(notice), 0.0))
        return time.monotonic() - since >= SETTLING

    def take_down(self, notice: Notice) -> None:
        """Show it no longer; twice is harmless."""
        with self._lock:
            if notice in self._notices:
                self._keep([each for each in self._notices if each is not notice])

    def tidy_up(self) -> None:
        """Take down what was dealt with elsewhere."""
        with self._lock:
            left = [notice for notice in self._notices if not notice.is_over()]
            if len(left) < len(self._notices):
                self._keep(left)

    def is_open(self) -> bool:
        """Whether there is a place where notices are seen."""
        return bool(self._places)

    def open(self, place: Callable[[List[Notice]], None]) -> None:
        """Show the notices at *place* from now on: the last one that was opened counts."""
        with self._lock:
            for before in self._places:
                before([])
            self._places = [place]
            self._keep(self._notices)

    def _keep(self, notices: List[Notice]) -> None:
        self._notices = notices
        self._appeared = {id(each): self._appeared[id(each)] for each in notices}
        self._moved = time.monotonic()
        self._show()

    def _show(self) -> None:
        for place in self._places:
            place(list(self._notices))


# By the client's session, which outlives none of its requests.
_boards: weakref.WeakKeyDictionary[Any, Board] = weakref.WeakKeyDictionary()
_boards_lock = threading.Lock()


def board_of(session: Session) -> Board:
    """The board of a client."""
    with _boards_lock:
        board = _boards.get(session)
        if board is None:
            board = _boards[session] = Board()
        return board


def open_board(session: Session, shell: Any) -> None:
    """Open a client's board in the cell that runs now."""
    widgets = widgets_module()
    publish: Publish = shell.display_pub.publish
    if widgets is None:
        board_of(session).open(DisplayPlace(publish))
    else:
        board_of(session).open(WidgetPlace(widgets, publish))


def widgets_module() -> Any:
    """ipywidgets, if it is installed; else None."""
    import importlib

    try:
        return importlib.import_module("ipywidgets")
    except ImportError:
        return None


class WidgetPlace:
    """A box of widgets; it is empty, and not to be seen, while there is nothing to answer."""

    def __init__(self, widgets: Any, publish: Publish) -> None:
        self._widgets = widgets
        self._box = widgets.VBox([])
        self._made: Dict[int, Any] = {}
        data = self._box._repr_mimebundle_()
        publish(data=data[0] if isinstance(data, tuple) else data, metadata={})

    def __call__(self, notices: List[Notice]) -> None:
        """Show these and no others."""
        made = {}
        for notice in notices:
            made[id(notice)] = self._made.get(id(notice)) or notice.widget(self._widgets)
        self._box.children = tuple(made.values())
        self._made = made


class DisplayPlace:
    """A display without widgets: it tells how to answer in another cell."""

    def __init__(self, publish: Publish) -> None:
        self._publish = publish
        self._id = f"claude-sync-{uuid.uuid4().hex}"
        self._shown = False

    def __call__(self, notices: List[Notice]) -> None:
        """Show these and no others."""
        if not notices and not self._shown:
            return
        self._publish(
            data={
                "text/html": "".join(notice.html for notice in notices) or "<div></div>",
                "text/plain": "\n".join(notice.text for notice in notices),
            },
            metadata={},
            transient={"display_id": self._id},
            update=self._shown,
        )
        self._shown = True


def title_html(title: str) -> str:
    """The first line of a notice."""
    return f"<b>{escape(title)}</b>"
