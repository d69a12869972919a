"""Control methods: what they send, what they return, and what they refuse to send."""

from __future__ import annotations

import inspect
from concurrent.futures import ThreadPoolExecutor

import pytest
from bridged_in_memory import bridge_in_memory

import claude_sync
from claude_sync import (
    CalledFromHandler,
    Client,
    ClientClosed,
    ControlReply,
    Turn,
    UsageError,
    replies,
)
from claude_sync.control_methods import ControlMethods
from claude_sync.protocol.turns import QUESTION, Entry
from claude_sync.testing import ScriptedCli, StandIn

PATIENCE = 10

# For each method: its arguments, and the request that they make.
CALLS = [
    ("set_model", ("haiku",), {"subtype": "set_model", "model": "haiku"}),
    ("set_model", (None,), {"subtype": "set_model", "model": None}),
    ("set_permission_mode", ("plan",), {"subtype": "set_permission_mode", "mode": "plan"}),
    ("set_permission_mode", ("manual",), {"subtype": "set_permission_mode", "mode": "default"}),
    (
        "set_max_thinking_tokens",
        (0,),
        {"subtype": "set_max_thinking_tokens", "max_thinking_tokens": 0},
    ),
    ("get_settings", (), {"subtype": "get_settings"}),
    (
        "apply_settings",
        ({"model": None},),
        {"subtype": "apply_flag_settings", "settings": {"model": None}},
    ),
    ("mcp_status", (), {"subtype": "mcp_status"}),
    ("mcp_reconnect", ("a",), {"subtype": "mcp_reconnect", "serverName": "a"}),
    ("mcp_toggle", ("a", False), {"subtype": "mcp_toggle", "serverName": "a", "enabled": False}),
    (
        "set_mcp_servers",
        ({"a": {"command": "x"}},),
        {"subtype": "mcp_set_servers", "servers": {"a": {"command": "x"}}},
    ),
    ("context_usage", (), {"subtype": "get_context_usage"}),
    ("usage_report", (), {"subtype": "get_usage"}),
    ("rewind_files", ("u",), {"subtype": "rewind_files", "user_message_id": "u"}),
    (
        "rewind_files",
        ("u", True),
        {"subtype": "rewind_files", "user_message_id": "u", "dry_run": True},
    ),
    ("stop_task", ("t",), {"subtype": "stop_task", "task_id": "t"}),
    ("background_tasks", (), {"subtype": "background_tasks"}),
    ("background_tasks", ("t",), {"subtype": "background_tasks", "tool_use_id": "t"}),
    ("side_question", ("why?",), {"subtype": "side_question", "question": "why?"}),
    ("rename", ("title",), {"subtype": "rename_session", "title": "title"}),
]

# Values that cannot be, with a part of the text that says so.
REFUSED = [
    ("set_model", ("",), "model must be"),
    ("set_model", (3,), "model must be"),
    ("set_permission_mode", ("acceptedits",), "did you mean 'acceptEdits'"),
    ("set_permission_mode", (None,), "mode must be one of"),
    ("set_max_thinking_tokens", (-1,), "tokens must be"),
    ("set_max_thinking_tokens", (True,), "tokens must be"),
    ("apply_settings", (), "no setting to apply"),
    ("apply_settings", ("x",), "settings must be a dict"),
    ("apply_settings", ({"effortLevel": "hihg"},), "did you mean 'high'"),
    ("mcp_reconnect", (" ",), "name must be"),
    ("mcp_toggle", ("a", 1), "enabled must be True or False"),
    ("set_mcp_servers", (None,), "servers must be a dict"),
    ("set_mcp_servers", ([],), "servers must be a dict"),
    ("set_mcp_servers", ({"a": "b"},), r"servers\['a'\] must be a dict"),
    ("set_mcp_servers", ({"a": {"b": object()}},), "cannot be sent"),
    ("rewind_files", (None,), "user_message_id must be"),
    ("rewind_files", ("u", "yes"), "dry_run must be True or False"),
    ("stop_task", (7,), "task_id must be"),
    ("background_tasks", ("",), "tool_use_id must be"),
    ("side_question", ("",), "question must be"),
    ("rename", ("\n",), "title must be"),
    ("compact", ("",), "instructions must be"),
]


