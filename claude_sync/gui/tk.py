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
from .frames import Attachment
from .tk_chat import ChatFrame
from .tk_dialogs import PermissionDialog, QuestionDialog
from .tk_windows import TkAttachment, check_widget

__all__ = ["Attachment", "ChatFrame", "PermissionDialog", "QuestionDialog", "attach"]


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
    return TkAttachment(client, root)
