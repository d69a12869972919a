"""
``python -m claude_sync.gui``: a chat in a window, for the folder in which it is started.

::

    python -m claude_sync.gui                 Tk
    python -m claude_sync.gui --qt            Qt
    python -m claude_sync.gui --offline       no account: a stand-in that echoes
    python -m claude_sync.gui --resume ID     an older conversation
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, Dict, Optional, Sequence

from ..cli.common import OFFLINE, cli_of

__all__ = ["main"]

TITLE = "Claude"
SIZE = (860, 760)


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Open a chat, and run it until its window is closed."""
    parser = argparse.ArgumentParser(
        prog="python -m claude_sync.gui", description="Chat with Claude in a window."
    )
    parser.add_argument("--qt", action="store_true", help="use Qt instead of Tk")
    parser.add_argument("--offline", action="store_true", help=OFFLINE)
    parser.add_argument("--resume", metavar="ID", help="continue this conversation")
    parser.add_argument("--model", help="alias (sonnet) or full name of the model")
    parser.add_argument("--cwd", metavar="FOLDER", help="the folder Claude works in")
    parser.add_argument("--cli", metavar="PATH", help="the CLI")
    arguments = parser.parse_args(argv)
    options: Dict[str, Any] = {"cli": cli_of(arguments)}
    for name in ("resume", "model", "cwd"):
        if getattr(arguments, name) is not None:
            options[name] = getattr(arguments, name)
    return run_qt(options) if arguments.qt else run_tk(options)


def run_tk(options: Dict[str, Any]) -> int:
    """In a window of Tk."""
    import tkinter

    from .tk import ChatFrame

    root = tkinter.Tk()
    root.title(TITLE)
    root.geometry("{}x{}".format(*SIZE))
    chat = ChatFrame(root, **options)
    chat.pack(fill="both", expand=True)
    chat.focus_set()
    root.mainloop()
    return 0


def run_qt(options: Dict[str, Any]) -> int:
    """In a window of Qt."""
    from .qt import ChatWidget
    from .qt_binding import QtWidgets

    application = QtWidgets.QApplication(sys.argv[:1])
    chat = ChatWidget(**options)
    chat.setWindowTitle(TITLE)
    chat.resize(*SIZE)
    chat.show()
    chat.setFocus()
    return int(application.exec())


if __name__ == "__main__":
    sys.exit(main())
