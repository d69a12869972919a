"""Control methods: what they send, what they return, and what they refuse to send."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from bridged_in_memory import bridge_in_memory
from patience import PATIENCE
from tables import each

import claude_sync
from claude_sync import CalledFromHandler, Client, ClientClosed, ControlReply, Info, UsageError
from claude_sync.client.control_methods import ControlMethods
from claude_sync.engine.control import ROWS, Rows
from claude_sync.testing import StandIn

pytestmark = pytest.mark.usefixtures("all_was_expected")


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
        {"subtype": "mcp_set_servers", "servers": {"a": {"command": "x", "args": []}}},
    ),
    ("context_usage", (), {"subtype": "get_context_usage"}),
    ("usage_report", (), {"subtype": "get_usage"}),
    ("rewind_files", ("u",), {"subtype": "rewind_files", "user_message_id": "u"}),
    (
        "rewind_files",
        ("u", True),
        {"subtype": "rewind_files", "user_message_id": "u", "dry_run": True},
    ),
    ("reload_skills", (), {"subtype": "reload_skills"}),
    ("reload_plugins", (), {"subtype": "reload_plugins"}),
    ("reload_output_styles", (), {"subtype": "reload_output_styles"}),
    ("read_file", (Path("a.txt"),), {"subtype": "read_file", "path": "a.txt"}),
    (
        "read_file",
        ("a.png", 9, "base64"),
        {"subtype": "read_file", "path": "a.png", "max_bytes": 9, "encoding": "base64"},
    ),
    (
        "seed_read_state",
        ("a.txt", 1700000000.001),
        {"subtype": "seed_read_state", "path": "a.txt", "mtime": 1700000000001},
    ),
    (
        "mcp_read_resource",
        ("a", "ui://x"),
        {"subtype": "mcp_read_resource", "serverName": "a", "uri": "ui://x"},
    ),
    (
        "set_mcp_permission_mode",
        ("a", None),
        {"subtype": "set_mcp_permission_mode_override", "serverName": "a", "mode": None},
    ),
    (
        "update_settings",
        ("userSettings", {"effortLevel": "low"}),
        {
            "subtype": "update_settings",
            "source": "userSettings",
            "settings": {"effortLevel": "low"},
        },
    ),
    ("stop_task", ("t",), {"subtype": "stop_task", "task_id": "t"}),
    ("background_tasks", (), {"subtype": "background_tasks"}),
    ("background_tasks", ("t",), {"subtype": "background_tasks", "tool_use_id": "t"}),
    ("side_question", ("why?",), {"subtype": "side_question", "question": "why?"}),
    ("rename", ("title",), {"subtype": "rename_session", "title": "title"}),
]

# Values that cannot be: the method, its arguments, the argument that is wrong, what was meant.
REFUSED = [
    ("set_model", ("",), "model", None),
    ("set_model", (3,), "model", None),
    ("set_permission_mode", ("acceptedits",), "mode", "acceptEdits"),
    ("set_permission_mode", (None,), "mode", None),
    ("set_max_thinking_tokens", (-1,), "tokens", None),
    ("set_max_thinking_tokens", (True,), "tokens", None),
    ("apply_settings", (), None, None),
    ("apply_settings", ("x",), "settings", None),
    ("apply_settings", ({"effortLevel": "hihg"},), "effort", "high"),
    ("mcp_reconnect", (" ",), "name", None),
    ("mcp_toggle", ("a", 1), "enabled", None),
    ("set_mcp_servers", (None,), "servers", None),
    ("set_mcp_servers", ("a.json",), "servers", None),
    ("set_mcp_servers", ({"a": "b"},), "servers", None),
    ("set_mcp_servers", ({"a": {"command": object()}},), "servers", None),
    ("rewind_files", (None,), "user_message_id", None),
    ("rewind_files", ("u", "yes"), "dry_run", None),
    ("stop_task", (7,), "task_id", None),
    ("read_file", ("",), "path", None),
    ("read_file", ("a", 0), "max_bytes", None),
    ("read_file", ("a", None, "base46"), "encoding", "base64"),
    ("seed_read_state", ("a", "now"), "mtime", None),
    ("seed_read_state", ("a", -1), "mtime", None),
    ("seed_read_state", ("a", float("nan")), "mtime", None),
    ("seed_read_state", ("a", 1e300), "mtime", None),
    ("mcp_read_resource", ("a", ""), "uri", None),
    ("set_mcp_permission_mode", ("a", "plan"), "mode", None),
    ("update_settings", ("flagSettings", {}), "source", "localSettings"),
    ("update_settings", ("userSettings", {"effortLevel": "hihg"}), "effort", "high"),
    ("background_tasks", ("",), "tool_use_id", None),
    ("side_question", ("",), "question", None),
    ("rename", ("\n",), "title", None),
    ("compact", ("",), "instructions", None),
]

# What the built-in stand-in does not know.
UNKNOWN_OFFLINE = {
    *("reload_skills", "reload_plugins", "reload_output_styles", "read_file", "seed_read_state"),
    *("mcp_read_resource", "set_mcp_permission_mode", "update_settings"),
}
# Methods that make no request of their own.
OTHERS = {
    *("supported_models", "supported_commands", "supported_agents", "account_info", "compact"),
}


@pytest.fixture(params=["direct", pytest.param("bridge", marks=pytest.mark.everything)])
def new_client(request, monkeypatch):
    """What makes clients: the class itself, or a bridge."""
    if request.param == "direct":
        yield Client
    else:
        with bridge_in_memory(monkeypatch) as make:
            yield make


@pytest.mark.parametrize(("method", "arguments", "request_"), CALLS)
def test_the_request_and_its_reply(client, cli, pool, method, arguments, request_):
    """A method sends exactly this, and returns the CLI's words."""
    calling = pool.submit(getattr(client, method), *arguments)
    asked = cli.expect("control_request")
    assert asked["request"] == request_
    cli.reply(asked, something="new")
    reply = calling.result(PATIENCE)
    assert getattr(reply, "raw", reply) == {"something": "new"}
    assert reply["something"] == "new"


