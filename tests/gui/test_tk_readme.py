"""The README's examples of Tk windows run as they are printed."""

import os
import re
import signal
import textwrap

import pytest
from executables import ROOT, executable
from tk_events import click, press

import claude_sync

README = (ROOT / "README.rst").read_text("utf-8")
BLOCK = re.compile(r"^\.\. code-block:: py\n\n((?:    .*\n|\n)+)", re.MULTILINE)


@pytest.fixture
def run(tkinter, tmp_path, monkeypatch):
    """Run the block of a section; a function plays the person at its window."""

    def start(section, person):
        text = README.partition(f"\n{section}\n---")[2].partition("\n\n\n")[0]
        (code,) = BLOCK.findall(text)
        names = {}
        monkeypatch.setenv("CLAUDE_CODE_PATH", executable(tmp_path, pace=0.001))
        monkeypatch.setattr(tkinter.Misc, "mainloop", lambda root, *_: person(root, names))
        exec(compile(textwrap.dedent(code), "README.rst", "exec"), names)
        names["client"].close()
        assert isinstance(names["client"], claude_sync.Client)
        assert names["client"].state == "closed"

    return start


def test_the_window_of_the_section(run, until):
    """It shows the answer, its button stops, and its end is the end of the client."""

    def person(root, names):
        until(root, lambda: "setup.py" in names["view"].get("1.0", "end"))
        button = next(each for each in root.winfo_children() if each.winfo_class() == "Button")
        click(button)
        until(root, names["turn"].done)
        assert names["client"].state == "idle"
        root.destroy()

    run("Tkinter", person)


def test_the_first_window(run, until, monkeypatch):
    """Enter asks, a dialog shows what would happen, Allow lets it happen, and more can be asked."""
    from claude_sync.gui import tk

    dialogs = []

    class Dialog(tk.PermissionDialog):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            dialogs.append(self)

    monkeypatch.setattr(tk, "PermissionDialog", Dialog)
    question = re.search(r"question = '(Hello! \[\[tool .*\]\])'", README).group(1)

    def person(root, names):
        view, entry = names["view"], names["entry"]
        until(root, lambda: root.focus_lastfor() is entry)  # Enter is all that it takes
        entry.delete(0, "end")
        entry.insert(0, question)
        press(entry, "Return")
        assert entry.get() == ""
        until(root, lambda: dialogs)
        assert "threads wait in line" in dialogs[0].preview.get("1.0", "end")
        click(dialogs[0].allow)
        until(root, lambda: view.get("1.0", "end").endswith("\n\n\n"))
        assert "threads wait in line" in view.get("1.0", "end")
        entry.insert(0, "And then?")
        press(entry, "Return")
        until(root, lambda: "And then?" in view.get("1.0", "end"))
        root.destroy()

    run("First steps", person)


def test_the_first_window_tells_what_went_wrong(run, until):
    """Nobody waits for the answer, and a failure shows all the same."""

    def person(root, names):
        view, entry = names["view"], names["entry"]
        entry.delete(0, "end")
        entry.insert(0, "[[sleep 60]]")
        press(entry, "Return")
        until(root, lambda: names["client"].state == "busy")
        os.kill(names["client"].pid, signal.SIGTERM)
        until(root, lambda: "the CLI exited" in view.get("1.0", "end"))
        root.destroy()

    run("First steps", person)
