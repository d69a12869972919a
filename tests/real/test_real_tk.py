"""Real CLIs in a Tk window: text, dialogs, Stop, and the end of the window."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import pytest
from executables import ROOT
from tk_events import click, press, write
from window_fixtures import KEPT

import claude_sync
from claude_sync.testing.model import text, tool_use

PATIENCE = 90

QUESTION = {
    "questions": [
        {
            "question": "Which colour shall the door have?",
            "header": "Colour",
            "options": [
                {"label": "Red", "description": "as a fire engine"},
                {"label": "Blue", "description": "as the sea"},
            ],
            "multiSelect": False,
        }
    ]
}


@pytest.fixture(scope="module")
def gui(tkinter):
    """The module."""
    from claude_sync.gui import tk

    return tk


class Window:
    """A client in a window with dialogs, and what a person sees and does there."""

    def __init__(self, gui, client, model, root):
        self.client, self.model, self.root = client, model, root
        self.folder = Path(client._options.cwd)
        self.pieces, self.dialogs = [], []
        dialogs = self.dialogs

        class Permission(gui.PermissionDialog):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                dialogs.append(self)

        class Question(gui.QuestionDialog):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                dialogs.append(self)

        gui.attach(client, root)
        client.on_text(self.show)
        client.on_permission(Permission.handler(root))
        client.on_question(Question.handler(root))

    def show(self, piece):
        """Text has come."""
        assert threading.current_thread() is threading.main_thread()
        self.pieces.append(piece)

    def until(self, condition):
        """Run the window's loop."""
        self.run(self.root, condition, PATIENCE)

    def begin(self, words, *uses):
        """Ask something to which Claude answers by using tools."""
        if uses:
            self.model.when(words).reply(list(uses)).then_reply(f"after {words}")
        return self.client.submit(words)

    def shown(self, count=1):
        """The dialog that is shown as the *count*-th."""
        self.until(lambda: len(self.dialogs) >= count)
        return self.dialogs[count - 1]

    def answer_of(self, turn):
        """Wait for it."""
        self.until(turn.done)
        return turn.result()

    def told(self, words):
        """What the tools of a question returned, as Claude read it."""
        rounds = [
            each for each in self.model.conversation if each.is_continuation and each.text == words
        ]
        return [(result.text, result.is_error) for result in rounds[-1].tool_results]


@pytest.fixture
def own_window(gui, client_of, model, root, until):
    """A :class:`Window` of the test's own, which may do to it whatever it likes."""
    client = client_of()
    window = Window(gui, client, model, root)
    window.run = until
    yield window
    client.close()


@pytest.fixture(scope="module")
def shared_window(gui, tkinter, new_client, cli, model, home, tmp_path_factory):
    """A :class:`Window` for all other tests."""
    root = tkinter.Tk()
    KEPT.append(root.tk)
    root.errors = []
    root.report_callback_exception = lambda kind, error, trace: root.errors.append(error)
    folder, environment = tmp_path_factory.mktemp("cwd"), model.environment(home)
    client = new_client(cli=cli.path, cwd=folder, env=environment, start_timeout=PATIENCE)
    yield Window(gui, client, model, root)
    client.close()
    root.destroy()
    assert root.errors == []


@pytest.fixture
def window(shared_window, until):
    """A :class:`Window` in which nothing has been shown."""
    shared_window.pieces.clear()
    shared_window.dialogs.clear()
    shared_window.run = until
    yield shared_window
    shared_window.until(lambda: shared_window.client.state == "idle")


def test_text_streams_while_the_window_lives(window, model):
    """It is shown before the answer is complete, on the window's thread; its own timer goes on."""
    words, gate = "Once upon a time there was a thread.", threading.Event()
    model.when("a story").reply(text(words, pieces=6, gate=gate))
    turn = window.begin("a story")
    window.until(lambda: window.pieces)
    assert words.startswith("".join(window.pieces))
    ticks = []

    def tick():
        ticks.append(turn.done())
        window.root.after(1, tick)

    tick()
    window.until(lambda: len(ticks) > 20)
    assert not any(ticks)
    gate.set()
    assert window.answer_of(turn) == "".join(window.pieces) == words
    with pytest.raises(claude_sync.UsageError, match="submit"):
        window.client.ask("freeze")


def test_a_diff_is_shown_and_allowed(window):
    """The file changes when the button is pressed, and not before."""
    file = window.folder / "notes.txt"
    use = tool_use("Write", {"file_path": str(file), "content": "one\ntwo\n"})
    turn = window.begin("write the notes", use)
    dialog = window.shown()
    assert ("added", "+two") in dialog.form.lines
    assert not file.exists()
    click(dialog.view.buttons["allow"])
    assert window.answer_of(turn) == "after write the notes"
    assert file.read_text() == "one\ntwo\n"
    assert not dialog.is_open


