"""What is inside the dialogs of Qt can be read, and is never taken for markup."""

# ruff: noqa: F811  (fixtures are imported by their names)

import pytest
from qt_fixtures import (  # noqa: F401
    QtCore,
    QtGui,
    QtWidgets,
    application,
    nothing_outlives_its_test,
)

from claude_sync.gui.qt_views import DiffView
from claude_sync.permissions.forms import Line
from claude_sync.render.rows import colours

LIGHT = colours((255, 255, 255), (0, 0, 0), (0, 0, 255))
DARK = colours((32, 32, 32), (238, 238, 238), (0, 0, 255))
LINES = (
    Line("plain", "--- a.py"),
    Line("hunk", "@@ -1 +1 @@"),
    Line("removed", "-<b>old</b>"),
    Line("added", "+new"),
    Line("note", "... 3 more lines"),
)


def colours_of(view):
    """For each line: its text, the colour behind it, and its own."""
    found = []
    block = view.document().firstBlock()
    while block.isValid():
        behind = block.blockFormat().background()
        fragment = block.begin().fragment()
        own = fragment.charFormat().foreground()
        empty = QtCore.Qt.BrushStyle.NoBrush
        found.append(
            (
                block.text(),
                "" if behind.style() == empty else behind.color().name(),
                "" if own.style() == empty else own.color().name(),
            )
        )
        block = block.next()
    return found


def test_lines_have_the_colours_of_their_kind(application):
    """And every character is shown as it is."""
    assert colours_of(DiffView(LINES)) == [
        ("--- a.py", "", ""),
        ("@@ -1 +1 @@", LIGHT["hunk"], ""),
        ("-<b>old</b>", LIGHT["removed"], ""),
        ("+new", LIGHT["added"], ""),
        ("... 3 more lines", "", LIGHT["note"]),
    ]


def test_dark_windows_have_dark_colours(application):
    """Text that is light on a dark ground stays readable."""
    kept = application.palette()
    roles = QtGui.QPalette.ColorRole
    dark = QtGui.QPalette(kept)
    dark.setColor(roles.Base, QtGui.QColor("#202020"))
    dark.setColor(roles.Text, QtGui.QColor("#eeeeee"))
    application.setPalette(dark)
    try:
        view = DiffView(LINES)
    finally:
        application.setPalette(kept)
    assert colours_of(view)[3] == ("+new", DARK["added"], "")


def widths(font):
    """The widths of letters that are unlike each other."""
    width = QtGui.QFontMetrics(font).horizontalAdvance
    return {width(letter) for letter in "iW0.m "}


def test_a_preview_is_read_only_and_of_one_width(application):
    """Columns of code stand below each other, and nobody edits them."""
    if len(widths(QtGui.QFont("monospace"))) > 1:
        pytest.skip("needs fonts")
    view = DiffView(LINES)
    assert view.isReadOnly()
    assert len(widths(view.font())) == 1


def test_nothing_hides_at_the_end_of_a_line(application):
    """A command that goes on behind many blanks is seen as a whole."""
    view = DiffView((Line("plain", "$ ls" + " " * 300 + "; rm -rf build"),))
    view.resize(view.sizeHint())
    view.show()
    end = view.textCursor()
    end.movePosition(QtGui.QTextCursor.MoveOperation.End)
    assert view.viewport().rect().contains(view.cursorRect(end))


def test_a_preview_is_as_large_as_its_lines_within_limits(application):
    """Short ones take little room, long ones do not cover the screen."""
    few, many = DiffView(LINES[:1]), DiffView(LINES * 100)
    some = DiffView(LINES * 2)
    assert few.sizeHint().height() < some.sizeHint().height() < many.sizeHint().height()
    assert many.sizeHint().height() == DiffView(LINES * 200).sizeHint().height()
    wide, wider = (DiffView((Line("plain", "x" * count),)) for count in (500, 1_000))
    assert few.sizeHint().width() < wide.sizeHint().width() == wider.sizeHint().width()
    assert DiffView(()).sizeHint().height() == few.sizeHint().height()
