"""Control requests that are refused, garbled or never answered; that nobody waits for long."""

from __future__ import annotations

import logging
import sys

import control_scripts
import odd_version
import pytest
from patience import PATIENCE, process_is_gone

import claude_sync
from claude_sync import (
    Client,
    ClientClosed,
    CliExited,
    ControlError,
    ControlReply,
    ControlTimeout,
    UnsupportedByCli,
)
from claude_sync.engine import control
from claude_sync.testing import ScriptedCli, StandIn, builders

METHODS = {
    "set_model": ("haiku",),
    "set_permission_mode": ("plan",),
    "set_max_thinking_tokens": (1000,),
    "get_settings": (),
    "apply_settings": ({"model": "haiku"},),
    "mcp_status": (),
    "mcp_reconnect": ("a",),
    "mcp_toggle": ("a", True),
    "set_mcp_servers": ({"a": {"command": "x"}},),
    "context_usage": (),
    "usage_report": (),
    "rewind_files": ("u",),
    "stop_task": ("t",),
    "background_tasks": (),
    "side_question": ("why?",),
    "rename": ("title",),
}


def call(client, method, **keywords):
    """Call a control method with arguments that fit."""
    return getattr(client, method)(*METHODS[method], **keywords)


# One request.


def outcome(calling):
    """What a call returned or raised."""
    try:
        return calling.result()
    except claude_sync.ClaudeError as error:
        return error


def test_refused(client, cli, background):
    """ControlError, with the CLI's own words and code; the session goes on."""
    wrong = []
    for method in METHODS:
        calling = background(call, client, method)
        cli.refuse(cli.expect("control_request"), "not today", "closed_on_mondays")
        error = outcome(calling)
        if not (
            isinstance(error, ControlError)
            and "not today" in str(error)
            and error.code == "closed_on_mondays"
        ):
            wrong.append((method, error))
        calling = background(call, client, method)
        cli.reply(cli.expect("control_request"))
        if not isinstance(outcome(calling), ControlReply):
            wrong.append((method, "afterwards"))
    assert not wrong


@pytest.mark.parametrize("code", ["unsupported_request", None])
def test_unknown_to_the_cli(client, cli, background, code):
    """UnsupportedByCli with the version, whether the CLI has a code for that or only words."""
    wrong = []
    for method in METHODS:
        calling = background(call, client, method)
        asked = cli.expect("control_request")
        subtype = asked["request"]["subtype"]
        cli.refuse(asked, f"Unsupported control request subtype: {subtype}", code)
        error = outcome(calling)
        if not (
            isinstance(error, UnsupportedByCli)
            and (error.feature, error.cli_version) == (f"{method}()", cli.version)
        ):
            wrong.append((method, error))
    assert not wrong


def test_never_answered(client, cli, background):
    """ControlTimeout, with the time that was given; a late reply is nobody's."""
    wrong = []
    for method in METHODS:
        error = outcome(background(call, client, method, timeout=0.01))
        asked = cli.expect("control_request")
        if not (
            isinstance(error, ControlTimeout)
            and (error.timeout, error.subtype) == (0.01, asked["request"]["subtype"])
        ):
            wrong.append((method, error))
        cli.reply(asked, model="late")
    assert not wrong
    turn = client.submit("still there?")
    cli.answer("yes")
    assert turn.result(PATIENCE) == "yes"


def test_control_timeout_is_the_default(cli, greet):
    """Without a timeout of its own, a method waits as long as the option says."""
    with Client(transport=cli, control_timeout=0.02) as client:
        greet(client, cli)
        with pytest.raises(ControlTimeout, match=r"within 0\.02 s"):
            client.mcp_status()


@pytest.mark.parametrize(
    "response", [None, [], "text", 7, {"mcpServers": 3, "errors": [], "session": "x", "mode": []}]
)
def test_garbled_reply(client, cli, background, response):
    """A success of any shape is a reply, of which nothing is known."""
    wrong = []
    for method in METHODS:
        calling = background(call, client, method)
        asked = cli.expect("control_request")
        envelope = {"subtype": "success", "request_id": asked["request_id"], "response": response}
        cli.say({"type": "control_response", "response": envelope})
        reply = outcome(calling)
        if not isinstance(reply, ControlReply):
            wrong.append((method, reply))
    assert not wrong


@pytest.mark.parametrize("error", [None, {"message": "odd"}, ["odd"], 5])
def test_garbled_refusal(client, cli, background, error):
    """A refusal without words is one."""
    calling = background(client.mcp_status)
    asked = cli.expect("control_request")
    envelope = {"subtype": "error", "request_id": asked["request_id"], "error": error}
    cli.say({"type": "control_response", "response": {**envelope, "error_code": error}})
    with pytest.raises(ControlError) as caught:
        calling.result()
    assert caught.value.code is None


def test_answered_twice(client, cli, background):
    """Old CLIs answer a change of the mode twice: the second is no reply to something else."""
    calling = background(client.set_permission_mode, "plan")
    asked = cli.expect("control_request")
    cli.reply(asked, mode="plan")
    cli.say(builders.control_response(asked["request_id"], None))
    assert calling.result().mode == "plan"
    calling = background(client.set_model, "haiku")
    cli.reply(cli.expect("control_request"), model="claude-haiku")
    assert calling.result().model == "claude-haiku"


