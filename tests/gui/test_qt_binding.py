"""Which binding of Qt is used, and what is said where none can be."""

# ruff: noqa: F811  (fixtures are imported by their names)

import importlib.util
import threading

import pytest
from qt_fixtures import (  # noqa: F401
    BINDING,
    QtCore,
    QtWidgets,
    application,
    nothing_outlives_its_test,
    run_program,
)

from claude_sync import UsageError
from claude_sync.gui import qt_binding

# What is imported first; then which bindings qtpy may find.
CHOOSE = """
import importlib.util, sys
given, hidden = (words.split(",") for words in sys.argv[1:])
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name in hidden else find(name, *rest)
for name in filter(None, hidden):
    sys.modules[name] = None
for name in filter(None, given):
    __import__(f"{name}.QtCore")
try:
    from claude_sync.gui.qt_binding import QtCore
except ImportError as error:
    print(error)
else:
    print(QtCore.Signal.__module__.split(".")[0])
"""


@pytest.mark.parametrize(
    ("given", "hidden", "wanted", "found"),
    [
        (BINDING, "", "", BINDING),
        ("", "", BINDING.lower(), BINDING),
        ("", "PySide6,PyQt6,PyQt5,PySide2", "", "pip install qtpy PySide6"),
    ],
)
def test_which_binding_is_chosen(tmp_path, given, hidden, wanted, found):
    """The one that is imported, the one that the environment names; else the error says what."""
    code, _, printed = run_program(tmp_path, "-c", CHOOSE, given, hidden, QT_API=wanted)
    assert code == 0
    assert found in printed


def test_the_first_choice_is_pyside(tmp_path):
    """Where nothing says otherwise."""
    if importlib.util.find_spec("PySide6") is None:
        pytest.skip("needs PySide6")
    assert run_program(tmp_path, "-c", CHOOSE, "", "", QT_API="")[2] == "PySide6\n"


def test_without_an_application_the_error_says_how_to_make_one(tmp_path):
    """An object of the user interface is of no use without one."""
    words = "from claude_sync.gui import qt; qt.PermissionDialog.handler()"
    code, errors, _ = run_program(tmp_path, "-c", words, QT_API=BINDING.lower())
    assert code == 1
    assert "app = QApplication(sys.argv)" in errors[-1]


def test_another_thread_than_the_applications_is_refused(application):
    """Objects of the user interface belong to one thread."""
    errors = []

    def check():
        try:
            qt_binding.check_application("a dialog")
        except UsageError as error:
            errors.append(str(error))

    thread = threading.Thread(target=check)
    thread.start()
    thread.join()
    assert "a dialog belongs to the thread of the user interface" in errors[0]
    assert qt_binding.check_application("a dialog") is application


def test_widgets_need_an_application_that_has_them(tmp_path):
    """A QCoreApplication draws nothing; a dialog in it would end the program."""
    words = (
        f"from {BINDING} import QtCore; a = QtCore.QCoreApplication([]); "
        "from claude_sync.gui import qt; qt.PermissionDialog.handler()"
    )
    code, errors, _ = run_program(tmp_path, "-c", words)
    assert code == 1
    assert "Make a QApplication" in errors[-1]