def test_a_no_with_a_reason_is_read_by_claude(window):
    """And the tool does not run."""
    turn = window.begin("make a pipe", tool_use("Bash", {"command": "mkfifo pipe"}))
    dialog = window.shown()
    write(dialog.view.reason, "use a file")
    press(dialog.view.reason, "Return")
    assert window.answer_of(turn) == "after make a pipe"
    assert window.told("make a pipe") == [("use a file", True)]
    assert not (window.folder / "pipe").exists()


def test_always_asks_once(window):
    """What the dialog says is what the CLI then does."""
    use = tool_use("Bash", {"command": "mkfifo again", "description": "make something"})
    turn = window.begin("first time", use)
    dialog = window.shown()
    assert dialog.form.always.endswith(", in this session")
    click(dialog.view.buttons["allow_always"])
    window.answer_of(turn)
    (window.folder / "again").unlink()
    window.answer_of(window.begin("second time", use))
    assert (window.folder / "again").exists()
    assert len(window.dialogs) == 1


def test_two_requests_come_one_after_the_other(window, tmp_path_factory):
    """Both at once from the CLI, each with its own answer."""
    folder = tmp_path_factory.mktemp("elsewhere")
    for name in ("first", "second"):
        (folder / name).write_text(f"the {name} secret")
    uses = [tool_use("Read", {"file_path": str(folder / name)}) for name in ("first", "second")]
    turn = window.begin("read both", *uses)
    for number in (1, 2):
        dialog = window.shown(number)
        name = os.path.basename(dialog.form.request.input["file_path"])
        click(dialog.view.buttons["allow"] if name == "second" else dialog.view.buttons["deny"])
    window.answer_of(turn)
    told = str(window.told("read both"))
    assert "the second secret" in told
    assert "the first secret" not in told


def test_stop_stops_and_takes_the_dialog_with_it(window, tkinter):
    """While the person thinks; the next question is answered."""
    turn = window.begin("make and think", tool_use("Bash", {"command": "mkfifo thought"}))
    button = tkinter.Button(window.root, text="Stop", command=turn.cancel)
    button.pack()
    dialog = window.shown()
    click(button)
    window.until(turn.done)
    with pytest.raises(claude_sync.TurnInterrupted):
        turn.result()
    window.until(lambda: not dialog.is_open)
    assert window.answer_of(window.begin("and now?")) == "echo: and now?"
    assert not (window.folder / "thought").exists()


def test_the_end_of_the_window_ends_the_cli(own_window):
    """In mid-turn, with a dialog open: nothing runs, nothing is left."""
    window = own_window
    turn = window.begin("make and close", tool_use("Bash", {"command": "mkfifo closed"}))
    dialog = window.shown()
    pid = window.client.pid
    window.root.destroy()
    with pytest.raises((claude_sync.ClientClosed, claude_sync.TurnInterrupted)):
        turn.result(PATIENCE)
    window.client.close()
    assert not dialog.is_open
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not (window.folder / "closed").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_dialog_goes_when_the_cli_dies(own_window):
    """And the conversation can go on."""
    window = own_window
    window.answer_of(window.begin("a beginning"))
    turn = window.begin("make and die", tool_use("Bash", {"command": "mkfifo dead"}))
    dialog = window.shown()
    os.kill(window.client.pid, signal.SIGKILL)
    window.until(turn.done)
    assert isinstance(turn.exception(), claude_sync.CliExited)
    window.until(lambda: not dialog.is_open)
    assert window.answer_of(window.begin("and now?")).endswith("and now?")
    assert not (window.folder / "dead").exists()


def test_a_question_is_answered_in_its_window(window):
    """Claude reads the words that the person wrote."""
    turn = window.begin("ask about the door", tool_use("AskUserQuestion", QUESTION))
    dialog = window.shown()
    write(dialog.view.fields[0].other, "green")
    click(dialog.view.buttons["answer"])
    assert window.answer_of(turn) == "after ask about the door"
    ((told, is_error),) = window.told("ask about the door")
    assert "green" in told
    assert not is_error


@pytest.mark.everything
def test_the_picture_of_the_example_can_be_made(new_cli, tkinter, monkeypatch, tmp_path):
    """The script still finds its way through the example, with the newest CLI."""
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "screenshots"))
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    monkeypatch.setenv("CLAUDE_CODE_PATH", new_cli.path)
    monkeypatch.setenv("CLAUDE_CODE_TMPDIR", str(tmp_path))
    import make

    image, windows = make.tk_chat()
    assert [title for *_, title in windows] == ["Claude"]
    picture = make.framed(image, windows)
    # The colours of the diff are in it.
    colours = {colour for _, colour in picture.getcolors(1 << 24)}
    assert {(218, 251, 225), (255, 228, 225)} <= colours
