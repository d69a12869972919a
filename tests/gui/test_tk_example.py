"""The example with a window: as a person uses it, and as a program that is started."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys

import pytest
from executables import ROOT, clean_environment
from image_samples import png
from saved_sessions import conversation
from tk_events import click, press
from window_fixtures import PATIENCE

from claude_sync.testing import StandIn

EXAMPLE = ROOT / "examples" / "tk_chat.py"
LONGEST = 190


@pytest.fixture(scope="module")
def example(tkinter):
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("tk_chat", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def chat(example, root, tmp_path, monkeypatch):
    """The chat in a window, with the stand-in."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    chat = example.Chat(root, cli=StandIn(pace=0.001).command, cwd=str(tmp_path))
    chat.pack(fill="both", expand=True)
    root.update()
    yield chat
    clients = [chat.client]
    root.destroy()
    for client in clients:
        client.close()


@pytest.fixture
def dialogs(root, tkinter):
    """The dialogs that are open."""
    return lambda: [each for each in root.winfo_children() if isinstance(each, tkinter.Toplevel)]


def said(chat):
    """What the window shows."""
    return chat.view.get("1.0", "end-1c")


def ask(chat, words):
    """Write a question and press Enter."""
    chat.entry.insert("1.0", words)
    press(chat.entry, "Return")


def test_an_answer_is_shown_and_counted(chat, root, until):
    """The question, the text, the model, the tokens."""
    ask(chat, "hello there")
    assert str(chat.button["text"]) == "Stop"
    until(root, lambda: chat.turn is None)
    assert said(chat).split("\n")[:2] == ["hello there", "echo: hello there"]
    assert str(chat.button["text"]) == "Send"
    assert chat.entry.get("1.0", "end-1c") == ""
    status = str(chat.status["text"])
    assert status.startswith("claude-")
    assert " 0 tokens" not in status


def test_stop_stops(chat, root, until):
    """And the next question is answered."""
    # Longer than the test waits.
    ask(chat, " ".join(f"word{number}" for number in range(600)) + " [[pace 0.1]]")
    until(root, lambda: "echo" in said(chat))
    click(chat.button)
    until(root, lambda: chat.turn is None)
    assert "word599" not in said(chat).partition("echo")[2]
    ask(chat, "again")
    until(root, lambda: chat.turn is None)
    assert "echo: again" in said(chat)


def test_enter_does_not_stop_an_answer(chat, root, until):
    """What is written meanwhile stays in the entry, and can be sent afterwards."""
    ask(chat, " ".join(f"word{number}" for number in range(600)) + " [[pace 0.1]]")
    until(root, lambda: "echo" in said(chat))
    turn = chat.turn
    ask(chat, "next")
    assert (chat.turn, turn.asked.was_cancelled) == (turn, False)
    click(chat.button)
    until(root, lambda: chat.turn is None)
    click(chat.button)
    until(root, lambda: "echo: next" in said(chat))
    until(root, lambda: chat.turn is None)


def test_files_are_named_as_seen_from_the_folder(chat, root, until, tmp_path):
    """The folder itself is no news."""
    path = json.dumps(str(tmp_path / "notes" / "a.txt"))
    ask(chat, f'[[tool Read {{"file_path": {path}}}]]')
    until(root, lambda: "\nRead" in said(chat))
    line = next(each for each in said(chat).split("\n") if each.startswith("Read"))
    assert line == f"Read  {os.path.join('notes', 'a.txt')}"
    chat.send_or_stop()
    until(root, lambda: chat.turn is None)


def test_it_asks_for_permission(chat, root, until, dialogs, example):
    """With what the example proposes to try."""
    ask(chat, example.TRY)
    until(root, dialogs)
    assert dialogs()[0].title() == "Claude wants to run a command"
    press(dialogs()[0], "Alt-a")
    until(root, lambda: chat.turn is None)
    assert dialogs() == []
    assert "Bash  make test" in said(chat)


