"""%claude asks, shows, and leaves its answer behind; what goes wrong is one line."""

import pickle
from dataclasses import dataclass

import pytest
from notebook_shells import Shell

from claude_sync import Answer, Client
from claude_sync.errors import CliExited, Overloaded, UsageError
from claude_sync.notebook.lines import QuestionLine
from claude_sync.notebook.magics import Magics
from claude_sync.permissions.policies import ask_on_terminal
from claude_sync.testing import ScriptedCli, StandIn, builders


@dataclass
class Echoed:
    """What the stand-in makes up."""

    text: str = ""


def population(city: str) -> int:
    """How many people live there."""
    return 7


@pytest.fixture
def magics():
    """The extension in a shell, with the stand-in that echoes."""
    made = Magics(Shell(city="Oslo", population=population, Echoed=Echoed))
    made.conversation.configure(None, {"cli": StandIn().command})
    made.load()
    yield made
    made.unload()


def use(magics, script):
    """Let a scripted CLI answer from here on."""
    magics.conversation.configure(None, {"transport": ScriptedCli(script), "on_crash": "raise"})


def dies(cli):
    """A CLI that does not get far."""
    cli.accept()
    cli.begin_turn(cli.expect("user"))
    cli.speak("half")
    cli.exit(3)


def test_an_answer_is_shown_and_left_behind(magics):
    """As the value, and in variables."""
    answer = magics.run("hello {city}")
    assert answer == "echo: hello Oslo"
    names = magics.shell.user_ns
    assert names["claude_answer"] is answer
    assert isinstance(names["claude_client"], Client)
    assert names["claude_client"].session_id == answer.session_id
    assert magics.shell.display_pub.last[-1]["text/plain"].startswith("echo: hello Oslo\n$")


def test_a_cell_goes_on_with_the_conversation(magics):
    """One client for all of them."""
    first = magics.run("", "one\ntwo\n")
    assert first == "echo: one\ntwo"
    assert magics.run("three").session_id == first.session_id
    assert magics.run("--new four").session_id != first.session_id


def test_settings_alone_ask_nothing(magics):
    """They count for the next question."""
    assert magics.run("--new --model opus") is None
    assert "claude_answer" not in magics.shell.user_ns
    assert magics.conversation.client._options.model == "opus"


def test_functions_of_the_notebook_are_tools(magics):
    """By their names; they run on the thread of the cell."""
    answer = magics.run('--tools population [[tool mcp__claude_sync__population {"city": "Oslo"}]]')
    ((used, result),) = answer.tool_uses
    assert used.name == "mcp__claude_sync__population"
    assert result.text == "7"


def test_a_class_of_the_notebook_types_the_answer(magics):
    """The value is the answer, its data is of the class."""
    assert isinstance(magics.run("--returns Echoed what?").data, Echoed)


def test_the_value_of_a_cell_is_not_shown_twice(magics):
    """But later, and other answers, are."""
    show = magics.shell.display_formatter.ipython_display_formatter.types[Answer]
    answer = magics.run("hello")
    assert show(answer) is None
    with pytest.raises(NotImplementedError):
        show(Answer("another"))
    magics.shell.events.trigger("post_run_cell")
    with pytest.raises(NotImplementedError):
        show(answer)


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("", "there is no question"),
        ("--returns City", "there is no question"),
        ("--modle x", "did you mean --model"),
        ("--returns Nothing what?", "the notebook has no Nothing"),
        ("--tools nothing what?", "the notebook has no nothing"),
        ("--tools city what?", "city is a str and not a function"),
        ("--returns city what?", "returns='Oslo' is not a type"),
        ("--new {blank}", "there is no question"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_sent(magics, line, advice):
    """IPython is told to show it without a traceback; a program can catch it."""
    magics.shell.user_ns["blank"] = " "
    with pytest.raises(UsageError) as caught:
        magics.run(line)
    (shown,) = caught.value._render_traceback_()
    assert shown == f"UsageError: {' '.join(str(caught.value).split())}"
    assert advice in shown
    assert magics.conversation._client is None
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), UsageError)


@pytest.mark.parametrize("settings", ["--new --tools bad", "--model opus --tools bad"])
def test_a_tool_that_is_none_changes_nothing(magics, settings):
    """Neither a new conversation begins, nor is another model asked."""

    def bad(*anything):
        """Take what no schema describes."""

    magics.shell.user_ns["bad"] = bad
    magics.run("hello")
    client, options = magics.conversation.client, magics.conversation._options
    with pytest.raises(UsageError, match="bad"):
        magics.run(f"{settings} and now?")
    assert magics.conversation.client is client
    assert magics.conversation._options == options


