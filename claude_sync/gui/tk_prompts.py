"""
One dialog after the other: what waits until the person has decided about what is shown.

::

    client -> handler -> [prompts] -> dialog -> answer

Several requests may be open at once. A window over another would be answered without
being read, so each window of the program shows one at a time, in order; what is
withdrawn meanwhile is never shown, and when the window goes, all of them are denied.
"""

from __future__ import annotations

import collections
import tkinter
import weakref
from typing import Any, Callable, Deque, Optional, Tuple, Type, Union

from ..log import logger
from ..permissions.forms import PermissionForm, QuestionForm, form_of
from ..permissions.request import LATER, Later
from .tk_dialogs import Dialog, PermissionDialog
from .tk_questions import QuestionDialog
from .tk_windows import check_widget, refuse_other_threads, when_destroyed

__all__ = ["Prompts", "handler"]

AnyForm = Union[PermissionForm, QuestionForm]
Show = Callable[[tkinter.Misc, Any, Callable[[], object]], Dialog]


class Prompts:
    """What waits to be shown over one window."""

    def __init__(self, window: tkinter.Misc) -> None:
        self._window: Callable[[], Optional[tkinter.Misc]] = weakref.ref(window)
        self._tk: Any = window.tk
        self._waiting: Deque[Tuple[AnyForm, Show]] = collections.deque()
        self._shown: Optional[Dialog] = None
        self._timer: Any = None
        when_destroyed(window, self._end)

    def ask(self, form: AnyForm, show: Show) -> None:
        """Show a dialog for *form*, when its turn comes."""
        self._waiting.append((form, show))
        if self._shown is None and self._timer is None:
            self._next()

    def _next(self) -> None:
        self._timer = None
        window = self._window()
        while self._waiting and self._shown is None and window is not None:
            form, show = self._waiting.popleft()
            if not form.is_open:
                continue
            try:
                dialog = show(window, form, self._is_done)
            except BaseException:
                refuse(form)
                raise
            self._shown = dialog if dialog.is_open else None

    def _is_done(self) -> None:
        """A dialog is gone. The next comes by itself: the program may just be closing."""
        self._shown = None
        if self._timer is None:
            self._timer = self._tk.createtimerhandler(0, self._go_on)

    def _go_on(self) -> None:
        try:
            self._next()
        except Exception:
            # What a timer raises would end the program's mainloop.
            logger.exception("a dialog could not be shown; denied")
            self._is_done()

    def _end(self) -> None:
        """The window is gone: nobody can decide any more."""
        if self._timer is not None:
            self._timer.deletetimerhandler()
            self._timer = None
        waiting, self._waiting = list(self._waiting), collections.deque()
        for form, _ in waiting:
            refuse(form)


def refuse(form: AnyForm) -> None:
    """Say no, unless somebody has answered."""
    if isinstance(form, PermissionForm):
        form.close()
    else:
        form.decline()


PROMPTS: weakref.WeakKeyDictionary[tkinter.Misc, Prompts] = weakref.WeakKeyDictionary()


def prompts_of(window: tkinter.Misc) -> Prompts:
    """Those of a window."""
    prompts = PROMPTS.get(window)
    if prompts is None:
        prompts = PROMPTS[window] = Prompts(window)
    return prompts


def handler(
    root: tkinter.Misc,
    permission: Type[PermissionDialog] = PermissionDialog,
    question: Type[QuestionDialog] = QuestionDialog,
) -> Callable[[Any], Later]:
    """A handler that asks the person, with these classes of dialogs."""
    check_widget(root, "handler()")

    def ask_person(subject: Any) -> Later:
        refuse_other_threads(root, "a dialog")
        form = form_of(subject)
        show: Show = question if isinstance(form, QuestionForm) else permission
        prompts_of(root.winfo_toplevel()).ask(form, show)
        return LATER

    return ask_person
