"""The example with a window of Qt: as a person uses it, and as a program that is started."""

# ruff: noqa: F811  (fixtures are imported by their names)

import importlib.util
import json
import os
import textwrap

import pytest
from executables import ROOT, executable
from image_samples import png
from qt_fixtures import (  # noqa: F401
    BINDING,
    QtCore,
    QtGui,
    QtTest,
    QtWidgets,
    application,
    click,
    destroy,
    nothing_outlives_its_test,
    run_program,
    until,
)
from saved_sessions import conversation

from claude_sync.testing import StandIn

EXAMPLE = ROOT / "examples" / "qt_chat.py"
LONGEST = 190

if BINDING != "PySide6":
    pytest.skip("needs PySide6", allow_module_level=True)


@pytest.fixture(scope="module")
def example():
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("qt_chat", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def chat(example, application, tmp_path, monkeypatch):
    """The chat, with the stand-in."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    chat = example.Chat(cli=StandIn(pace=0.001).command, cwd=str(tmp_path))
    chat.show()
    yield chat
    client = chat.chat.client
    destroy(chat)
    client.close()


def said(chat):
    """What the window shows."""
    return chat.view.toPlainText()


def ask(chat, words):
    """Write a question and press Enter."""
    chat.entry.setPlainText(words)
    QtTest.QTest.keyClick(chat.entry, QtCore.Qt.Key.Key_Return)


def test_an_answer_is_shown_and_counted(chat, until):
    """The question, the text, the model, the tokens."""
    ask(chat, "hello there")
    assert chat.button.text() == "Stop"
    until(lambda: chat.turn is None)
    assert said(chat).split("\n")[:2] == ["hello there", "echo: hello there"]
    assert chat.button.text() == "Send"
    assert chat.entry.toPlainText() == ""
    status = chat.statusBar().currentMessage()
    assert status.startswith("claude-")
    assert " 0 tokens" not in status


def test_shift_and_enter_begin_a_line(chat):
    """Nothing is sent."""
    chat.entry.setPlainText("one")
    chat.entry.moveCursor(QtGui.QTextCursor.MoveOperation.End)
    shift = QtCore.Qt.KeyboardModifier.ShiftModifier
    QtTest.QTest.keyClick(chat.entry, QtCore.Qt.Key.Key_Return, shift)
    assert chat.turn is None
    assert said(chat) == ""
    assert chat.entry.toPlainText() == "one\n"


def test_stop_stops(chat, until):
    """And the next question is answered."""
    # Longer than the test waits.
    ask(chat, " ".join(f"word{number}" for number in range(600)) + " [[pace 0.1]]")
    until(lambda: "echo" in said(chat))
    click(chat.button)
    until(lambda: chat.turn is None)
    assert "word599" not in said(chat).partition("echo")[2]
    ask(chat, "again")
    until(lambda: chat.turn is None)
    assert "echo: again" in said(chat)


def test_enter_does_not_stop_an_answer(chat, until):
    """What is written meanwhile stays in the entry, and can be sent afterwards."""
    ask(chat, " ".join(f"word{number}" for number in range(600)) + " [[pace 0.1]]")
    until(lambda: "echo" in said(chat))
    turn = chat.turn
    ask(chat, "next")
    assert (chat.turn, turn.asked.was_cancelled) == (turn, False)
    click(chat.button)
    until(lambda: chat.turn is None)
    click(chat.button)
    until(lambda: "echo: next" in said(chat))
    until(lambda: chat.turn is None)


def test_files_are_named_as_seen_from_the_folder(chat, until, tmp_path):
    """The folder itself is no news."""
    path = json.dumps(str(tmp_path / "notes" / "a.txt"))
    ask(chat, f'[[tool Read {{"file_path": {path}}}]]')
    until(lambda: "\nRead" in said(chat))
    line = next(each for each in said(chat).split("\n") if each.startswith("Read"))
    assert line == f"Read  {os.path.join('notes', 'a.txt')}"
    chat.send_or_stop()
    until(lambda: chat.turn is None)


def test_it_asks_for_permission(chat, until, example):
    """With what the example proposes to try."""
    ask(chat, example.TRY)
    until(lambda: chat.findChildren(QtWidgets.QDialog))
    (dialog,) = chat.findChildren(QtWidgets.QDialog)
    assert dialog.windowTitle() == "Claude wants to run a command"
    click(dialog.allow_button)
    until(lambda: chat.turn is None)
    assert not chat.findChildren(QtWidgets.QDialog)
    assert "Bash  make test" in said(chat)


def test_a_failure_is_shown(chat, until):
    """In place of an answer; nothing is raised."""
    ask(chat, "hello")
    until(lambda: chat.turn is None)
    chat.chat.close()
    ask(chat, "hello")
    assert "closed" in said(chat)
    assert chat.turn is None


def test_images_go_along(chat, until, tmp_path, application):
    """From files and from the clipboard, once."""
    file = tmp_path / "dot.png"
    file.write_bytes(png())
    chat.attach([str(file)])
    image = QtGui.QImage(4, 3, QtGui.QImage.Format.Format_RGB32)
    image.fill(QtGui.QColor("red"))
    application.clipboard().setImage(image)
    chat.entry.paste()
    application.clipboard().clear()
    assert chat.attaching.text() == "2 attached"
    ask(chat, "look")
    until(lambda: chat.turn is None)
    assert "look  [2 attached]" in said(chat)
    assert said(chat).count("[image: image/png") == 2
    assert (chat.images, chat.attaching.text()) == ([], "Attach...")


def test_old_talks_can_be_resumed(chat, until, tmp_path):
    """They are listed and shown, and the client goes on with the one that is chosen."""
    conversation(tmp_path / ".claude", "My name is Ada.", cwd=os.path.realpath(tmp_path))
    chat.list_talks()
    assert chat.talks.itemText(1).endswith("My name is Ada.")
    first = chat.chat.client
    chat.talks.setCurrentIndex(1)
    chat.talks.activated.emit(1)
    assert "My name is Ada." in said(chat)
    assert chat.chat.client is not first
    assert chat.chat.client._options.resume == chat.saved[0].session_id
    until(lambda: first.state == "closed")
    chat.talks.activated.emit(0)
    assert said(chat) == ""


RUN = """
import runpy, sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QDialog

class Application(QApplication):
    def exec(self):
        timer = QTimer(self)
        timer.timeout.connect(self.act)
        timer.start(10)
        self.step = 0
        return super().exec()

    def act(self):
        window = next(each for each in self.topLevelWidgets() if hasattr(each, "entry"))
        dialogs = window.findChildren(QDialog)
        if self.step == 0:
            window.send()
            self.step = 1
        elif self.step == 1 and dialogs and dialogs[0].allow_button.isEnabled():
            dialogs[0].allow_button.click()
            self.step = 2
        elif self.step == 2 and window.turn is None:
            print(window.view.toPlainText())
            window.close()
            self.step = 3

import PySide6.QtWidgets
PySide6.QtWidgets.QApplication = Application
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_the_program_runs_from_start_to_end(tmp_path):
    """The example as it is: asked, allowed, closed; the end of its window is its end."""
    words = ("-c", RUN, str(EXAMPLE), "--offline")
    code, errors, printed = run_program(tmp_path, *words, PATH="")
    assert (code, errors) == (0, [])
    assert "offline, so not run" in printed


RUN_PAGE = """
import sys
import PySide6.QtWidgets
from PySide6.QtCore import QTimer

class Application(PySide6.QtWidgets.QApplication):
    def exec(self):
        views = [each for each in self.allWidgets() if hasattr(each, "insertPlainText")]
        timer = QTimer(self)
        timer.timeout.connect(lambda: views[0].toPlainText() == sys.argv[1] and self.quit())
        timer.start(10)
        return super().exec()

PySide6.QtWidgets.QApplication = Application
exec(compile(sys.stdin.read(), "qt.rst", "exec"))
"""


def test_the_code_of_the_page_runs(tmp_path):
    """The first program of the page on Qt, as it is printed, with the stand-in."""
    text = (ROOT / "docs/howto/qt.rst").read_text(encoding="utf-8")
    block = text.partition(".. code-block:: py\n\n")[2].partition(".. image::")[0]
    code, errors, _ = run_program(
        tmp_path,
        *("-c", RUN_PAGE, "echo: What does setup.py do?"),
        given=textwrap.dedent(block),
        CLAUDE_CODE_PATH=executable(tmp_path),
    )
    assert (code, errors) == (0, [])


def test_it_is_short_and_says_how_to_start_it():
    """One can read it in a few minutes."""
    text = EXAMPLE.read_text(encoding="utf-8")
    assert "python examples/qt_chat.py --offline" in text
    assert len(text.splitlines()) <= LONGEST