def test_a_cli_that_dies_is_one_line(magics):
    """What there was stays."""

    use(magics, dies)
    with pytest.raises(CliExited) as caught:
        magics.run("hello")
    (shown,) = caught.value._render_traceback_()
    assert shown.startswith("CliExited: ")
    assert "\n" not in shown
    assert "half" in magics.shell.display_pub.last[-1]["text/plain"]


def test_an_interrupt_is_one_line_and_the_conversation_goes_on(magics):
    """What there was is in claude_answer."""

    def script(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.speak("half")
        cli.reply(cli.expect("control_request", subtype="interrupt"))
        cli.end_interrupted(user, "half")
        cli.answer("better", prompt="again")
        cli.expect_end()

    interrupts = [KeyboardInterrupt]

    def interrupt(_):
        if interrupts:
            raise interrupts.pop()

    use(magics, script)
    magics.conversation.client.on_text(interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        magics.run("hello")
    (shown,) = caught.value._render_traceback_()
    assert "the conversation can go on" in shown
    assert magics.shell.user_ns["claude_answer"] == "half"
    assert magics.run("again") == "better"


def test_an_error_of_the_users_keeps_its_traceback(magics):
    """It is about his code."""

    def fails(_):
        raise ZeroDivisionError

    magics.conversation.configure(
        None, {"cli": StandIn().command, "on_text": fails, "raise_handler_errors": True}
    )
    with pytest.raises(ZeroDivisionError) as caught:
        magics.run("hello")
    assert not hasattr(caught.value, "_render_traceback_")


def test_what_was_said_is_seen_before_somebody_is_asked(magics, monkeypatch):
    """However quickly one came after the other; and before a tool runs, which may take long."""
    displays = magics.shell.display_pub
    seen = []

    def look_up(city: str) -> int:
        """Look up."""
        seen.append(displays.last[0]["text/plain"])
        return 7

    def reply(_prompt):
        seen.append(displays.last[0]["text/plain"])
        return "y"

    def script(cli):
        cli.accept()
        user = cli.expect("user")
        cli.begin_turn(user)
        request = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}
        # In one write, so that nothing can be shown in between by itself.
        cli.say(
            builders.assistant("I look.", "m1"),
            {"type": "control_request", "request_id": "r1", "request": request},
        )
        cli.expect("control_response")
        cli.end_turn(user, "done")
        cli.expect_end()

    monkeypatch.setattr("builtins.input", reply)
    use(magics, script)
    magics.run("hello")
    assert seen == ["I look."]
    seen.clear()
    magics.shell.user_ns["look_up"] = look_up
    magics.conversation.configure(None, {"cli": StandIn().command})
    magics.run('--tools look_up [[tool mcp__claude_sync__look_up {"city": "Oslo"}]]')
    displays.calls.clear()
    magics.run('again [[tool mcp__claude_sync__look_up {"city": "Oslo"}]]')
    assert seen[-1] == "… look_up city=Oslo"


def test_at_a_terminal_the_answer_is_written_as_it_comes(capsys):
    """And what it cost; the answer is the value all the same, and is left behind."""
    magics = Magics(Shell(kernel=False))
    assert magics._handlers() == {"on_permission": ask_on_terminal}
    magics.conversation.configure(None, {"cli": StandIn().command})
    assert magics.run("hello") == "echo: hello"
    assert capsys.readouterr().out.startswith("echo: hello\n[$")

    def fails(cli):
        cli.accept()
        cli.end_turn(cli.expect("user"), "API Error: 529", is_error=True)

    use(magics, fails)
    with pytest.raises(Overloaded):
        magics.run("hello")
    assert magics.shell.user_ns["claude_answer"] == "API Error: 529"
    magics.conversation.close()


def test_loading_and_unloading_leave_the_shell_as_it_was():
    """And the conversation ends."""
    shell = Shell()
    magics = Magics(shell)
    magics.load()
    magic = shell.magics_manager.magics["line"]["claude"]
    assert shell.magics_manager.magics["cell"]["claude"] is magic
    assert magic._ipython_magic_no_var_expand is True
    assert shell.input_transformer_manager.token_transformers == [QuestionLine]
    assert "--model" in magic.__doc__
    magics.conversation.configure(None, {"cli": StandIn().command})
    assert magic("hello") == "echo: hello"
    client = shell.user_ns["claude_client"]
    magics.unload()
    assert shell.magics_manager.magics == {"line": {}, "cell": {}}
    assert shell.display_formatter.ipython_display_formatter.types == {}
    assert shell.events.registered == []
    assert shell.input_transformer_manager.token_transformers == []
    assert client.state == "closed"