@pytest.fixture(params=["direct", "bridge"])
def new_client(request, monkeypatch):
    """What makes clients: the class itself, or a bridge."""
    if request.param == "direct":
        yield Client
    else:
        with bridge_in_memory(monkeypatch) as make:
            yield make


@pytest.fixture
def cli():
    """A CLI in memory; what the client sent must all have been expected."""
    cli = ScriptedCli()
    yield cli
    cli.assert_done()


@pytest.fixture
def pool():
    """Threads for calls that block."""
    with ThreadPoolExecutor(8) as pool:
        yield pool


@pytest.fixture
def client(cli, pool, new_client):
    """A client of it that is ready."""
    with new_client(transport=cli) as client:
        starting = pool.submit(client.start)
        cli.accept()
        starting.result(PATIENCE)
        yield client


@pytest.mark.parametrize(("method", "arguments", "request_"), CALLS)
def test_the_request_and_its_reply(client, cli, pool, method, arguments, request_):
    """A method sends exactly this, and returns the CLI's words in ``raw``."""
    calling = pool.submit(getattr(client, method), *arguments)
    asked = cli.expect("control_request")
    assert asked["request"] == request_
    cli.reply(asked, something="new")
    reply = calling.result(PATIENCE)
    assert isinstance(reply, ControlReply)
    assert reply.raw == {"something": "new"}


@pytest.mark.parametrize(("method", "arguments", "words"), REFUSED)
def test_what_cannot_be_is_not_sent(client, method, arguments, words):
    """A wrong value is a UsageError that names the right one."""
    with pytest.raises(UsageError, match=words):
        getattr(client, method)(*arguments)


@pytest.mark.parametrize("timeout", [0, -1, "5", True])
def test_a_wrong_timeout_is_not_sent(client, timeout):
    """A timeout is a number above 0."""
    for method in ("mcp_status", "supported_models", "interrupt"):
        with pytest.raises(UsageError, match="timeout"):
            getattr(client, method)(timeout=timeout)


def test_every_method_is_tried_here():
    """Nothing is left out above; each has a timeout and a documented, typed return value."""
    public = {name for name in vars(ControlMethods) if not name.startswith("_")}
    told = {"supported_models", "supported_commands", "account_info", "compact"}
    assert public == {call[0] for call in CALLS} | told
    for name in public:
        signature = inspect.signature(getattr(ControlMethods, name))
        assert signature.parameters["timeout"].default is None
        returned = signature.return_annotation.replace("Tuple[", "").replace(", ...]", "")
        assert returned == "Answer" or returned in replies.__all__


def test_secrets_of_servers_are_not_in_the_text(client):
    """A server that is no dict may be a key in the wrong place."""
    with pytest.raises(UsageError) as caught:
        client.set_mcp_servers({"a": "sk-ant-secret"})
    assert "secret" not in str(caught.value)


def test_effort(client, cli, pool):
    """effort= is the setting effortLevel, beside others; None takes it back."""
    for effort, level in (("high", "high"), (None, None)):
        calling = pool.submit(client.apply_settings, {"model": "haiku"}, effort=effort)
        asked = cli.expect("control_request", subtype="apply_flag_settings")
        assert asked["request"]["settings"] == {"model": "haiku", "effortLevel": level}
        cli.reply(asked)
        calling.result(PATIENCE)
    with pytest.raises(UsageError, match="did you mean 'medium'"):
        client.apply_settings(effort="mediun")


def test_what_the_cli_told_when_it_was_greeted(cli, pool, new_client):
    """Models, commands and account; the CLI is started for them, and asked nothing more."""
    with new_client(transport=cli) as client:
        calling = pool.submit(client.supported_models)
        cli.accept(
            models=[{"value": "opus", "displayName": "Opus", "supportedEffortLevels": ["low"]}, 3],
            commands=[{"name": "compact", "argumentHint": "<how>"}],
            account={"email": "a@example.com"},
        )
        (model,) = calling.result(PATIENCE)
        assert (model.value, model.display_name, model.effort_levels) == ("opus", "Opus", ("low",))
        (command,) = client.supported_commands()
        assert (command.name, command.argument_hint) == ("compact", "<how>")
        assert client.account_info().email == "a@example.com"


