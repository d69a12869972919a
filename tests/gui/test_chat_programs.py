"""Chats as programs: the examples, the command and the code of a page, from start to end."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest
from executables import ROOT, clean_environment, executable
from qt_fixtures import run_program
from window_fixtures import PATIENCE

EXAMPLES = ROOT / "examples"
COMMAND = "claude_sync.gui"

# A window that another program destroys may be one that Tk draws into just then, which ends it
# with an error. So it ends by itself, when it has shown what it is to show.
TK = """
import os, runpy, sys, tkinter

def walk(widget):
    for child in widget.winfo_children():
        yield child
        yield from walk(child)

class Root(tkinter.Tk):
    def mainloop(self):
        self.look()
        super().mainloop()

    def look(self):
        chat = next(each for each in walk(self) if hasattr(each, "presenter"))
        shown = chat.conversation.text.get("1.0", "end")
        if os.environ["WANTED"] in shown and not chat.presenter.is_working:
            self.destroy()
        else:
            self.after(10, self.look)

tkinter.Tk = Root
"""
QT = """
import os, runpy, sys
import PySide6.QtWidgets
from PySide6.QtCore import QTimer

class Application(PySide6.QtWidgets.QApplication):
    def exec(self):
        timer = QTimer(self)
        timer.timeout.connect(self.look)
        timer.start(10)
        self.was_asked = False
        return super().exec()

    def look(self):
        (chat,) = [each for each in self.topLevelWidgets() if hasattr(each, "presenter")]
        if not self.was_asked:
            self.was_asked = True
            chat.ask("Hello")
        answers = [row.text for row in chat.presenter.rows() if row.kind == "prose"]
        if os.environ["WANTED"] in answers and not chat.presenter.is_working:
            chat.close()

PySide6.QtWidgets.QApplication = Application
"""
RUN = """
sys.argv = sys.argv[1:]
run = runpy.run_path if sys.argv[0].endswith(".py") else runpy.run_module
run(sys.argv[0], run_name="__main__")
"""


class Keyboard:
    """Presses keys in other programs' windows."""

    def __init__(self, environment):
        self._environment = environment
        self._program = shutil.which("xdotool")
        if self._program is None:
            pytest.skip("needs xdotool")

    def __call__(self, *words):
        """Run it; what it printed."""
        return subprocess.run(
            [self._program, *words],
            env=self._environment,
            check=True,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        ).stdout.split()


@pytest.mark.parametrize(
    ("program", "wanted", "types"),
    [
        (EXAMPLES / "tk_chat.py", "echo: Hello", True),
        (EXAMPLES / "tk_embed.py", "sync__selection:", False),
        (COMMAND, "echo: Hello", True),
    ],
)
def test_a_program_of_tk_runs_from_start_to_end(display, tkinter, tmp_path, program, wanted, types):
    """Keys come from outside; the end of the window is the end of everything."""
    environment = clean_environment(
        tmp_path, PATH=os.environ["PATH"], DISPLAY=display, WANTED=wanted
    )
    keyboard = Keyboard(environment)
    running = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", TK + RUN, str(program), "--offline"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=tmp_path,
    )
    try:
        if types:
            (window,) = keyboard("search", "--sync", "--onlyvisible", "--name", "^Claude$")
            keyboard("windowfocus", "--sync", window, "type", "Hello")
            keyboard("key", "Return")
        _, errors = running.communicate(timeout=PATIENCE)
        assert (running.returncode, errors) == (0, b"")
    finally:
        if running.poll() is None:
            running.kill()
            running.communicate()


@pytest.mark.parametrize("words", [(str(EXAMPLES / "qt_chat.py"),), (COMMAND, "--qt")])
def test_a_program_of_qt_runs_from_start_to_end(tmp_path, words):
    """It answers, and the end of its window is its end."""
    code, errors, _ = run_program(
        tmp_path, "-c", QT + RUN, *words, "--offline", PATH="", WANTED="echo: Hello"
    )
    assert (code, errors) == (0, [])


@pytest.mark.parametrize(("name", "longest"), [("tk_chat", 30), ("qt_chat", 30), ("tk_embed", 65)])
def test_an_example_is_short_and_says_how_to_start_it(name, longest):
    """One can read it in a minute."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert f"python examples/{name}.py --offline" in text
    assert len(text.splitlines()) <= longest


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
    """The program with QtClient of the page on Qt, as it is printed, with the stand-in."""
    text = (ROOT / "docs/howto/qt.rst").read_text(encoding="utf-8")
    block = next(
        each.partition("\n``QtClient``")[0]
        for each in text.split(".. code-block:: py\n\n")
        if "QtClient(window" in each
    )
    code, errors, _ = run_program(
        tmp_path,
        *("-c", RUN_PAGE, "echo: What does setup.py do?"),
        given=textwrap.dedent(block),
        CLAUDE_CODE_PATH=executable(tmp_path),
    )
    assert (code, errors) == (0, [])
