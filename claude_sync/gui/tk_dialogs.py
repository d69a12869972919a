"""
May Claude do this? A window that shows what would happen, and takes the answer.

The window does not hold on to mouse and keyboard: the program's own Stop button stays
usable, and a request that is withdrawn takes its window with it. Decisions taken here and
nowhere else:

* No button has the focus when the window appears, and nobody who types loses it. Escape, and
  to close the window, is a no.
* A window lasts as long as its request is open, whoever answers it.
"""

from __future__ import annotations

import contextlib
import tkinter
import weakref
from typing import Any, Callable, Optional, Union

from ..log import logger
from ..permissions.forms import PermissionForm, QuestionForm, form_of
from ..permissions.request import LATER, Later, PermissionRequest, Questions
from .dialogs import LOOK, Queue, class_for, refuse
from .tk_views import view_of
from .tk_windows import check_widget, refuse_other_threads, show_over, when_destroyed

__all__ = ["Dialog", "PermissionDialog", "QuestionDialog"]

# Tk opens windows on a machine without fonts, and fails with the first letter.
NO_FONTS = (
    "a dialog cannot be shown, since Tk finds no fonts, so the request is denied. Install some (on "
    "Debian and Ubuntu: apt install fonts-dejavu-core)"
)
# Classes of widgets that a person types into.
TYPED_INTO = ("Entry", "TEntry", "Text", "Spinbox", "TSpinbox", "TCombobox")


class Dialog:
    """
    A window about one request, there until it is answered.

    ``PermissionDialog(root, request)`` opens one; the handler has to return
    ``claude_sync.LATER``. :meth:`handler` does both, one request after the other.

    Attributes:
        form: What it shows and answers.
        window: The window.
        view: The widgets in it: a ``PermissionView`` or ``QuestionsView`` of ``tk_views``.

    """

    def __init__(
        self,
        root: tkinter.Misc,
        subject: Union[PermissionRequest, Questions, PermissionForm, QuestionForm],
        on_end: Optional[Callable[[], object]] = None,
    ) -> None:
        check_widget(root, f"{type(self).__name__}()")
        is_form = isinstance(subject, (PermissionForm, QuestionForm))
        form: Any = subject if is_form else form_of(subject)
        self.form = form
        self._on_end = on_end
        owner = root.winfo_toplevel()
        self.window = tkinter.Toplevel(owner)
        self.window.withdraw()
        self.window.title(self.form.title)
        self.window.protocol("WM_DELETE_WINDOW", self.close)
        when_destroyed(self.window, self._destroyed)
        self._tk: Any = self.window.tk
        self._timer: Any = self._tk.createtimerhandler(LOOK, self._look)
        try:
            self.view = view_of(self.window, self.form, self.close)
            self.view.frame.pack(fill="both", expand=True)
            for key, function in self.view.keys.items():
                self.window.bind(key, function)
            show_over(self.window, owner)
            if not is_typing(owner):
                self.view.first.focus_set()
        except BaseException as error:
            # The handler fails, which is a no; nothing of the window may stay.
            self.close()
            if isinstance(error, tkinter.TclError) and "font" in str(error):
                logger.error("%s", NO_FONTS)
            raise
        if self.is_open:  # nobody has answered meanwhile
            self.view.begin()

    @classmethod
    def handler(cls, root: tkinter.Misc) -> Callable[[Any], Later]:
        """A handler of ``on_permission`` and ``on_question``, of a client attached to Tk."""
        check_widget(root, "handler()")

        def ask_person(subject: Any) -> Later:
            refuse_other_threads(root, "a dialog")
            form, owner = form_of(subject), root.winfo_toplevel()
            show = class_for(form, cls, PermissionDialog, QuestionDialog)
            queue_of(owner).ask(form, lambda form, done: show(owner, form, done))
            return LATER

        return ask_person

    @property
    def is_open(self) -> bool:
        """Whether the window is there."""
        return self._timer is not None

    def close(self) -> None:
        """Close the window. Without an answer so far that is a no."""
        with contextlib.suppress(tkinter.TclError):  # the application has ended
            self.window.destroy()

    def _look(self) -> None:
        """Whether the request was answered elsewhere, or is no longer open."""
        if self.form.is_open:
            self._timer = self._tk.createtimerhandler(LOOK, self._look)
        else:
            self.close()

    def _destroyed(self) -> None:
        """The window is gone, for whatever reason."""
        timer, self._timer = self._timer, None
        timer.deletetimerhandler()
        refuse(self.form)
        if self._on_end is not None:
            self._on_end()


def is_typing(window: tkinter.Misc) -> bool:
    """Whether a person types into something of the program: the focus stays there."""
    focused = str(window.tk.call("focus"))
    if not focused or str(window.tk.call("winfo", "class", focused)) not in TYPED_INTO:
        return False
    return str(window.tk.call(focused, "cget", "-state")) == "normal"


class PermissionDialog(Dialog):
    """A window that asks whether Claude may use a tool; Escape denies for the reason given."""


class QuestionDialog(Dialog):
    """A window with the questions of Claude: choices, and room for other answers."""


QUEUES: weakref.WeakKeyDictionary[tkinter.Misc, Queue] = weakref.WeakKeyDictionary()


def queue_of(window: tkinter.Misc) -> Queue:
    """What waits to be shown over a window."""
    queue = QUEUES.get(window)
    if queue is None:
        tk: Any = window.tk
        queue = QUEUES[window] = Queue(lambda function: tk.createtimerhandler(0, function))
        when_destroyed(window, queue.end)
    return queue
