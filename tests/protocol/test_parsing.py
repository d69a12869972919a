"""JSON objects to messages: every type and every form."""

import pytest

from claude_sync.blocks import TextBlock, ThinkingBlock, ToolResult, ToolUse
from claude_sync.envelope_messages import SessionCreated
from claude_sync.messages import (
    Assistant,
    AuthStatus,
    CommandLifecycle,
    ConversationReset,
    ErrorMessage,
    KeepAlive,
    PromptSuggestion,
    RateLimit,
    Result,
    StreamEvent,
    System,
    ToolProgress,
    ToolUseSummary,
    TranscriptMirror,
    Unknown,
    User,
)
from claude_sync.protocol.parsing import parse

# The assistant.


def assistant(content, **fields):
    return parse({"type": "assistant", "message": {"content": content}, **fields})


def test_an_assistant_message_is_read_whole():
    """Every documented field comes from its place."""
    raw = {
        "type": "assistant",
        "message": {
            "id": "m1",
            "model": "some-model",
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "x"},
                {"type": "text", "text": "Hello"},
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
            ],
            "stop_reason": "tool_use",
            "usage": {"output_tokens": 3},
        },
        "error": "rate_limit",
        "parent_tool_use_id": "t0",
        "subagent_type": "planner",
        "agent_id": "a1",
        "uuid": "u1",
        "session_id": "s1",
    }
    message = parse(raw)
    assert message == Assistant(
        message_id="m1",
        model="some-model",
        content=(
            ThinkingBlock("hm", "x"),
            TextBlock("Hello"),
            ToolUse("t1", "Bash", {"command": "ls"}, "t0", "planner"),
        ),
        stop_reason="tool_use",
        usage={"output_tokens": 3},
        error="rate_limit",
        parent_tool_use_id="t0",
        agent="planner",
    )
    assert message.raw is raw
    assert (message.type, message.uuid, message.session_id) == ("assistant", "u1", "s1")


def test_an_agent_without_kind_is_named_by_its_id():
    """The id stands in for the kind, in the message and in its tool calls."""
    message = assistant([{"type": "tool_use"}], agent_id="a1")
    assert message.agent == "a1"
    assert message.tool_uses[0].agent == "a1"


@pytest.mark.parametrize(
    "raw",
    [
        {"message": {"content": "Hello"}},
        {"message": {"content": ["Hello"]}},
        {"message": {"content": {"type": "text", "text": "Hello"}}},
        {"message": "Hello"},
        {"message": ["Hello"]},
        {"content": "Hello"},
        {"message": None, "content": [{"type": "text", "text": "Hello"}]},
    ],
)
@pytest.mark.parametrize("kind", ["assistant", "user", "user_message"])
def test_content_is_found_wherever_it_is(kind, raw):
    """Text alone, lists, and content beside the message all read the same."""
    assert parse({"type": kind, **raw}).text == "Hello"


def test_an_assistant_message_without_anything_is_empty():
    """Null in every place gives the values for nothing."""
    message = {"id": None, "model": None, "content": None, "usage": None, "stop_reason": None}
    assert parse({"type": "assistant", "message": message, "error": None}) == Assistant()
    assert parse({"type": "assistant"}) == Assistant()


def test_an_error_given_as_an_object_is_read():
    """The message of an error object is the error."""
    assert assistant([], error={"type": "x", "message": "overloaded"}).error == "overloaded"


# The user.


def test_a_tool_result_is_read_whole():
    """The result, and the CLI's record of the call, are found in message and block."""
    raw = {
        "type": "user",
        "message": {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "out"}],
        },
        "parent_tool_use_id": "t0",
        "subagent_type": "planner",
        "tool_use_result": {"stdout": "out"},
        "origin": {"kind": "human"},
    }
    message = parse(raw)
    assert message == User(
        content=(ToolResult("t1", "out", False, "t0", "planner", {"stdout": "out"}),),
        parent_tool_use_id="t0",
        agent="planner",
        origin={"kind": "human"},
        tool_use_result={"stdout": "out"},
    )
    assert message.raw is raw


@pytest.mark.parametrize("record", ["Error: refused", {"stdout": ""}, [1], 5, False])
def test_the_record_of_a_call_may_be_of_any_type(record):
    """Texts, objects and lists are handed on as they are."""
    content = [{"type": "tool_result"}, {"type": "text", "text": "note"}]
    message = parse({"type": "user", "message": {"content": content}, "tool_use_result": record})
    assert message.tool_use_result is record
    assert message.tool_results[0].tool_use_result is record