# One that changes something, one that looks, and one that is a question.
a_few_methods = pytest.mark.parametrize("method", ["set_model", "mcp_status", "side_question"])


@a_few_methods
def test_the_cli_dies(client, cli, background, method):
    """CliExited at once, with the exit code."""
    calling = background(call, client, method)
    cli.expect("control_request")
    cli.hang_up(3)
    with pytest.raises(CliExited) as caught:
        calling.result()
    assert caught.value.exit_code == 3


@a_few_methods
def test_closed_while_waiting(client, cli, background, method):
    """ClientClosed at once."""
    calling = background(call, client, method)
    cli.expect("control_request")
    client.close()
    with pytest.raises(ClientClosed):
        calling.result()


def test_the_cli_does_not_start(background):
    """Whoever waits for the start of the CLI is told how that ended."""
    cli = ScriptedCli()
    with Client(transport=cli) as client:
        calling = background(client.supported_models)
        cli.expect("control_request", subtype="initialize")
        cli.hang_up(1)
        with pytest.raises(claude_sync.CliDidNotStart):
            calling.result()


# Where from.


@pytest.mark.parametrize("kind", ["text", "permission"])
def test_called_in_handlers(client, cli, background, kind):
    """They are answered there, while the handler and the turn wait."""
    replies = []

    def handler(event):
        if not replies:
            replies.append(client.set_model("haiku"))
            replies.append(client.supported_models())
        return False

    getattr(client, f"on_{kind}")(handler)
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.speak("Hello")
    if kind == "permission":
        permission = cli.ask_permission("Bash", {"command": "ls"})
    cli.reply(cli.expect("control_request", subtype="set_model"), model="claude-haiku")
    if kind == "permission":
        assert cli.expect_reply(permission)["behavior"] == "deny"
    cli.end_turn(user, "Hello")
    assert turn.result(PATIENCE) == "Hello"
    assert replies[0].model == "claude-haiku"
    assert replies[1]


def test_eight_threads_at_once(client, cli, background):
    """Each gets the reply to its own request, in whatever order they come."""
    calling = [background(client.side_question, f"question {number}") for number in range(8)]
    asked = [cli.expect("control_request", subtype="side_question") for _ in calling]
    for request in reversed(asked):
        cli.reply(request, response=request["request"]["question"].replace("question", "answer"))
    assert [each.result().text for each in calling] == [f"answer {n}" for n in range(8)]


# Old CLIs.


@pytest.fixture
def old(tmp_path):
    """Open a client of an old CLI; ``pids()`` are those of who was asked for a version."""
    asked = tmp_path / "asked"
    asked.touch()
    clients = []

    def open_client(says="1.0.128 (Claude Code)\n"):
        script = control_scripts.ignores_what_it_does_not_know
        command = StandIn(script, style="old", version="1.0.128").command
        words = [sys.executable, "-S", odd_version.__file__, str(asked), says, *command]
        clients.append(Client(cli=words).__enter__())
        return clients[-1]

    open_client.pids = lambda: [int(line) for line in asked.read_text().split()]
    yield open_client
    for client in clients:
        client.close()


def test_an_old_cli_is_not_asked_what_it_does_not_know(old, background):
    """Eight threads are told at once; the version was asked for once."""
    client = old()
    calling = [background(client.context_usage, timeout=float("inf")) for _ in range(8)]
    for each in calling:
        with pytest.raises(UnsupportedByCli) as caught:
            each.result()
        assert caught.value.cli_version == "1.0.128"
    with pytest.raises(UnsupportedByCli, match="'auto'"):
        client.set_permission_mode("auto")
    assert len(old.pids()) == 1
    assert client.set_permission_mode("plan").mode == "plan"
    assert client.ask("hi") == "still here"


def test_a_version_is_not_asked_for_in_vain(old):
    """What every CLI knows is sent without another process."""
    client = old()
    client.set_model("haiku")
    client.set_permission_mode("manual")
    client.mcp_status()
    assert old.pids() == []


@pytest.mark.parametrize("says", [".", "no idea\n", "\udcff\udcfe\n", "x" * 50_000])
def test_a_version_that_cannot_be_found(old, says):
    """Then the request is tried, and nothing is said to it."""
    client = old(says=says)
    assert client.set_permission_mode("auto").mode == "auto"
    with pytest.raises(ControlTimeout):
        client.context_usage(timeout=0.05)
    assert len(old.pids()) == 1


def test_a_cli_that_never_tells_its_version(old, monkeypatch):
    """The process is ended when its time is up."""
    monkeypatch.setattr(control, "VERSION_PATIENCE", 0.5)
    client = old("silence")
    assert client.set_permission_mode("auto").mode == "auto"
    assert all(process_is_gone(pid) for pid in old.pids())


