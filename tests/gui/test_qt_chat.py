"""The chat in a widget of Qt, as a person uses it: see ``chat_scenes``."""

# ruff: noqa: F811  (fixtures are imported by their names)

import gc
import weakref

import pytest
from chat_scenes import *  # noqa: F403
from chat_scenes import TOOL, Person
from image_samples import png
from qt_fixtures import (  # noqa: F401
    QtCore,
    QtGui,
    QtTest,
    QtWidgets,
    application,
    cli,
    destroy,
    nothing_outlives_its_test,
    run_until,
    until,
)

from claude_sync.gui.qt import ChatWidget
from claude_sync.gui.qt_rows import FoldedRow
from claude_sync.testing import ScriptedCli, builders

Keys = QtCore.Qt.Key
KEYS = {"Enter": Keys.Key_Return, "Up": Keys.Key_Up, "Escape": Keys.Key_Escape}
SHIFT = QtCore.Qt.KeyboardModifier.ShiftModifier
PLAIN = QtCore.Qt.KeyboardModifier.NoModifier


class QtPerson(Person):
    """In front of a widget of Qt."""

    def __init__(self, cli, widget):
        self.cli, self.widget = cli, widget

    @property
    def entry(self):
        """What is typed into."""
        return self.widget.composer.entry

    def type(self, text):
        """See :class:`Person`."""
        QtTest.QTest.keyClicks(self.entry, text)

    def press(self, key):
        """See :class:`Person`."""
        shift = SHIFT if key.startswith("Shift-") else PLAIN
        QtTest.QTest.keyClick(self.entry, KEYS[key.removeprefix("Shift-")], shift)

    def typed(self):
        """See :class:`Person`."""
        return self.entry.toPlainText()

    def shown(self):
        """See :class:`Person`."""
        column = self.widget.conversation.column
        texts = []
        for row in self.widget.conversation.shown:
            for each in row.findChildren(QtWidgets.QWidget):
                if isinstance(each, QtWidgets.QTextEdit):
                    texts.append(each.toPlainText())
                elif isinstance(each, QtWidgets.QLabel) and each.isVisibleTo(column):
                    texts.append(each.text())
        return "\n".join(texts)

    def working(self):
        """What is said to go on."""
        return self.widget.composer.working.text()

    def _buttons(self, words):
        return [
            each
            for each in self.widget.findChildren(QtWidgets.QAbstractButton)
            if each.text().replace("&", "") == words and each.isEnabled() and each.isVisible()
        ]

    def can_click(self, words):
        """Whether there is such a button, and it works."""
        return bool(self._buttons(words))

    def click(self, words):
        """See :class:`Person`."""
        button = self._buttons(words)[-1]
        place = QtCore.QPoint(8, button.height() // 2)
        QtTest.QTest.mouseClick(button, QtCore.Qt.MouseButton.LeftButton, PLAIN, place)

    def unfold(self, words):
        """Click the line that says so."""
        for row in self.widget.conversation.shown:
            if isinstance(row, FoldedRow) and row.name.text() == words:
                QtTest.QTest.mouseClick(row.head, QtCore.Qt.MouseButton.LeftButton)

    def search(self, words):
        """Search the conversation."""
        control = QtCore.Qt.KeyboardModifier.ControlModifier
        QtTest.QTest.keyClick(self.entry, Keys.Key_F, control)
        assert self.widget.search.isVisible()
        QtTest.QTest.keyClicks(self.widget.search.words, words)

    def selected(self):
        """What is selected in the conversation."""
        texts = self.widget.conversation.findChildren(QtWidgets.QTextEdit)
        return "".join(each.textCursor().selectedText() for each in texts)

    def clipboard(self):
        """What was copied."""
        return QtWidgets.QApplication.clipboard().text()

    def letter(self):
        """How wide a letter is."""
        return self.entry.fontMetrics().horizontalAdvance("m" * 10)

    def is_at_end(self):
        """Whether the end of the conversation can be seen."""
        bar = self.widget.conversation.verticalScrollBar()
        return bar.value() == bar.maximum()

    def scroll_up(self):
        """With the scrollbar."""
        bar = self.widget.conversation.verticalScrollBar()
        bar.triggerAction(bar.SliderAction.SliderPageStepSub)
        bar.triggerAction(bar.SliderAction.SliderPageStepSub)

    def resize(self, width, height):
        """Another size of the window."""
        self.widget.resize(width, height)

    def destroy(self):
        """The end of the widget."""
        destroy(self.widget)

    def until(self, condition):
        """See :class:`Person`."""
        run_until(condition)


@pytest.fixture
def talk_of_qt(application, talk):
    """A client that was greeted, in a program with Qt."""
    return talk()


@pytest.fixture
def chat(talk_of_qt):
    """A person in front of a widget, whose client the program has made."""
    widget = ChatWidget(client=talk_of_qt.client)
    widget.resize(700, 600)
    widget.show()
    widget.activateWindow()
    widget.setFocus()
    person = QtPerson(talk_of_qt.cli, widget)
    yield person
    destroy(widget)


def test_a_window_of_its_own_has_room(talk_of_qt):
    """The program need not give it a size."""
    widget = ChatWidget(client=talk_of_qt.client)
    widget.show()
    assert widget.width() >= 500 and widget.height() >= 400
    destroy(widget)


@pytest.fixture
def make_own(application):
    """Make a widget with a client of its own; its person."""
    made = []

    def make(**options):
        made.append(ChatWidget(**options))
        made[-1].resize(700, 600)
        made[-1].show()
        return QtPerson(None, made[-1])

    yield make
    for each in made:
        client = each.client
        destroy(each)
        run_until(lambda client=client: client.state == "closed")


def test_its_own_client_ends_with_it(application):
    """Nothing is left: no process, no thread, no widget, however often."""
    clients, widgets = [], []
    for _ in range(100):
        widget = ChatWidget(transport=ScriptedCli())
        clients.append(widget.client)
        widgets.append(weakref.ref(widget))
        destroy(widget)
        del widget
    run_until(lambda: {client.state for client in clients} == {"closed"})
    gc.collect()
    assert [each for each in widgets if each() is not None] == []


def test_a_dark_palette_makes_it_dark(application, chat):
    """Also after it was made."""
    view, before = chat.widget.conversation, application.palette()
    roles = QtGui.QPalette.ColorRole
    palette = QtGui.QPalette(before)
    palette.setColor(roles.Base, QtGui.QColor("#202124"))
    palette.setColor(roles.Text, QtGui.QColor("#e8eaed"))
    try:
        application.setPalette(palette)
        chat.until(lambda: view.colours["back"] == "#202124")
    finally:
        application.setPalette(before)


def test_a_request_does_not_take_the_focus(chat):
    """From who types meanwhile."""
    user = chat.begin("build")
    chat.cli.say(builders.assistant(TOOL))
    request = chat.cli.ask_permission("Bash", {"command": "make"}, tool_use_id="toolu_1")
    chat.until(lambda: chat.can_click("Allow"))
    assert chat.widget.focusWidget() is chat.entry
    chat.click("Allow")
    chat.cli.expect_reply(request)
    chat.cli.end_turn(user, "done")


def test_files_are_dropped(chat, tmp_path):
    """They go with the next prompt."""
    (tmp_path / "a.txt").write_text("a")
    picture = QtCore.QMimeData()
    picture.setImageData(QtGui.QImage.fromData(png()))
    chat.entry.insertFromMimeData(picture)
    assert [each.name for each in chat.widget.presenter.attached] == ["image"]
    chat.widget.presenter.remove_attached(0)
    data = QtCore.QMimeData()
    data.setUrls([QtCore.QUrl.fromLocalFile(str(tmp_path / "a.txt"))])
    chat.entry.insertFromMimeData(data)
    assert [each.name for each in chat.widget.presenter.attached] == ["a.txt"]
    chat.until(lambda: chat.can_click("a.txt  ✕"))
    chat.click("a.txt  ✕")
    assert chat.widget.presenter.attached == []


def test_everything_has_a_name(chat):
    """For those who hear it read aloud."""
    kinds = (QtWidgets.QAbstractButton, QtWidgets.QLineEdit, QtWidgets.QPlainTextEdit)
    for kind in kinds:
        for each in chat.widget.findChildren(kind):
            hint = getattr(each, "placeholderText", str)()
            assert each.accessibleName() or hint or each.text().strip("▾ ")
