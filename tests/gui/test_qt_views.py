"""What is inside the dialogs of Qt can be read, and is never taken for markup."""

# ruff: noqa: F811  (fixtures are imported by their names)

import types

import pytest
from qt_fixtures import (  # noqa: F401
    QtCore,
    QtGui,
    QtWidgets,
    application,
    nothing_outlives_its_test,
)

from claude_sync.gui import qt_views
from claude_sync.gui.qt_views import DiffView, QuestionView, paragraph, title_label
from claude_sync.permissions.forms import Line, QuestionField
from claude_sync.permissions.questions import Question, QuestionOption
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
    if all(len(widths(QtGui.QFont(family))) > 1 for family in qt_views.FIXED_FAMILIES):
        pytest.skip("needs fonts")
    view = DiffView(LINES)
    assert view.isReadOnly()
    assert len(widths(view.font())) == 1


def test_the_systems_font_is_taken_if_it_has_one_width(application, monkeypatch):
    """Else one of those that have it."""
    system = QtGui.QFontDatabase.systemFont(QtGui.QFontDatabase.SystemFont.FixedFont)
    monkeypatch.setattr(qt_views, "is_of_one_width", lambda font: True)
    assert qt_views.fixed_font().family() == system.family()
    monkeypatch.setattr(
        qt_views, "is_of_one_width", lambda font: font.family() == "Liberation Mono"
    )
    assert qt_views.fixed_font().family() == "Liberation Mono"


def test_the_width_of_letters_is_measured(monkeypatch):
    """Whatever a font says of itself."""

    def metrics(font):
        return types.SimpleNamespace(horizontalAdvance=font)

    monkeypatch.setattr(qt_views, "QtGui", types.SimpleNamespace(QFontMetrics=metrics))
    assert qt_views.is_of_one_width(lambda letter: 7)
    assert not qt_views.is_of_one_width(lambda letter: 6 if letter in "i." else 7)


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


def test_texts_are_plain(application):
    """What Claude wrote is no markup, and ``&`` no shortcut."""
    for make in (paragraph, title_label):
        label = make("<img src=x> & <b>bold</b>")
        assert label.textFormat() == QtCore.Qt.TextFormat.PlainText
        assert label.text() == "<img src=x> & <b>bold</b>"
    question = Question(
        "Salt & <b>pepper</b>?", "A & B", (QuestionOption("this & that", "<i>tasty</i>"),), False
    )
    view = QuestionView(QuestionField(question), lambda: None)
    assert view.title() == "A && B"
    assert view.options[0].text() == "this && that"
    labels = view.findChildren(QtWidgets.QLabel)
    assert [label.text() for label in labels] == ["Salt & <b>pepper</b>?", "<i>tasty</i>"]
    assert {label.textFormat() for label in labels} == {QtCore.Qt.TextFormat.PlainText}


@pytest.mark.parametrize(("several", "kind"), [(False, "QRadioButton"), (True, "QCheckBox")])
def test_what_can_be_chosen_looks_like_it(application, several, kind):
    """Round for one answer, square for several."""
    options = (QuestionOption("a", ""), QuestionOption("b", ""))
    view = QuestionView(QuestionField(Question("Q?", "", options, several)), lambda: None)
    assert {type(option).__name__ for option in view.options} == {kind}