def test_a_short_timeout_includes_asking_for_the_version(old, background, until):
    """Time is up for this call and for one that waits for its outcome; the next asks anew."""
    client = old("silence")
    client.start()
    first = background(client.context_usage, timeout=PATIENCE)
    until(old.pids)
    with pytest.raises(ControlTimeout, match=r"within 0\.05 s"):
        client.context_usage(timeout=0.05)
    client.close()
    with pytest.raises(ClientClosed):
        first.result()


def test_closed_while_the_version_is_asked_for(old, background, until, monkeypatch):
    """close() ends that process, too."""
    monkeypatch.setattr(control, "VERSION_PATIENCE", 10 * PATIENCE)
    client = old("silence")
    calling = background(client.context_usage, timeout=float("inf"))
    until(old.pids)
    client.close()
    with pytest.raises(ClientClosed):
        calling.result()
    assert process_is_gone(old.pids()[0])


def test_a_cli_of_another_kind_is_tried(greet):
    """Where no process runs, nobody can be asked for a version; the request is sent."""
    cli = ScriptedCli(style="old")
    with Client(transport=cli) as client:
        greet(client, cli)
        with pytest.raises(ControlTimeout):
            client.rename("title", timeout=0.01)
        cli.expect("control_request", subtype="rename_session")


# After a crash.


def changed(client):
    """Change everything that can be changed."""
    client.ask("a conversation to resume")
    client.set_model("haiku")
    client.set_permission_mode("plan")
    client.set_max_thinking_tokens(1000)
    client.apply_settings({"a": 1, "b": 2}, effort="low")
    client.apply_settings({"b": None}, effort="high")
    client.set_mcp_servers({"s": {"command": "x"}})
    with pytest.raises(CliExited):
        client.ask("die")


THINKING = "set_max_thinking_tokens=[('max_thinking_tokens', 1000)]"
SETTINGS = "apply_flag_settings=[('settings', {'a': 1, 'b': None, 'effortLevel': 'high'})]"
SERVERS = "mcp_set_servers=[('servers', {'s': {'command': 'x', 'args': []}})]"


def test_what_was_changed_is_changed_again(stand_in):
    """Before the next question is sent, in the order in which it was accepted first."""
    client = stand_in(control_scripts.tells_its_command_line, model="opus")
    changed(client)
    assert client.ask("and now?") == f"haiku plan {THINKING} {SETTINGS} {SERVERS}"
    client.set_model(None)
    with pytest.raises(CliExited):
        client.ask("die")
    assert client.ask("and now?").startswith("default plan ")


def test_what_is_refused_again_holds_nobody_up(stand_in, caplog):
    """It is logged, and the question is asked."""
    client = stand_in(
        control_scripts.tells_its_command_line, settings={"refuses": ["apply_flag_settings"]}
    )
    changed(client)
    with caplog.at_level(logging.WARNING, "claude_sync"):
        assert client.ask("and now?") == f"haiku plan {THINKING} {SERVERS}"
    assert "apply_flag_settings" in caplog.text and "not this time" in caplog.text


def test_what_is_never_answered_again_holds_nobody_up(stand_in, hurry, caplog):
    """After a while the question is asked all the same."""
    client = stand_in(
        control_scripts.tells_its_command_line, settings={"ignores": ["mcp_set_servers"]}
    )
    changed(client)
    hurry(REPEATING_PATIENCE=0.2)
    with caplog.at_level(logging.WARNING, "claude_sync"):
        assert client.ask("and now?") == f"haiku plan {THINKING} {SETTINGS}"
    assert "did not answer mcp_set_servers in time" in caplog.text


def test_what_was_refused_is_not_repeated(cli, background, greet, until):
    """Only what the CLI accepted counts."""
    lives = [cli, ScriptedCli(patience=PATIENCE)]
    waiting = iter(lives)
    with Client(transport=lambda: next(waiting), model="opus") as client:
        greet(client, cli)
        turn = client.submit("hi")
        cli.answer("Hello")
        turn.result(PATIENCE)
        for method in ("set_model", "set_permission_mode", "set_mcp_servers", "apply_settings"):
            calling = background(call, client, method)
            cli.refuse(cli.expect("control_request"), "no")
            with pytest.raises(ControlError):
                calling.result()
        cli.hang_up(1)
        until(lambda: client.state == "crashed")
        turn = client.submit("again")
        lives[1].accept()
        lives[1].reply(lives[1].expect("control_request", subtype="get_usage"))
        lives[1].answer("Hello again", prompt="again")
        assert turn.result(PATIENCE) == "Hello again"
        assert "--model=opus" in lives[1].launch.argv
        assert not [word for word in lives[1].launch.argv if "permission-mode" in word]


def test_the_later_of_two_models_counts(stand_in):
    """A model among the settings is forgotten when set_model() comes after it."""
    client = stand_in(control_scripts.tells_its_command_line)
    client.ask("a conversation to resume")
    client.apply_settings({"model": "opus", "a": 1})
    client.set_model("haiku")
    with pytest.raises(CliExited):
        client.ask("die")
    assert client.ask("which?") == "haiku None apply_flag_settings=[('settings', {'a': 1})]"
