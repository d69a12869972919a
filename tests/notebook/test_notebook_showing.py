"""A turn that nobody waits for is shown all the same."""

import sys
import threading

import pytest
from notebook_shells import PATIENCE, Shell

from claude_sync import Answer, Client
from claude_sync.errors import UsageError
from claude_sync.notebook import show
from claude_sync.testing import ScriptedCli


@pytest.fixture
def shell(monkeypatch):
    """The shell of a kernel, in which show() is called; there are no widgets."""
    made = Shell()
    monkeypatch.setitem(sys.modules, "IPython", type("Module", (), {"get_ipython": lambda: made}))
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    return made


@pytest.fixture
def seen(shell, monkeypatch):
    """Wait until a display has shown a text."""
    changed = threading.Condition()
    publish = shell.display_pub.publish

    def publish_and_tell(**call):
        with changed:
            publish(**call)
            changed.notify_all()

    monkeypatch.setattr(shell.display_pub, "publish", publish_and_tell)

    def wait(text):
        def is_shown():
            return [data for _, data in shell.display_pub.calls if text in data["text/html"]]

        with changed:
            assert changed.wait_for(is_shown, PATIENCE), shell.display_pub.calls

    return wait


def test_it_returns_at_once_and_the_display_goes_on(shell, seen):
    """From the first word to the cost, in the one display of the cell that called it."""
    cli = ScriptedCli()
    with Client(transport=cli) as client:
        turn = client.submit("hi")
        assert show(turn) is None
        assert len(shell.display_pub.calls) == 1
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.speak("a **word**")
        seen("<strong>word</strong>")
        assert not turn.done()
        cli.end_turn(user, "a **word**", total_cost_usd=0.25)
        seen("$0.2500")
        assert turn.result(PATIENCE) == "a **word**"
        assert len(shell.display_pub.last) == 1


def test_a_turn_that_fails_says_so(shell, seen):
    """Nothing is raised here."""
    cli = ScriptedCli()
    with Client(transport=cli, on_crash="raise") as client:
        turn = client.submit("hi")
        show(turn)
        cli.accept()
        cli.begin_turn(cli.expect("user"))
        with pytest.raises(SystemExit):
            cli.exit(3)
        seen("CliExited")


def test_closing_the_client_ends_the_show(shell, seen):
    """The display tells why; no thread is left."""
    with Client(transport=ScriptedCli()) as client:
        show(client.submit("hi"))
    seen("ClientClosed")


def test_a_turn_that_is_over_is_shown_as_it_is(shell, seen):
    """Once more, or for the first time."""
    cli = ScriptedCli()
    with Client(transport=cli) as client:
        turn = client.submit("hi")
        cli.accept()
        cli.answer("Hello", prompt="hi")
        turn.result(PATIENCE)
        show(turn)
        seen("Hello")


@pytest.mark.parametrize("post", ["caller", "manual"])
def test_where_handlers_run_in_whoever_waits_it_waits(shell, post):
    """Otherwise nothing would ever arrive."""

    def script(cli):
        cli.accept()
        cli.answer("Hello", prompt="hi")
        cli.expect_end()

    with Client(transport=ScriptedCli(script), post=post) as client:
        turn = client.submit("hi")
        show(turn)
        assert turn.done()
        assert "Hello" in shell.display_pub.last[0]["text/html"]


def test_without_a_notebook_it_waits_and_writes_text(monkeypatch, capsys):
    """In a script or at a terminal."""
    monkeypatch.delitem(sys.modules, "IPython", raising=False)

    def script(cli):
        cli.accept()
        cli.answer("Hello", prompt="hi")
        cli.expect_end()

    with Client(transport=ScriptedCli(script)) as client:
        show(client.submit("hi"))
    assert capsys.readouterr().out.startswith("Hello\n[$")


@pytest.mark.parametrize("wrong", [Answer("x"), "hi", None])
def test_only_turns_are_shown(wrong):
    """The error says what to write."""
    with pytest.raises(UsageError, match=r"show\(client\.submit"):
        show(wrong)