def test_a_record_of_unclear_belonging_stays_with_the_message():
    """Of several results none gets the record: the wire does not say whose it is."""
    content = [{"type": "tool_result", "tool_use_id": "t1"}, {"type": "tool_result"}, "text"]
    message = parse({"type": "user", "message": {"content": content}, "tool_use_result": {"a": 1}})
    assert message.tool_use_result == {"a": 1}
    assert [result.tool_use_result for result in message.tool_results] == [None, None]


def test_a_replay_is_marked():
    """What repeats our own message can be told from what is new."""
    assert parse({"type": "user", "isReplay": True}).is_replay
    assert not parse({"type": "user", "isReplay": False}).is_replay
    assert not parse({"type": "user"}).is_replay


@pytest.mark.parametrize("key", ["isSynthetic", "isMeta"])
def test_what_nobody_typed_is_marked(key):
    """Both marks of a made-up message are understood."""
    assert parse({"type": "user", key: True}).is_synthetic
    assert not parse({"type": "user", key: None}).is_synthetic


# The result.


def result(**fields):
    return parse({"type": "result", **fields})


def test_a_result_is_read_whole():
    """Every documented field comes from its place."""
    raw = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "Done.",
        "duration_ms": 30,
        "duration_api_ms": 20,
        "num_turns": 2,
        "total_cost_usd": 0.5,
        "usage": {"input_tokens": 7},
        "modelUsage": {"some-model": {"costUSD": 0.5}},
        "permission_denials": [{"tool_name": "Bash"}],
        "structured_output": {"answer": 4},
        "stop_reason": "end_turn",
        "terminal_reason": "completed",
        "api_error_status": 529,
        "origin": {"kind": "task-notification"},
        "user_message_uuid": "u2",
        "user_message_uuids": ["u1", "u2"],
        "local_command": "compact",
    }
    message = parse(raw)
    assert message == Result(
        subtype="success",
        is_error=False,
        result="Done.",
        duration_ms=30,
        duration_api_ms=20,
        num_turns=2,
        total_cost_usd=0.5,
        usage={"input_tokens": 7},
        model_usage={"some-model": {"costUSD": 0.5}},
        permission_denials=({"tool_name": "Bash"},),
        structured_output={"answer": 4},
        stop_reason="end_turn",
        terminal_reason="completed",
        api_error_status=529,
        origin={"kind": "task-notification"},
        user_message_uuids=("u1", "u2"),
        local_command="compact",
    )
    assert message.raw is raw


def test_a_single_uuid_is_a_list_of_one():
    """CLIs that tell one uuid, or an empty list beside it, are understood."""
    assert result(user_message_uuid="u1").user_message_uuids == ("u1",)
    assert result(user_message_uuid="u1", user_message_uuids=[]).user_message_uuids == ("u1",)
    assert result(user_message_uuid=None).user_message_uuids == ()


def test_the_short_form_of_an_error_is_understood():
    """An error given as one text is the list of errors."""
    message = result(subtype="error", error="Limit reached", is_error=True)
    assert (message.errors, message.text, message.is_error) == (
        ("Limit reached",),
        "Limit reached",
        True,
    )
    assert result(error={"message": "Limit reached"}).errors == ("Limit reached",)
    assert result(error="short", errors=["long"]).errors == ("long",)


def test_errors_given_as_objects_are_read():
    """A list of error objects is the list of their messages."""
    assert result(errors=[{"message": "a"}, "b", None]).errors == ("a", "b")


def test_what_the_cli_says_of_failure_stands():
    """is_error is the CLI's word, even against the subtype; without it the subtype decides."""
    assert result(subtype="error_max_turns", is_error=False).is_error is False
    assert result(subtype="success", is_error=True).is_error is True
    assert result(subtype="error_max_turns").is_error is True
    assert result(subtype="success", error="but").is_error is True
    assert result(subtype="success").is_error is False


def test_costs_are_not_mixed_up():
    """The cost of the turn never stands in for the total, and nothing told is None."""
    message = result(cost_usd=0.25)
    assert (message.cost_usd, message.total_cost_usd) == (0.25, None)
    assert result(total_cost_usd=0).total_cost_usd == 0.0
    assert result(total_cost_usd="0.5").total_cost_usd == 0.5


def test_a_result_without_text_has_none():
    """A missing text is None, an empty one is empty."""
    assert result().result is None
    assert result(result="").result == ""
    assert result(result={"not": "text"}).result is None


def test_null_in_every_place_gives_the_values_for_nothing():
    """A result of nulls equals one made without arguments."""
    keys = ("usage", "modelUsage", "permission_denials", "errors", "num_turns", "subtype", "origin")
    assert result(**dict.fromkeys(keys)) == Result()


# The rest.