def test_a_cli_that_tells_nothing(cli, pool, new_client):
    """Where the greeting was answered with nothing, there is nothing."""
    with new_client(transport=cli) as client:
        calling = pool.submit(client.account_info)
        cli.accept(models=None, commands="none", account=[])
        assert calling.result(PATIENCE) == claude_sync.AccountInfo()
        assert client.supported_models() == client.supported_commands() == ()


def test_the_cli_is_started_for_a_control_method(cli, pool, new_client):
    """A client that was not used yet starts its CLI, as a question would."""
    with new_client(transport=cli) as client:
        calling = pool.submit(client.set_model, "haiku")
        cli.accept()
        cli.reply(cli.expect("control_request", subtype="set_model"), model="claude-haiku")
        assert calling.result(PATIENCE).model == "claude-haiku"


def test_a_closed_client_sends_nothing(cli, new_client):
    """After close() every method is refused."""
    client = new_client(transport=cli)
    client.close()
    for method in ("mcp_status", "supported_models", "compact"):
        with pytest.raises(ClientClosed):
            getattr(client, method)()


@pytest.mark.parametrize(
    ("instructions", "prompt"), [(None, "/compact"), (" keep names ", "/compact keep names")]
)
def test_compact_is_a_turn(client, cli, pool, instructions, prompt):
    """It is asked like a question, and its answer is what the CLI says about it."""
    calling = pool.submit(client.compact, instructions)
    cli.answer("Compacted", prompt=prompt)
    assert calling.result(PATIENCE) == "Compacted"


def test_compact_is_refused_in_a_handler(client, cli, pool):
    """As ask() is; the text names the method."""
    caught = []

    @client.on_text
    def shorten(piece):
        with pytest.raises(CalledFromHandler, match=r"compact\(\)") as error:
            client.compact()
        caught.append(error)

    asking = pool.submit(client.ask, "hi")
    cli.answer("Hello", pieces=["Hello"])
    assert asking.result(PATIENCE) == "Hello"
    assert caught


def test_an_answer_knows_its_question(client, cli, pool):
    """answer.user_message_id is what went over the wire, for rewind_files()."""
    asking = pool.submit(client.ask, "hi")
    user = cli.answer("Hello")
    assert asking.result(PATIENCE).user_message_id == user["uuid"]


def test_an_answer_that_was_asked_for_twice_knows_the_first_question(client):
    """What was done to files was done after that one."""
    turn = Turn(client._engine, "hi")
    for uuid in ("first", "second", "third"):
        if turn._entry is not None:
            turn._begin_again(None)
        turn._entry = Entry(uuid, QUESTION, turn)
        assert turn._make_answer(None, 0.0, 0.0).user_message_id == "first"


@pytest.mark.parametrize("cancel_queued", [True, False])
def test_interrupt_says_whether_to_withdraw(client, cli, pool, cancel_queued):
    """The request has it, and the receipt says what came of it."""
    calling = pool.submit(client.interrupt, cancel_queued=cancel_queued)
    asked = cli.expect("control_request", subtype="interrupt")
    assert asked["request"].get("cancel_queued", False) is cancel_queued
    cli.reply(asked, still_queued=["a"], cancelled=["b"])
    receipt = calling.result(PATIENCE)
    assert (receipt.still_queued, receipt.cancelled) == (("a",), ("b",))


def test_all_of_it_works_offline():
    """The built-in stand-in answers every method."""
    with Client(cli=StandIn().command) as client:
        for method, arguments, _ in CALLS:
            if not method.startswith("mcp_") or method == "mcp_status":
                assert isinstance(getattr(client, method)(*arguments), ControlReply)
        client.set_mcp_servers({"a": {}})
        client.mcp_toggle("a", False)
        assert client.mcp_status().get("a").status == "disabled"
        client.mcp_reconnect("a")
        with pytest.raises(claude_sync.ControlError, match="Server not found: b"):
            client.mcp_reconnect("b")
        client.apply_settings(effort="high")
        assert client.get_settings().effort == "high"
        assert client.side_question("why?").text == "echo: why?"
        assert "Compacted" in client.compact("keep it short")