def test_a_failure_is_shown(chat, root, until):
    """In place of an answer; nothing is raised."""
    ask(chat, "hello")
    until(root, lambda: chat.turn is None)
    chat.client.close(wait=False)
    ask(chat, "hello")
    assert "closed" in said(chat)
    assert chat.turn is None


def test_images_go_along(chat, root, until, tmp_path):
    """From files and from the clipboard, once."""
    file = tmp_path / "dot.png"
    file.write_bytes(png())
    chat.attach([str(file)])
    words = " ".join(hex(byte) for byte in file.read_bytes())
    chat.clipboard_get = lambda type: words
    chat.entry.event_generate("<<Paste>>")
    assert str(chat.attaching["text"]) == "2 attached"
    ask(chat, "look")
    until(root, lambda: chat.turn is None)
    assert "look  [2 attached]" in said(chat)
    assert (chat.images, str(chat.attaching["text"])) == ([], "Attach...")


def test_old_talks_can_be_resumed(chat, root, until, tmp_path):
    """They are listed and shown, and the client goes on with the one that is chosen."""
    conversation(tmp_path / ".claude", "My name is Ada.", cwd=os.path.realpath(tmp_path))
    chat.list_talks()
    assert chat.talks["values"][1].endswith("My name is Ada.")
    first = chat.client
    chat.talks.current(1)
    chat.talks.event_generate("<<ComboboxSelected>>")
    assert "My name is Ada." in said(chat)
    assert chat.client is not first
    assert chat.client._options.resume == chat.saved[0].session_id
    until(root, lambda: first.state == "closed" or first.pid is None)
    chat.talks.current(0)
    chat.talks.event_generate("<<ComboboxSelected>>")
    assert said(chat) == ""


def test_what_is_left_of_another_talk_is_not_shown(chat, root, until):
    """Text that still waits for the window when somebody begins a new conversation."""
    ask(chat, "hello there")
    until(root, lambda: chat.turn is None)
    before = chat.client
    chat.resume(0)
    assert chat.client is not before
    for handler in before._registry.of["text"]:
        handler("the last words")
    assert said(chat) == ""


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


# A window that another program destroys may be one that Tk draws into just then, which ends it
# with an error. So it gets a key that does what the window manager's button does.
RUN = """
import runpy, sys, tkinter
from claude_sync.permissions import forms

forms.SETTLING = 0

class Root(tkinter.Tk):
    def mainloop(self):
        self.bind_all("<F12>", self.end)
        super().mainloop()

    def end(self, _):
        windows = [each for each in self.winfo_children() if each.winfo_class() == "Toplevel"]
        print(len(windows), "dialogs are left")
        self.destroy()

tkinter.Tk = Root
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_the_program_runs_from_start_to_end(display, tkinter, tmp_path):
    """Keys from outside: Enter asks, Alt+A allows; closing the window ends everything."""
    environment = clean_environment(tmp_path, PATH=os.environ["PATH"], DISPLAY=display)
    keyboard = Keyboard(environment)
    program = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", RUN, str(EXAMPLE), "--offline"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=tmp_path,
    )
    try:
        (window,) = keyboard("search", "--sync", "--onlyvisible", "--name", "^Claude$")
        keyboard("windowfocus", "--sync", window, "key", "Return")
        (dialog,) = keyboard("search", "--sync", "--onlyvisible", "--name", "wants to run")
        keyboard("windowfocus", "--sync", dialog, "key", "alt+a")
        keyboard("search", "--sync", "--onlyvisible", "--name", "^Claude$")
        keyboard("windowfocus", "--sync", window, "key", "F12")
        output, errors = program.communicate(timeout=PATIENCE)
        assert (program.returncode, errors) == (0, b"")
        assert output.split() == b"0 dialogs are left".split()
    finally:
        if program.poll() is None:
            program.kill()
            program.communicate()


def test_it_is_short_and_says_how_to_start_it():
    """One can read it in a few minutes."""
    text = EXAMPLE.read_text(encoding="utf-8")
    assert "python examples/tk_chat.py --offline" in text
    assert len(text.splitlines()) <= LONGEST
