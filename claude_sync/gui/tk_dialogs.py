"""
May Claude do this? A window that shows what would happen, and takes the answer.

::

    client -> handler -> [prompts] -> dialog -> answer

The window does not hold on to mouse and keyboard: the program's own Stop button stays
usable, and a request that is withdrawn takes its window with it. Decisions taken here and
nowhere else:

* No button has the focus when the window appears, and nobody who types loses it. Escape, and
  to close the window, is a no.
* A window lasts as long as its request is open, whoever answers it.
* Several requests may be open at once. A window over another would be answered without being
  read, so each window of the program shows one at a time, in order; what is withdrawn
  meanwhile is never shown, and when the window goes, all of them are denied.
"""

from __future__ import annotations

import collections
import contextlib
import threading
import tkinter
import weakref
from typing import Any, Callable, Deque, Optional, Tuple, Type, Union

from ..log import logger
from ..permissions.forms import PermissionForm, QuestionForm, form_of
from ..permissions.request import LATER, Later, PermissionRequest, Questions
from .tk_views import view_of
from .tk_windows import check_widget, refuse_other_threads, show_over, when_destroyed

__all__ = ["Dialog", "PermissionDialog", "QuestionDialog"]

# Milliseconds between two looks whether the request is still open. Usually one is told; a
# client that is no longer attached cannot tell.
LOOK = 250

# Tk opens windows on a machine without fonts, and fails with the first letter.
NO_FONTS = (
    "a dialog cannot be shown, since Tk finds no fonts, so the answer is no. Install some (on "
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

    form: Any
    view: Any

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
        self._thread = threading.get_ident()
        owner = root.winfo_toplevel()
        self.window = tkinter.Toplevel(owner)
        self.window.withdraw()
        self.window.title(self.form.title)
        self.window.protocol("WM_DELETE_WINDOW", self.close)
        self.window.bind("<Escape>", self._escape)
        when_destroyed(self.window, self._destroyed)
        self._tk: Any = self.window.tk
        self._timer: Any = self._tk.createtimerhandler(LOOK, self._look)
        try:
            self.view = view_of(self.window, self.form, self._destroy, scrolls=True)
            self.view.frame.pack(fill="both", expand=True)
            for key, function in self.view.keys.items():
                self.window.bind(key, function)
            show_over(self.window, owner)
            if not is_typing(owner):
                self.view.first.focus_set()
        except BaseException as error:
            # The handler fails, which is a no; nothing of the window may stay.
            self._destroy()
            if isinstance(error, tkinter.TclError) and "font" in str(error):
                logger.error("%s", NO_FONTS)
            raise
        if self.is_open:  # nobody has answered meanwhile
            self.view.begin()
        # Weakly: what Tk made must not end up in a cycle, which the garbage collector would
        # take apart on any thread.
        withdrawn = weakref.WeakMethod(self._withdrawn)
        self.form.on_withdrawn(lambda: call_if_there(withdrawn()))

    @classmethod
    def handler(cls, root: tkinter.Misc) -> Callable[[Any], Later]:
        """A handler of ``on_permission`` and ``on_question``, of a client attached to Tk."""
        check_widget(root, "handler()")

        def ask_person(subject: Any) -> Later:
            refuse_other_threads(root, "a dialog")
            form = form_of(subject)
            prompts_of(root.winfo_toplevel()).ask(form, class_for(form, cls))
            return LATER

        return ask_person

    @property
    def is_open(self) -> bool:
        """Whether the window is there."""
        return self._timer is not None

    def close(self) -> None:
        """Close the window. Without an answer so far that is a no."""
        self._destroy()

    def _escape(self, _: object) -> None:
        self.close()

    # Its end.

    def _withdrawn(self) -> None:
        if threading.get_ident() == self._thread:
            self._destroy()
        # Otherwise the next look finds out: Tk is for its own thread.

    def _look(self) -> None:
        """Whether the request was answered elsewhere, or is no longer open."""
        if self.form.is_open:
            self._timer = self._tk.createtimerhandler(LOOK, self._look)
        else:
            self._destroy()

    def _destroy(self) -> None:
        with contextlib.suppress(tkinter.TclError):  # the application has ended
            self.window.destroy()

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


def call_if_there(function: Optional[Callable[[], object]]) -> None:
    """Call what a weak reference had, if it still has it."""
    if function is not None:
        function()


class PermissionDialog(Dialog):
    """A window that asks whether Claude may use a tool; Escape denies for the reason given."""

    def _escape(self, _: object) -> None:
        self.view.refuse()


class QuestionDialog(Dialog):
    """A window with the questions of Claude: choices, and room for other answers."""


def class_for(form: Any, preferred: Type[Dialog]) -> Type[Dialog]:
    """The class of the dialog for a form: the preferred one, if it is about such forms."""
    base = QuestionDialog if isinstance(form, QuestionForm) else PermissionDialog
    return preferred if issubclass(preferred, base) else base


class Prompts:
    """What waits to be shown over one window."""

    def __init__(self, window: tkinter.Misc) -> None:
        self._window: Callable[[], Optional[tkinter.Misc]] = weakref.ref(window)
        self._tk: Any = window.tk
        self._waiting: Deque[Tuple[Any, Type[Dialog]]] = collections.deque()
        self._shown: Optional[Dialog] = None
        self._timer: Any = None
        when_destroyed(window, self._end)

    def ask(self, form: Any, show: Type[Dialog]) -> None:
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


def refuse(form: Any) -> None:
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
