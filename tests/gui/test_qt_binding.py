"""Which binding of Qt is used, and what is said where none can be."""

# ruff: noqa: F811  (fixtures are imported by their names)

import importlib.util
import logging
import sys
import threading
import types

import pytest
from qt_fixtures import (  # noqa: F401
    BINDING,
    QtCore,
    QtWidgets,
    application,
    nothing_outlives_its_test,
)

from claude_sync import UsageError
from claude_sync.gui import qt_binding

OTHERS = [name for name in qt_binding.BINDINGS if name != BINDING]


class FakeBinding:
    """As much of a binding as is looked at before one is chosen."""

    def __init__(self, running):
        core = types.ModuleType("QtCore")
        core.QCoreApplication = types.SimpleNamespace(instance=lambda: running or None)
        self.core = core


@pytest.fixture
def world(monkeypatch):
    """Pretend which bindings are imported, have an application, and are installed."""

    def arrange(loaded=(), running=(), installed=(), wanted=None):
        for name in qt_binding.BINDINGS:
            monkeypatch.delitem(sys.modules, f"{name}.QtCore", raising=False)
        for name in loaded:
            monkeypatch.setitem(sys.modules, f"{name}.QtCore", FakeBinding(name in running).core)
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: name in installed or None)
        if wanted is None:
            monkeypatch.delenv("QT_API", raising=False)
        else:
            monkeypatch.setenv("QT_API", wanted)

    return arrange


CHOICES = [
    # The one that is imported, whatever else there is.
    ({"loaded": ["PyQt5"], "installed": ["PySide6", "PyQt5"]}, "PyQt5"),
    ({"loaded": ["PyQt6"], "wanted": "pyqt5"}, "PyQt6"),
    # Of several the one whose application runs, else the first.
    ({"loaded": ["PySide6", "PyQt5"], "running": ["PyQt5"]}, "PyQt5"),
    ({"loaded": ["PyQt5", "PyQt6"]}, "PyQt6"),
    # None is imported: what the environment says, else the first that is installed.
    ({"installed": ["PySide6", "PyQt5"], "wanted": "PyQt5"}, "PyQt5"),
    ({"installed": ["PySide6", "PyQt6", "PyQt5"]}, "PySide6"),
    ({"installed": ["PyQt6", "PyQt5"]}, "PyQt6"),
    ({"installed": ["PyQt5"], "wanted": "pyside2"}, "PyQt5"),
]


def test_which_binding_is_chosen(world):
    """The program's own, if it can be told."""
    found = []
    for arranged, _ in CHOICES:
        world(**arranged)
        found.append((arranged, qt_binding.chosen()))
    assert found == CHOICES


def test_without_any_binding_the_error_says_how_to_get_one(world):
    """There is none: one line to install one."""
    world()
    with pytest.raises(ImportError, match="pip install PySide6"):
        qt_binding.chosen()


def test_a_binding_that_cannot_be_loaded_is_named(monkeypatch):
    """It may lack a library of the system's; then there are others."""
    monkeypatch.setattr(qt_binding, "NAME", "PyQtNone")
    with pytest.raises(ImportError, match=r"PyQtNone cannot be loaded: .* QT_API"):
        qt_binding.part("QtCore")


def test_the_tests_use_the_binding_they_mean():
    """What is imported first is used; and its names are the same everywhere."""
    assert qt_binding.NAME == BINDING
    assert qt_binding.QtCore is QtCore

    class Source(QtCore.QObject):
        signal = qt_binding.Signal(str)

    heard = []
    source = Source()
    source.signal.connect(heard.append)
    source.signal.emit("word")
    assert heard == ["word"]


def test_without_an_application_the_error_says_how_to_make_one(world, monkeypatch):
    """An object of the user interface is of no use without one."""
    without = types.SimpleNamespace(QCoreApplication=types.SimpleNamespace(instance=lambda: None))
    monkeypatch.setattr(qt_binding, "QtCore", without)
    world()
    with pytest.raises(UsageError, match=r"attach\(\) needs .* app = QApplication"):
        qt_binding.check_application("attach()")


def test_an_application_of_another_binding_is_told(world, monkeypatch):
    """The program imported its binding after ours was chosen: the error says what to do."""
    without = types.SimpleNamespace(QCoreApplication=types.SimpleNamespace(instance=lambda: None))
    monkeypatch.setattr(qt_binding, "QtCore", without)
    world(loaded=OTHERS, running=[OTHERS[1]])
    with pytest.raises(UsageError, match=f"QT_API={OTHERS[1].lower()}"):
        qt_binding.check_application("attach()")


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


def test_widgets_need_an_application_that_has_them(application, monkeypatch):
    """A QCoreApplication draws nothing; a dialog in it would end the program."""
    monkeypatch.setattr(
        qt_binding, "QtWidgets", types.SimpleNamespace(QApplication=QtWidgets.QDialog)
    )
    with pytest.raises(UsageError, match="Make a QApplication"):
        qt_binding.check_application("PermissionDialog", widgets=True)


def test_what_was_destroyed_is_not_valid(application):
    """Python may hold on to what Qt has destroyed."""
    child = QtCore.QObject()
    parent = QtCore.QObject()
    child.setParent(parent)
    assert qt_binding.is_valid(child)
    del parent
    assert not qt_binding.is_valid(child)


def test_a_release_that_crashes_is_told(monkeypatch, caplog):
    """One release of PySide6 miscounts references, which old Pythons do not survive."""
    told = []
    for version, python in (("6.12.0", (3, 11)), ("6.12.0", (3, 12)), ("6.11.3", (3, 11))):
        caplog.clear()
        with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "claude_sync"):
            patch.setattr(sys, "version_info", python)
            qt_binding.warn_of_bad_release(version)
        told.append("pip install 'PySide6<6.12'" in caplog.text)
    assert told == [True, False, False]
