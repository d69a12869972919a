"""Clients over a bridge, with real CLIs behind the backend of this library."""

from __future__ import annotations

import os
import sys
import threading

import pytest
from bridged import traffic_is_valid

import claude_sync
from claude_sync.bridge import Bridge
from claude_sync.testing.model import text, tool_use

PATIENCE = 90.0


@pytest.fixture(scope="module")
def bridge(cli):
    """One backend for the tests of a CLI."""
    command = [sys.executable, "-m", "claude_sync.bridge", "--trust-client", "--cli", cli.path]
    with pytest.MonkeyPatch.context() as patch, traffic_is_valid(patch), Bridge(command) as made:
        yield made


@pytest.fixture(scope="module")
def shared(bridge, model, home, tmp_path_factory):
    """A client over it that has no options, for the tests that want none."""
    folder, environment = tmp_path_factory.mktemp("shared"), model.environment(home)
    with bridge.client(env=environment, cwd=folder, start_timeout=PATIENCE) as client:
        yield client


@pytest.fixture
def over_bridge(bridge, model, home, tmp_path):
    """Make clients over it."""
    clients = []

    def make(**options):
        environment = model.environment(home)
        options = {"cwd": tmp_path, "start_timeout": PATIENCE, **options}
        clients.append(bridge.client(env=environment, **options))
        return clients[-1]

    yield make
    for client in clients:
        client.close()


def test_questions_are_answered(shared, model, listen):
    """Text comes in pieces, each question has its own answer, money is counted."""
    model.when("river one").reply("the first river")
    model.when("river two").reply("the second river")
    pieces = listen(shared, "text")
    turns = [shared.submit("river one"), shared.submit("river two")]
    assert [turn.result(PATIENCE) for turn in turns] == ["the first river", "the second river"]
    assert "".join(pieces) == "the first riverthe second river"
    assert shared.cost_usd > 0
    assert shared.session_id == turns[0].result().session_id


def test_permissions_and_hooks_are_decided_here(over_bridge, model, tmp_path):
    """A tool runs with what was allowed; another is blocked by a hook before anybody is asked."""
    model.when("build a dam").reply(tool_use("Bash", {"command": "touch dam"})).then_reply("built")
    model.when("break the dam").reply(tool_use("Bash", {"command": "rm dam"})).then_reply("no")
    client = over_bridge()
    asked = []

    @client.on_permission
    def decide(request):
        asked.append(request.input["command"])
        return request.allow({**request.input, "command": "touch weir"})

    @client.on_hook("PreToolUse", matcher="Bash")
    def keep(event):
        if "rm" in event.tool_input["command"]:
            return claude_sync.hooks.block("dams stay")
        return None

    assert client.ask("build a dam", timeout=PATIENCE) == "built"
    assert [path.name for path in tmp_path.iterdir()] == ["weir"]
    client.ask("break the dam", timeout=PATIENCE)
    assert asked == ["touch dam"]
    assert "dams stay" in str(client.ask("break the dam", timeout=PATIENCE).tool_uses)


def test_functions_of_this_program(over_bridge, model):
    """Claude calls them from the other side."""
    name = "mcp__claude_sync__depth"
    model.when("how deep").reply(tool_use(name, {"river": "Elbe"})).then_reply("so deep")

    def depth(river: str) -> str:
        """How deep a river is."""
        return f"{river}: 7 m, measured by {os.getpid()}"

    answer = over_bridge(tools=[depth]).ask("how deep", timeout=PATIENCE)
    ((_, result),) = answer.tool_uses
    assert f"Elbe: 7 m, measured by {os.getpid()}" in str(result.raw)


def test_a_turn_is_interrupted(shared, model):
    """The session stays usable."""
    model.when("flow on").reply(text("for ever", gate=threading.Event()))
    model.when("stand still").reply("still")
    turn = shared.stream("flow on")
    assert next(iter(turn))
    shared.interrupt()
    with pytest.raises(claude_sync.TurnInterrupted):
        turn.result(PATIENCE)
    assert shared.ask("stand still", timeout=PATIENCE) == "still"


def test_controls(shared):
    """The CLI's own replies."""
    shared.set_model("opus")
    assert shared.set_permission_mode("plan").mode == "plan"
    assert shared.mcp_status().servers == ()
    assert shared.supported_commands()
    shared.set_model(None)
    shared.set_permission_mode("default")


def test_an_agent_in_the_background(shared, model):
    """Its report is no answer to the next question."""
    gate = threading.Event()
    agent = {"description": "d", "prompt": "look for springs", "subagent_type": "general-purpose"}
    model.when("send an agent").reply(tool_use("Task", agent)).then_reply("sent")
    model.when("look for springs").reply("found a spring", gate=gate)
    model.when("what now").reply("now this")
    assert shared.ask("send an agent", timeout=PATIENCE) == "sent"
    gate.set()
    shared.wait_idle(PATIENCE)
    assert shared.ask("what now", timeout=PATIENCE) == "now this"


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_cli_that_is_killed_is_resumed(over_bridge, model):
    """The conversation goes on in another session of the backend."""
    model.when("source").reply("here is the source")
    model.when("cut off").reply(text("this is cut", gate=threading.Event()))
    model.when("mouth").reply("here is the mouth")
    client = over_bridge()
    assert client.ask("source", timeout=PATIENCE) == "here is the source"
    session_id = client.session_id
    turn = client.stream("cut off")
    assert next(iter(turn))
    os.kill(client.pid, 9)
    with pytest.raises(claude_sync.CliExited) as caught:
        turn.result(PATIENCE)
    assert caught.value.exit_code == -9
    assert client.ask("mouth", timeout=PATIENCE) == "here is the mouth"
    assert client.session_id == session_id


@pytest.mark.everything
def test_answers_of_a_form(over_bridge, model):
    """The CLI behind the bridge is told the form."""
    schema = {"type": "object", "properties": {"km": {"type": "integer"}}, "required": ["km"]}
    form = tool_use("StructuredOutput", {"km": 1094})
    model.when("how long is the Elbe").reply(form).then_reply("told")
    client = over_bridge(returns=schema)
    assert client.ask("how long is the Elbe", timeout=PATIENCE).data == {"km": 1094}
