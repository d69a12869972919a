"""``echo=True``: the answer is printed as it arrives, and tool calls beside it."""

from __future__ import annotations

import io

import pytest
from patience import PATIENCE

import claude_sync
from claude_sync import CliExited, Overloaded, UsageError
from claude_sync.testing import ScriptedCli, builders


def two_messages_and_a_tool(cli):
    """A turn of two messages, with a tool call between them; the next question gets an end."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    use = builders.tool_use("Bash", {"command": "ls \x1b[31m"}, "t1")
    cli.say(builders.assistant([builders.text("I look."), use], "m1"))
    cli.say(builders.assistant("It is empty.\x1b[2J", "m2"))
    cli.end_turn(user)


@pytest.mark.parametrize("options", [{}, {"post": "caller"}], ids=["dispatcher", "caller"])
def test_a_question_prints_its_answer(options, capsys):
    """Text on stdout, messages apart, a line for each call on stderr; nothing a terminal obeys."""
    cli = ScriptedCli(two_messages_and_a_tool, patience=PATIENCE)
    answer = claude_sync.ask("look", transport=cli, echo=True, **options)
    printed = capsys.readouterr()
    assert printed.out == "I look.\n\nIt is empty.\\x1b[2J\n"
    assert printed.err == "[Bash] ls \\x1b[31m\n"
    assert answer == "It is empty.\x1b[2J"


def test_a_client_prints_all_its_answers(capsys):
    """Once, also where the question says the same; of submit() as well."""

    def script(cli):
        cli.accept()
        for user in cli.questions():
            cli.begin_turn(user)
            cli.speak("hello")
            cli.end_turn(user, "hello")

    with claude_sync.Client(transport=ScriptedCli(script), echo=True) as client:
        client.ask("one", echo=True)
        client.submit("two").result(PATIENCE)
    assert capsys.readouterr().out == "hello\nhello\n"


def test_other_questions_are_not_printed(client, cli, background, capsys):
    """echo= of one question is about that one."""
    other = client.submit("quiet")
    asking = background(client.ask, "loud", echo=True)
    for text in ("silence", "noise"):
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.speak(text)
        cli.end_turn(user, text)
    assert asking.result() == "noise"
    assert other.result(PATIENCE) == "silence"
    assert capsys.readouterr().out == "noise\n"


def test_a_failure_is_raised_and_not_printed(client, cli, background, capsys):
    """What had come is there, and the line ends."""
    asking = background(client.ask, "hi", echo=True)
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.speak("half")
    cli.end_turn(user, is_error=True, api_error_status=529, result="API Error: 529")
    with pytest.raises(Overloaded):
        asking.result()
    assert capsys.readouterr().out == "half\n"


def test_the_line_ends_when_the_cli_dies(client, cli, background, capsys):
    """What is printed next, a traceback perhaps, begins on a line of its own."""
    asking = background(client.ask, "hi", echo=True)
    cli.begin_turn(cli.expect("user"))
    cli.speak("half")
    cli.hang_up(3)
    with pytest.raises(CliExited):
        asking.result()
    assert capsys.readouterr().out == "half\n"


def test_what_a_stream_cannot_show_costs_no_answer(monkeypatch):
    """It is printed as escapes; the answer is complete."""
    printed = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", printed)

    def script(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.speak("caf\xe9")
        cli.end_turn(user, "caf\xe9")

    assert claude_sync.ask("hi", transport=ScriptedCli(script), echo=True) == "caf\xe9"
    assert printed.buffer.getvalue() == b"caf\\xe9\n"


def test_a_wrong_value_is_refused(client):
    """Before anything is sent."""
    with pytest.raises(UsageError, match="echo"):
        client.ask("hi", echo="loud")