@each(("method", "arguments", "argument", "meant"), REFUSED)
def test_what_cannot_be_is_not_sent(client, method, arguments, argument, meant):
    """A wrong value is a UsageError that names the argument, and the right value."""
    with pytest.raises(UsageError) as caught:
        getattr(client, method)(*arguments)
    assert (caught.value.option, caught.value.nearest) == (argument, meant)


@each("timeout", [0, -1, "5", True])
def test_a_wrong_timeout_is_not_sent(client, timeout):
    """A timeout is a number above 0."""
    for method in ("mcp_status", "supported_models", "interrupt"):
        with pytest.raises(UsageError) as caught:
            getattr(client, method)(timeout=timeout)
        assert caught.value.option == "timeout"


def test_every_method_has_a_row_and_is_tried_here():
    """Method and row have one name and the same arguments; each takes a timeout."""
    public = {name for name in vars(ControlMethods) if not name.startswith("_")}
    assert public - OTHERS == {row.name for row in ROWS.values()} == {call[0] for call in CALLS}
    for name in public:
        parameters = inspect.signature(getattr(ControlMethods, name)).parameters
        assert parameters["timeout"].default is None
        if name not in OTHERS:
            arguments = set(parameters) - {"self", "timeout", "effort"}
            assert arguments == set(getattr(Rows, name).fields)


def test_secrets_of_servers_are_not_in_the_text(client):
    """A server that is no dict may be a key in the wrong place."""
    with pytest.raises(UsageError) as caught:
        client.set_mcp_servers({"a": "sk-ant-secret"})
    assert "secret" not in str(caught.value)
    assert caught.value.value is None


def test_effort(client, cli, pool):
    """effort= is the setting effortLevel, beside others; None takes it back."""
    for effort, level in (("high", "high"), (None, None)):
        calling = pool.submit(client.apply_settings, {"model": "haiku"}, effort=effort)
        asked = cli.expect("control_request", subtype="apply_flag_settings")
        assert asked["request"]["settings"] == {"model": "haiku", "effortLevel": level}
        cli.reply(asked)
        calling.result(PATIENCE)
    with pytest.raises(UsageError):
        client.apply_settings(effort="mediun")


