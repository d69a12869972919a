"""The builders give messages of the shapes that real CLIs send."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import claude_sync.testing
from claude_sync.testing import builders


def test_every_builder_gives_json():
    """What a builder returns can be printed as a line, and says its type."""
    made = [
        builders.assistant("hi"),
        builders.user(builders.tool_result("toolu_01", "two files")),
        builders.replay({"uuid": "u1", "message": {"role": "user", "content": "hi"}}),
        builders.result("done"),
        builders.interrupted_result(),
        *builders.stream_of(["a", "b"], complete=True),
        builders.thinking_delta("hm"),
        builders.input_json_delta('{"a"'),
        builders.init(),
        builders.status(),
        builders.session_state("idle"),
        builders.lifecycle("u1", "queued"),
        builders.task_started("t1"),
        builders.task_updated("t1"),
        builders.task_notification("t1"),
        builders.background_tasks_changed(["t1"]),
        builders.can_use_tool("Bash", {"command": "ls"}),
        builders.hook_callback("hook_0", "PreToolUse"),
        builders.mcp_message("server", {"method": "tools/list"}),
        builders.control_cancel("r1"),
        builders.control_response("r1", {}),
        builders.control_error("r1", "no"),
    ]
    assert [message for message in made if json.loads(json.dumps(message)) != message] == []
    assert all(message["type"] for message in made)


def test_every_message_has_an_id_of_its_own():
    """No two messages share a uuid, unless a test says so."""
    uuids = [builders.assistant("same")["uuid"] for _ in range(100)]
    assert len(set(uuids)) == 100
    assert builders.assistant("same", uuid="mine")["uuid"] == "mine"


def test_fields_replace_and_absent_removes():
    """A test can change any field of a message and leave any out."""
    message = builders.result("x", is_error=True, usage=builders.ABSENT)
    assert message["is_error"] is True
    assert "usage" not in message


def test_a_result_lists_the_questions_it_answers():
    """Only a result that is told of uuids has the fields for them."""
    assert "user_message_uuids" not in builders.result("x", [None])
    message = builders.result("x", ["u1", "u2"])
    assert message["user_message_uuid"] == "u1"
    assert message["user_message_uuids"] == ["u1", "u2"]


def test_a_stream_is_a_whole_message():
    """The pieces lie between the start and the end of one block of one message."""
    messages = builders.stream_of(["Hel", "lo"], message_id="msg_7", parent="toolu_1")
    assert [message["event"]["type"] for message in messages] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert {message["event"].get("index", 0) for message in messages} == {0}
    assert {message["api_message_id"] for message in messages} == {"msg_7"}
    assert {message["parent_tool_use_id"] for message in messages} == {"toolu_1"}


def test_the_package_loads_its_names_when_asked():
    """Importing claude_sync.testing alone loads none of its tools; a wrong name is an error."""
    code = (
        "import sys, claude_sync.testing as t; "
        "assert not [m for m in sys.modules if m.startswith('claude_sync.testing.')]; "
        "t.builders; t.ScriptedCli; t.StandIn; print(sorted(t.__all__) == t.__all__)"
    )
    root = Path(claude_sync.testing.__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, check=True)
    assert done.stdout.strip() == b"True"
    assert {"StandIn", "builders"} <= set(dir(claude_sync.testing))
    with pytest.raises(AttributeError, match="Scripted"):
        claude_sync.testing.Scripted  # noqa: B018