@pytest.mark.parametrize("event", [None, "text", [1], 5])
def test_a_stream_event_without_event_is_empty(event):
    """What is no event is an empty one."""
    assert parse({"type": "stream_event", "event": event}) == StreamEvent({})


def test_a_stream_event_is_handed_on_as_it_is():
    """The event is the CLI's own object, not a copy."""
    event = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}}
    raw = {"type": "stream_event", "event": event, "parent_tool_use_id": "t0"}
    message = parse(raw)
    assert message.event is event
    assert message.raw is raw
    assert (message.event_type, message.parent_tool_use_id) == ("content_block_delta", "t0")


def test_a_rate_limit_is_read_from_its_object():
    """The facts are inside rate_limit_info."""
    info = {
        "status": "allowed_warning",
        "resetsAt": 1700000000,
        "rateLimitType": "five_hour",
        "utilization": 0.9,
        "overageStatus": "rejected",
        "overageResetsAt": 1700000001,
        "overageDisabledReason": "off",
        "isUsingOverage": False,
    }
    assert parse({"type": "rate_limit_event", "rate_limit_info": info}) == RateLimit(
        "allowed_warning", 1700000000.0, "five_hour", 0.9, "rejected", 1700000001.0, "off", False
    )
    assert parse({"type": "rate_limit_event", "rate_limit_info": None}) == RateLimit()


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            {
                "type": "tool_progress",
                "tool_use_id": "t1",
                "tool_name": "Bash",
                "elapsed_time_seconds": 3,
                "task_id": "k1",
                "heartbeat": True,
            },
            ToolProgress("t1", "Bash", 3.0, "k1", True),
        ),
        (
            {"type": "tool_use_summary", "summary": "read", "preceding_tool_use_ids": ["t1"]},
            ToolUseSummary("read", ("t1",)),
        ),
        (
            {"type": "auth_status", "isAuthenticating": True, "output": ["open"], "error": "no"},
            AuthStatus(True, ("open",), "no"),
        ),
        ({"type": "prompt_suggestion", "suggestion": "next?"}, PromptSuggestion("next?")),
        (
            {"type": "conversation_reset", "new_conversation_id": "c2", "trigger": "clear"},
            ConversationReset("c2", "clear"),
        ),
        (
            {"type": "command_lifecycle", "command_uuid": "u1", "state": "started"},
            CommandLifecycle("u1", "started"),
        ),
        (
            {"type": "transcript_mirror", "filePath": "x.jsonl", "entries": [{"a": 1}]},
            TranscriptMirror("x.jsonl", ({"a": 1},)),
        ),
        ({"type": "keep_alive"}, KeepAlive()),
        (
            {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
            ErrorMessage("busy", "overloaded_error"),
        ),
        ({"type": "error", "error": "busy"}, ErrorMessage("busy")),
        ({"type": "error", "message": "busy"}, ErrorMessage("busy")),
        (
            {"type": "error", "payload": {"code": "SESSION_NOT_FOUND", "message": "gone"}},
            ErrorMessage("gone", "SESSION_NOT_FOUND"),
        ),
        ({"type": "error"}, ErrorMessage("")),
        ({"type": "hologram"}, Unknown("hologram")),
        ({"type": "control_request"}, Unknown("control_request")),
        ({"type": None}, Unknown("")),
        ({"type": ["assistant"]}, Unknown("")),
        ({"type": 5}, Unknown("5")),
        ({}, Unknown("")),
        ({"type": "system"}, System("")),
        ({"type": "system", "subtype": "dream"}, System("dream")),
        ({"type": "system", "subtype": {"a": 1}}, System("")),
    ],
)
def test_each_type_has_its_class(raw, expected):
    """A message of each type is read into its class, with its raw object."""
    message = parse(raw)
    assert message == expected
    assert type(message) is type(expected)
    assert message.raw is raw


# Envelopes.


def test_a_message_in_an_envelope_is_typed():
    """The classes are tested where they are; here is how they are found."""
    created = parse({"type": "session.created", "payload": {"sdk_session_id": "s"}})
    assert created == SessionCreated(payload={"sdk_session_id": "s"}, sdk_session_id="s")
    wrapped = parse({"type": "sdk.message", "payload": {"type": "result", "result": "4"}})
    assert wrapped.message == Result(result="4")


def test_an_envelope_in_an_envelope_is_left_alone():
    """It is no message of a CLI, and could go on for ever."""
    inner = {"type": "sdk.message", "payload": {"type": "result"}}
    assert parse({"type": "sdk.message", "payload": inner}).message == Unknown("sdk.message")


def test_a_type_with_a_dot_need_not_be_an_envelope():
    """Those that are not known stay unknown."""
    assert parse({"type": "session.nonsense"}) == Unknown("session.nonsense")
