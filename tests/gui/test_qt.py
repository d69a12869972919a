"""``claude_sync.gui.qt``: what it has, and that nothing of Qt is loaded before it is used."""

from qt_fixtures import BINDING, run_program

IMPORTS = """
import importlib, sys
for name in ("claude_sync", "claude_sync.gui", "claude_sync.gui.qt"):
    importlib.import_module(name)
    print([n for n in sys.modules if n.split(".")[0] in ("PySide6", "PyQt6", "PyQt5")])
"""
NAMES_OF_QT = [
    *("Attachment", "ChatWidget", "PermissionDialog"),
    *("QtClient", "QuestionDialog", "attach"),
]
NAMES = """
from claude_sync.gui import qt
assert set(qt.__all__) <= set(dir(qt))
print(sorted(getattr(qt, name).__name__ for name in qt.__all__))
try:
    qt.QtClientt
except AttributeError as error:
    print(error)
"""


def printed_by(source, tmp_path):
    """What a fresh interpreter prints."""
    code, errors, printed = run_program(tmp_path, "-c", source, QT_API=BINDING)
    assert (code, errors) == (0, [])
    return printed.splitlines()


def test_an_import_loads_nothing_of_qt(tmp_path):
    """The toolkit is loaded with the first use of a name."""
    assert printed_by(IMPORTS, tmp_path) == ["[]"] * 3


def test_every_name_is_there_and_listed(tmp_path):
    """dir() shows what can be had, and anything else is an AttributeError."""
    names, error = printed_by(NAMES, tmp_path)
    assert names == str(NAMES_OF_QT)
    assert "QtClientt" in error