# What the CLI says about itself.


def test_what_the_cli_says_when_it_is_greeted(cli, pool, new_client):
    """Models, commands and account; the CLI is started for them, and asked nothing more."""
    with new_client(transport=cli) as client:
        assert client.info == Info()
        calling = pool.submit(client.supported_models)
        cli.accept(
            models=[{"value": "opus", "displayName": "Opus", "supportedEffortLevels": ["low"]}, 3],
            commands=[{"name": "compact", "argumentHint": "<how>"}],
            agents=[{"name": "Explore"}, "junk"],
            account={"email": "a@example.com"},
            capabilities=["one"],
        )
        (model,) = calling.result(PATIENCE)
        assert (model.value, model.display_name, model.effort_levels) == ("opus", "Opus", ("low",))
        (command,) = client.supported_commands()
        assert (command.name, command.argument_hint) == ("compact", "<how>")
        assert client.account_info().email == "a@example.com"
        assert client.supported_agents() == ({"name": "Explore"},)
        info = client.info
        assert info.commands == ({"name": "compact", "argumentHint": "<how>"},)
        assert info.account == {"email": "a@example.com"}
        assert info.capabilities == ("one",)
        assert info.cli_version == cli.version
        assert info.raw["commands"] == list(info.commands)


def test_a_cli_that_says_nothing(cli, pool, new_client):
    """Where the greeting was answered with nothing, there is nothing."""
    with new_client(transport=cli) as client:
        calling = pool.submit(client.account_info)
        garbage = {"agents": {}, "output_style": [], "available_output_styles": "x"}
        cli.accept(models=None, commands="none", account=[], capabilities=None, **garbage)
        assert calling.result(PATIENCE) == claude_sync.AccountInfo()
        assert (
            client.supported_models()
            == client.supported_commands()
            == client.supported_agents()
            == ()
        )
        info = client.info
        assert info == Info(cli_version=info.cli_version, raw=info.raw)


def test_the_first_turn_says_more(client, cli, pool):
    """The capabilities of ``init`` go before those of the greeting."""
    asking = pool.submit(client.ask, "hi")
    user = cli.expect("user")
    cli.say({"type": "system", "subtype": "init", "session_id": "s", "capabilities": ["later"]})
    cli.end_turn(user, "Hello")
    asking.result(PATIENCE)
    assert client.info.capabilities == ("later",)


# Life.


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
    """As ask() is; the error names the method."""
    caught = []

    @client.on_text
    def shorten(piece):
        with pytest.raises(CalledFromHandler) as error:
            client.compact()
        caught.append(error.value.method)

    asking = pool.submit(client.ask, "hi")
    cli.answer("Hello", pieces=["Hello"])
    assert asking.result(PATIENCE) == "Hello"
    assert caught == ["compact"]


def test_an_answer_knows_its_question(client, cli, pool):
    """answer.user_message_id is what went over the wire, for rewind_files()."""
    asking = pool.submit(client.ask, "hi")
    user = cli.answer("Hello")
    assert asking.result(PATIENCE).user_message_id == user["uuid"]


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
    """The built-in stand-in answers nearly every method."""
    with Client(cli=StandIn().command) as client:
        for method, arguments, _ in CALLS:
            if method in UNKNOWN_OFFLINE:
                with pytest.raises(claude_sync.UnsupportedByCli):
                    getattr(client, method)(*arguments)
            elif not method.startswith("mcp_") or method == "mcp_status":
                assert isinstance(getattr(client, method)(*arguments), ControlReply)
        client.mcp_toggle("a", False)
        assert client.mcp_status().get("a").status == "disabled"
        client.mcp_reconnect("a")
        with pytest.raises(claude_sync.ControlError, match="Server not found: b"):
            client.mcp_reconnect("b")
        client.apply_settings(effort="high")
        assert client.get_settings().effort == "high"
        assert client.side_question("why?").text == "echo: why?"
        assert "Compacted" in client.compact("keep it short")
