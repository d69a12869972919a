"""
Which of the Python bindings of Qt this program uses: PySide6, PyQt6 or PyQt5.

A program must not use two of them at once, so it is decided once, when something of
``gui.qt`` is used for the first time, in this order:

* the one whose application runs already; without one, the one that is imported already;
* the one that the environment variable ``QT_API`` names (``pyside6``, ``pyqt6``, ``pyqt5``);
* the first of these that is installed.

The names that differ between them are the same here: ``Signal`` and ``Slot``.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from typing import Any, List

from ..errors import UsageError
from ..log import logger

__all__ = [
    "NAME",
    "QtCore",
    "QtGui",
    "QtWidgets",
    "Signal",
    "Slot",
    "check_application",
    "is_valid",
]

BINDINGS = ("PySide6", "PyQt6", "PyQt5")
INSTALL = (
    "claude_sync.gui.qt needs a Python binding of Qt, and there is none: no PySide6, PyQt6 or "
    "PyQt5. Install one: pip install PySide6"
)


def chosen() -> str:
    """The name of the binding to use; ImportError if there is none."""
    loaded = [name for name in BINDINGS if f"{name}.QtCore" in sys.modules]
    running = [name for name in loaded if has_application(name)]
    if running or loaded:
        return (running or loaded)[0]
    wanted = os.environ.get("QT_API", "").strip().lower()
    for name in BINDINGS:
        if name.lower() == wanted:
            return name
    installed: List[str] = [name for name in BINDINGS if importlib.util.find_spec(name)]
    if not installed:
        raise ImportError(INSTALL)
    return installed[0]


def has_application(name: str) -> bool:
    """Whether a binding that is loaded has an application."""
    return sys.modules[f"{name}.QtCore"].QCoreApplication.instance() is not None


def part(module: str) -> Any:
    """One of the binding's modules."""
    try:
        return importlib.import_module(f"{NAME}.{module}")
    except ImportError as error:
        raise ImportError(
            f"{NAME} cannot be loaded: {error}. Install it, or another binding of Qt (PySide6, "
            "PyQt6, PyQt5), and name that one in the environment variable QT_API."
        ) from error


def warn_of_bad_release(version: str) -> None:
    """Say that a release of PySide6 does not work with this Python, if that is so."""
    # It returns None, True and False without counting the reference, which only later
    # Pythons do not mind: after some thousand calls the interpreter frees one of them.
    if version == "6.12.0" and sys.version_info < (3, 12):
        logger.warning(
            "PySide6 6.12.0 makes Pythons before 3.12 crash sooner or later. Install another "
            "release: pip install 'PySide6<6.12'"
        )


NAME = chosen()
QtCore: Any = part("QtCore")
QtGui: Any = part("QtGui")
QtWidgets: Any = part("QtWidgets")
if NAME == "PySide6":
    warn_of_bad_release(QtCore.__version__)
Signal: Any = QtCore.Signal if NAME == "PySide6" else QtCore.pyqtSignal
Slot: Any = QtCore.Slot if NAME == "PySide6" else QtCore.pyqtSlot


def is_valid(item: Any) -> bool:
    """Whether an object of Qt has not been destroyed; Python may hold on to what has."""
    if NAME == "PySide6":
        return bool(importlib.import_module("shiboken6").isValid(item))
    return not importlib.import_module(f"{NAME}.sip").isdeleted(item)


def check_application(what: str, *, widgets: bool = False) -> Any:
    """The application; UsageError if *what* is not to be used here and now."""
    application = QtCore.QCoreApplication.instance()
    if application is None:
        others = [name for name in BINDINGS if name != NAME and f"{name}.QtCore" in sys.modules]
        for other in others:
            if has_application(other):
                raise UsageError(
                    f"the application of this program is one of {other}, but claude_sync.gui.qt "
                    f"was used before {other} was imported, and took {NAME}. Import {other} first, "
                    f"or set the environment variable QT_API={other.lower()}."
                )
        raise UsageError(
            f"{what} needs an application of Qt, and there is none yet. Make one first: "
            "app = QApplication(sys.argv)."
        )
    if QtCore.QThread.currentThread() != application.thread():
        raise UsageError(
            f"{what} belongs to the thread of the user interface, and this is another one. Call "
            "it where the application was made."
        )
    if widgets and not isinstance(application, QtWidgets.QApplication):
        raise UsageError(
            f"{what} is a widget, and a {type(application).__name__} has none. Make a "
            "QApplication instead."
        )
    return application
