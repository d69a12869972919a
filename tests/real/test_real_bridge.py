"""The backend with real CLIs behind it: turns, permissions, hooks, methods, many at once."""

from __future__ import annotations

import pytest
from bridge_front_end import InProcess

from claude_sync.testing.model import text, tool_use

START_TIMEOUT = 90.0


@pytest.fixture(scope="module")
def front(cli, model, home):
    """A front end that is trusted: tests choose the CLI's variables."""
    front = InProcess(cli=cli.path, trust_client=True)
    front.environment = model.environment(home)
    yield front
    front.end()


@pytest.fixture
def create(front, tmp_path):
    """Create sessions in the test's own folder."""

    def make(prompt="", **options):
        settings = {"env": front.environment, "start_timeout": START_TIMEOUT, **options}
        return front.create(prompt, cwd=tmp_path, options=settings)

    return make


def created(front, session_id):
    """The payload of session.created."""
    return front.nth("session.created", session_id)["payload"]


def test_a_real_cli_answers(front, create):
    """The prompt, then a message; the CLI's id is the one that was told before it began."""
    session_id = create("a plain question")
    assert front.result(session_id)["result"] == "echo: a plain question"
    front.send("session.send", {"message": "and another"}, session_id=session_id)
    result = front.result(session_id, 1)
    assert result["result"] == "echo: and another"
    assert result["session_id"] == created(front, session_id)["sdk_session_id"]


def test_a_real_permission_is_asked_and_given(front, create, model, tmp_path):
    """The front end allows another input than Claude wanted; that is what is written."""
    path = tmp_path / "bridged.txt"
    model.when("write the bridged file").reply(
        [tool_use("Write", {"file_path": str(path), "content": "wanted"})]
    ).then_reply(text("written"))
    session_id = create("write the bridged file")
    asked = front.callback(session_id)
    payload = asked["payload"]
    assert (payload["callback_type"], payload["tool_name"]) == ("can_use_tool", "Write")
    assert payload["suggestions"]
    answer = {"behavior": "allow", "updated_input": {**payload["tool_input"], "content": "other"}}
    front.send("callback.response", answer, session_id=session_id, id=asked["id"])
    assert front.result(session_id)["result"] == "written"
    assert path.read_text() == "other"


@pytest.mark.everything
def test_a_real_permission_is_denied(front, create, model, tmp_path):
    """Claude reads the reason, and nothing is written."""
    path = tmp_path / "denied.txt"
    model.when("write the denied file").reply(
        [tool_use("Write", {"file_path": str(path), "content": "wanted"})]
    ).then_reply(text("so be it"))
    session_id = create("write the denied file")
    asked = front.callback(session_id)
    answer = {"behavior": "deny", "message": "not on a Monday"}
    front.send("callback.response", answer, session_id=session_id, id=asked["id"])
    assert front.result(session_id)["result"] == "so be it"
    assert "not on a Monday" in repr(front.said(session_id))
    assert not path.exists()


def test_a_real_hook_blocks(front, create, model):
    """PreToolUse is asked before the permission; a block keeps the tool from running."""
    model.when("run the hooked command").reply(
        [tool_use("Bash", {"command": "echo hooked"})]
    ).then_reply(text("blocked, then"))
    hooks = {"PreToolUse": [{"matcher": "Bash"}]}
    session_id = create("run the hooked command", hooks=hooks, allowed_tools=["Bash"])
    asked = front.callback(session_id)
    payload = asked["payload"]
    assert payload["callback_type"] == "hook"
    assert payload["hook_input"]["tool_input"]["command"] == "echo hooked"
    answer = {"decision": "block", "reason": "the guard says no"}
    front.send("callback.response", answer, session_id=session_id, id=asked["id"])
    assert front.result(session_id)["result"] == "blocked, then"
    assert "the guard says no" in repr(front.said(session_id))


@pytest.mark.everything
def test_an_agent_of_the_options_is_known(front, create):
    """system/init lists it."""
    agents = {"bridged-helper": {"description": "helps", "prompt": "You help."}}
    session_id = create("are there agents", agents=agents)
    front.result(session_id)
    init = next(said for said in front.said(session_id) if said.get("subtype") == "init")
    assert "bridged-helper" in init["agents"]


@pytest.mark.everything
def test_a_real_turn_is_interrupted(front, create, model):
    """session.interrupted comes, the turn ends, and the session answers the next message."""
    session_id = create()
    model.when("ask before the interrupt").reply(
        [tool_use("Bash", {"command": "touch never"})]
    ).then_reply(text("never"))
    front.send("session.send", {"message": "ask before the interrupt"}, session_id=session_id)
    front.callback(session_id)
    id = front.send("session.interrupt", session_id=session_id)
    assert front.answer(id)["type"] == "session.interrupted"
    assert front.result(session_id)["subtype"] == "error_during_execution"
    front.send("session.send", {"message": "after it"}, session_id=session_id)
    assert front.result(session_id, 1)["result"] == "echo: after it"


def test_the_methods_of_a_real_cli(front, create):
    """All eight are answered."""
    session_id = create(enable_file_checkpointing=True)
    assert front.call(session_id, "supportedModels")["result"]
    assert front.call(session_id, "supportedCommands")["result"]
    assert isinstance(front.call(session_id, "accountInfo")["result"], dict)
    assert front.call(session_id, "setModel", "haiku")["success"]
    assert front.call(session_id, "setPermissionMode", "plan")["success"]
    assert front.call(session_id, "mcpServerStatus") == {"success": True, "result": []}
    thinking = front.call(session_id, "setMaxThinkingTokens", 2000)
    unknown = "12345678-1234-4234-a234-123456789012"
    rewound = front.call(session_id, "rewindFiles", unknown, {"dryRun": True})
    assert thinking == {"success": True, "result": None}
    assert rewound["result"]["canRewind"] is False


@pytest.mark.everything
def test_two_real_sessions_do_not_mix(front, create):
    """Each gets its own answers; one that is killed leaves the other alone."""
    first, second = create("one of two"), create("two of two")
    assert front.result(first)["result"] == "echo: one of two"
    assert front.result(second)["result"] == "echo: two of two"
    id = front.send("session.kill", session_id=first)
    assert front.answer(id)["type"] == "session.killed"
    front.send("session.send", {"message": "still here"}, session_id=second)
    assert front.result(second, 1)["result"] == "echo: still here"


@pytest.mark.everything
def test_a_session_is_resumed(front, create):
    """The id of session.created is good for resume, in another session."""
    first = create("remember the bridge")
    front.result(first)
    id = created(front, first)["sdk_session_id"]
    front.answer(front.send("session.kill", session_id=first))
    second = create(resume=id)
    assert created(front, second)["sdk_session_id"] == id
    front.send("session.send", {"message": "what now"}, session_id=second)
    assert front.result(second)["result"] == "echo: what now"


@pytest.mark.everything
def test_a_real_cli_that_does_not_start_is_told(front, create, tmp_path):
    """A conversation that does not exist is no session."""
    options = {
        "env": front.environment,
        "resume": "12345678-1234-4234-a234-123456789012",
        "start_timeout": START_TIMEOUT,
    }
    id = front.send("session.create", {"cwd": str(tmp_path), "options": options})
    told = front.error(id=id, code="SESSION_CREATE_FAILED")
    assert "12345678" in told["message"]
