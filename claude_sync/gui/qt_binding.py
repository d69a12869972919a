"""
Qt, by qtpy, and what every module of ours needs of it.

A program must not use two bindings at once. The one that is imported already is taken; else the
one that the environment variable ``QT_API`` names (``pyside6``, ``pyqt6``, ``pyqt5``); else the
first of these that is installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from typing import Any, Callable

from ..errors import UsageError

__all__ = ["QtCore", "QtGui", "QtWidgets", "check_application", "is_valid"]

BINDINGS = ("PySide6", "PyQt6", "PyQt5")


def part(name: str) -> Any:
    """One of qtpy's modules."""
    try:
        return importlib.import_module(f"qtpy.{name}")
    except (ImportError, RuntimeError) as error:
        raise ImportError(
            "claude_sync.gui.qt needs qtpy and a Python binding of Qt: PySide6, PyQt6 or PyQt5. "
            f"Install them: pip install qtpy PySide6 ({error})"
        ) from error


if not os.environ.get("QT_API"):
    os.environ.pop("QT_API", None)
    installed = [name.lower() for name in BINDINGS if importlib.util.find_spec(name)]
    if installed and not any(name in sys.modules for name in BINDINGS):
        os.environ["QT_API"] = installed[0]  # qtpy alone would prefer PyQt5

QtCore: Any = part("QtCore")
QtGui: Any = part("QtGui")
QtWidgets: Any = part("QtWidgets")
# Whether an object of Qt has not been destroyed; Python may hold on to what has.
is_valid: Callable[[Any], bool] = part("compat").isalive


def check_application(what: str, *, widgets: bool = False) -> Any:
    """The application; UsageError if *what* is not to be used here and now."""
    application = QtCore.QCoreApplication.instance()
    if application is None:
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
