"""The programs with Tk windows that the documents show run as they are printed."""

import os
import re
import signal
import textwrap

import pytest
from executables import ROOT, executable
from tk_events import click, press

import claude_sync
from claude_sync.gui import tk

BLOCK = re.compile(r"^\.\. code-block:: py\n\n((?:    .*\n|\n)+)", re.MULTILINE)
PAGE = "docs/howto/tk.rst"
ASKED = 'Hello! [[tool Write {"file_path": "haiku.txt", "content": "threads wait in line"}]]'


def program_of(page, word):
    """The first program of a page that has a window and the word."""
    blocks = BLOCK.findall((ROOT / page).read_text("utf-8"))
    return textwrap.dedent(next(each for each in blocks if "mainloop" in each and word in each))


@pytest.fixture
def run(tkinter, tmp_path, monkeypatch):
    """Run the program of the page; a function plays the person at its window."""

    def start(person):
        names = {}
        monkeypatch.setenv("CLAUDE_CODE_PATH", executable(tmp_path, pace=0.001))
        monkeypatch.setattr(tkinter.Misc, "mainloop", lambda root, *_: person(root, names))
        exec(compile(program_of(PAGE, "attach"), PAGE, "exec"), names)
        names["client"].close()
        assert isinstance(names["client"], claude_sync.Client)
        assert names["client"].state == "closed"

    return start


def ask(names, question):
    """Type a question and press Enter."""
    names["entry"].insert(0, question)
    press(names["entry"], "Return")
    assert names["entry"].get() == ""


@pytest.mark.parametrize("page", ["README.rst", PAGE])
def test_three_lines_are_a_chat(page, tkinter, tmp_path, monkeypatch, until):
    """The window has room, and a person can type at once."""
    shown = []

    def person(root, *_):
        (chat,) = root.winfo_children()
        root.update()
        assert root.winfo_width() > 500 and root.winfo_height() > 400
        until(root, lambda: root.focus_lastfor() is chat.composer.entry)
        chat.composer.entry.insert("1.0", "Hello")
        press(chat.composer.entry, "Return")
        until(root, lambda: "echo: Hello" in chat.conversation.text.get("1.0", "end"))
        shown.append(chat.client)
        root.destroy()

    monkeypatch.setenv("CLAUDE_CODE_PATH", executable(tmp_path, pace=0.001))
    monkeypatch.setattr(tkinter.Misc, "mainloop", person)
    exec(compile(program_of(page, "ChatFrame"), page, "exec"), {})
    shown[0].close()


def test_the_window_of_the_page(run, until, monkeypatch):
    """Enter asks, a dialog shows what would happen, Allow lets it happen, and more can be asked."""
    dialogs = []

    class Dialog(tk.PermissionDialog):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            dialogs.append(self)

    monkeypatch.setattr(tk, "PermissionDialog", Dialog)

    def person(root, names):
        view = names["view"]
        names["entry"].focus_force()
        ask(names, ASKED)
        until(root, lambda: dialogs)
        assert "threads wait in line" in dialogs[0].view.preview.get("1.0", "end")
        click(dialogs[0].view.buttons["allow"])
        until(root, lambda: "offline, so not run" in view.get("1.0", "end"))
        until(root, lambda: names["client"].state == "idle")
        ask(names, "And then?")
        until(root, lambda: "echo: And then?" in view.get("1.0", "end"))
        assert view.yview()[1] == 1.0
        root.destroy()

    run(person)


def test_the_window_tells_what_went_wrong(run, until):
    """The program does not wait for the answer, and a failure shows all the same."""

    def person(root, names):
        names["entry"].focus_force()
        ask(names, "[[sleep 60]]")
        until(root, lambda: names["client"].state == "busy")
        os.kill(names["client"].pid, signal.SIGTERM)
        until(root, lambda: "the CLI exited" in names["view"].get("1.0", "end"))
        root.destroy()

    run(person)


def test_its_button_stops(run, until):
    """Stop ends the turn that runs, and the conversation goes on."""

    def person(root, names):
        button = next(each for each in root.winfo_children() if each.winfo_class() == "Button")
        click(button)  # nothing runs
        names["entry"].focus_force()
        ask(names, "[[sleep 60]]")
        until(root, lambda: names["client"].state == "busy")
        click(button)
        until(root, lambda: "interrupted" in names["view"].get("1.0", "end"))
        root.destroy()

    run(person)
