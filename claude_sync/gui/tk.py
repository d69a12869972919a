"""
A client in a tkinter program: handlers on Tk's thread, dialogs, and an end with the window.

::

    import tkinter
    import claude_sync
    from claude_sync.gui import tk

    root = tkinter.Tk()
    text = tkinter.Text(root)
    text.pack()
    client = claude_sync.Client()
    tk.attach(client, root)
    client.on_text(lambda piece: text.insert("end", piece))
    client.on_permission(tk.PermissionDialog.handler(root))
    client.submit("What does setup.py do?")
    root.mainloop()

Handlers may touch the window, since they run on its thread, and must not take long, since
it stands still meanwhile. Text arrives at most once per frame, however fast Claude writes.
"""

from __future__ import annotations

try:
    import tkinter
except ImportError as error:  # many systems have it in a package of its own
    raise ImportError(
        "this Python has no tkinter. Install it (on Debian and Ubuntu: apt install python3-tk; "
        "with Homebrew: brew install python-tk)."
    ) from error

from ..client import Client
from ..errors import UsageError
from .tk_clock import clock_of
from .tk_dialogs import PermissionDialog
from .tk_questions import QuestionDialog
from .tk_windows import check_widget, refuse_other_threads, when_destroyed

__all__ = ["Attachment", "PermissionDialog", "QuestionDialog", "attach"]


def attach(client: Client, root: tkinter.Misc) -> Attachment:
    """
    Run the handlers of *client* on Tk's thread, and close it when *root* is destroyed.

    Call it on that thread, before ``mainloop()`` or while it runs; loops that call
    ``root.update()`` work as well. From then on ``ask()`` is refused there: it would freeze
    the window. ``submit()`` and the handlers take its place.

    Args:
        client: Made without ``post=``; several may be attached to one window.
        root: The window, or any widget: a Toplevel, a Frame. When it is destroyed, its
            open requests are denied, and ``client.close(wait=False)`` ends the CLI.

    """
    if not isinstance(client, Client):
        raise UsageError(f"attach(client, root) takes a claude_sync.Client, not {client!r}.")
    check_widget(root, "attach()")
    return Attachment(client, root)


class Attachment:
    """
    What :func:`attach` returns.

    Attributes:
        client: The client.
        widget: The widget it is attached to.

    """

    def __init__(self, client: Client, widget: tkinter.Misc) -> None:
        self.client = client
        self.widget = widget
        self._is_attached = True
        self._clock = clock_of(widget)
        self._frames = self._clock.add(client, self._let_go)
        self._forget = when_destroyed(widget, self._destroyed)

    def detach(self) -> None:
        """
        Let go of the window: handlers run on the client's own threads again.

        Best called between two turns. What waits for the window is done before, and the
        client stays open. Twice is harmless.
        """
        if not self._is_attached:
            return
        refuse_other_threads(self.widget, "detach()")
        while self._frames.run():
            pass
        self.client._post_through(None)
        while self._frames.run():
            pass
        self._let_go()

    def _destroyed(self) -> None:
        """The window is gone: end what belongs to it, without waiting."""
        self._let_go()
        self.client.close(wait=False)

    def _let_go(self) -> None:
        self._is_attached = False
        self._forget()
        self._clock.remove(self._frames)
        self._frames.stop()
        # No handler runs here any more, so whoever is left may wait for a turn to end.
        self._frames.threads.clear()

    def __repr__(self) -> str:
        state = "" if self._is_attached else " (no more)"
        return f"<{self.client.name} attached to {self.widget}{state}>"
