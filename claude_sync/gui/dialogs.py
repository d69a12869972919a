"""
What the dialogs of all toolkits share: their order, and the keys of their buttons.

::

    client -> handler -> [queue of a window] -> dialog -> answer

Several requests may be open at once. A window over another would be answered without being
read, so each window of the program shows one at a time, in order; what is withdrawn meanwhile
is never shown, and when the window goes, all of them are denied.
"""

from __future__ import annotations

import collections
from typing import Any, Callable, Deque, Tuple

from ..log import logger
from ..permissions.forms import QuestionForm

__all__ = ["KEYS", "LOOK", "Queue", "class_for", "refuse"]

# Milliseconds between two looks whether the request of a dialog is still open.
LOOK = 50
# The letters that press a button, with Alt.
KEYS = {"allow": "A", "allow_always": "w", "accept_edits": "e", "deny": "D"}

Show = Callable[[Any, Callable[[], object]], object]


class Queue:
    """What waits to be shown over one window."""

    def __init__(self, later: Callable[[Callable[[], None]], object]) -> None:
        """*later* has a function called by the toolkit's loop."""
        self._later = later
        self._waiting: Deque[Tuple[Any, Show]] = collections.deque()
        # What is shown, which nothing else may keep, and its form.
        self._shown: Any = None
        self._form: Any = None

    def ask(self, form: Any, show: Show) -> None:
        """Have *show* make a dialog when its turn comes: of *form*; and what to call at its end."""
        self._waiting.append((form, show))
        if self._form is None:
            self._next()

    def end(self, *_: object) -> None:
        """The window is gone: no person can decide any more."""
        while self._waiting:
            refuse(self._waiting.popleft()[0])

    def _next(self) -> None:
        self._shown = self._form = None
        while self._waiting and self._form is None:
            form, show = self._waiting.popleft()
            if form.is_open:
                self._form = form
                try:
                    self._shown = show(form, lambda form=form: self._done(form))  # type: ignore[misc]
                except BaseException:
                    self._form = None
                    refuse(form)
                    raise

    def _done(self, form: Any) -> None:
        # The next comes by itself: the program may just be closing.
        self._later(lambda: self._go_on(form))

    def _go_on(self, form: Any) -> None:
        if form is not self._form:  # it was never shown
            return
        try:
            self._next()
        except Exception:
            # What a timer raises would end the program's loop.
            logger.exception("a dialog could not be shown; denied")
            self._later(lambda: self._go_on(None))


def refuse(form: Any) -> None:
    """Say no, unless somebody has answered."""
    form.decline() if isinstance(form, QuestionForm) else form.close()


def class_for(form: Any, preferred: Any, permission: Any, question: Any) -> Any:
    """The class of the dialog for a form: the preferred one, if it is about such forms."""
    base = question if isinstance(form, QuestionForm) else permission
    return preferred if issubclass(preferred, base) else base
