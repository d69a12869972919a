"""JSON objects to messages: every type and every form, and what a program can ask of them."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

import claude_sync
from claude_sync import (
    ApiRetry,
    Assistant,
    AuthStatus,
    CommandLifecycle,
    CompactBoundary,
    ConversationReset,
    Envelope,
    ErrorMessage,
    HookRun,
    Init,
    KeepAlive,
    LocalCommandOutput,
    Message,
    Notification,
    PermissionDenied,
    PromptSuggestion,
    RateLimit,
    Result,
    SessionStateChanged,
    Status,
    StreamEvent,
    System,
    Task,
    TaskNotification,
    TaskProgress,
    TaskStarted,
    TaskUpdated,
    TextBlock,
    ThinkingBlock,
    ThinkingTokens,
    ToolProgress,
    ToolResult,
    ToolUse,
    ToolUseSummary,
    TranscriptMirror,
    Unknown,
    User,
)
from claude_sync.messages.base import SUBTYPES, TYPES
from claude_sync.messages.parsing import parse


def system(subtype, **fields):
    """A system message of that subtype."""
    return parse({"type": "system", "subtype": subtype, **fields})


def result(**fields):
    """A result with these fields."""
    return parse({"type": "result", **fields})


# Every message.


def test_a_class_registers_itself_and_is_public():
    """Declaring a class is all there is to do."""
    classes = {*TYPES.values(), *SUBTYPES.values()} - {System}
    assert {each.__name__ for each in classes} <= set(claude_sync.__all__)

    @dataclasses.dataclass(frozen=True)
    class Dream(System, subtype="dream nightmare"):
        color: str = ""

    try:
        assert system("dream", color="blue") == Dream("dream", color="blue")
        assert type(system("nightmare")) is Dream
    finally:
        del SUBTYPES["dream"], SUBTYPES["nightmare"]


@pytest.mark.parametrize("kind", sorted({*TYPES.values(), *SUBTYPES.values()}, key=str))
def test_a_message_is_frozen_and_keeps_its_object(kind):
    """A handler cannot alter what the next one sees; ``raw`` stays out of repr() and ==."""
    raw = {"type": "x", "uuid": "u1", "session_id": "s1", "parent_tool_use_id": "t1"}
    message = kind.read(raw)
    assert message.raw is raw
    assert (message.uuid, message.session_id, message.parent_tool_use_id) == ("u1", "s1", "t1")
    assert kind.read({"color": "blue"}) == kind.read({"color": "red"})
    assert "blue" not in repr(kind.read({"color": "blue"}))
    with pytest.raises(dataclasses.FrozenInstanceError):
        message.raw = {}
    copy = pickle.loads(pickle.dumps(message))
    assert (copy, copy.raw) == (message, raw)


def test_a_message_that_does_not_say_gives_none():
    """What the CLI left out, or sent as nonsense, is None."""
    for raw in ({}, {"uuid": None, "session_id": [], "parent_tool_use_id": {}}):
        message = KeepAlive(raw)
        assert message.type == ""
        assert (message.uuid, message.session_id, message.parent_tool_use_id) == (None, None, None)


# The assistant and the user.


def test_an_assistant_message_is_read_whole():
    """Every documented field comes from its place."""
    raw = {
        "type": "assistant",
        "message": {
            "id": "m1",
            "model": "some-model",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "x"},
                {"type": "text", "text": "Hel"},
                {"type": "text", "text": "lo"},
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
            ],
            "stop_reason": "tool_use",
            "usage": {"output_tokens": 3},
        },
        "error": {"type": "x", "message": "rate_limit"},
        "parent_tool_use_id": "t0",
        "subagent_type": "planner",
        "agent_id": "a1",
    }
    message = parse(raw)
    call = ToolUse("t1", "Bash", {"command": "ls"}, "t0", "planner")
    assert message == Assistant(
        message_id="m1",
        model="some-model",
        content=(ThinkingBlock("hm", "x"), TextBlock("Hel"), TextBlock("lo"), call),
        stop_reason="tool_use",
        usage={"output_tokens": 3},
        error="rate_limit",
        parent_tool_use_id="t0",
        agent="planner",
    )
    assert (message.text, message.tool_uses) == ("Hello", (call,))


def test_a_tool_result_is_read_whole():
    """The result, and the CLI's record of the call, are found in message and block."""
    raw = {
        "type": "user",
        "message": {
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "out"},
                {"type": "text", "text": "one"},
                {"type": "text", "text": "two"},
            ],
        },
        "parent_tool_use_id": "t0",
        "agent_id": "a1",
        "tool_use_result": False,
        "origin": {"kind": "human"},
        "isReplay": True,
    }
    message = parse(raw)
    returned = ToolResult("t1", "out", False, "t0", "a1", False)
    assert message == User(
        content=(returned, TextBlock("one"), TextBlock("two")),
        parent_tool_use_id="t0",
        agent="a1",
        is_replay=True,
        origin={"kind": "human"},
        tool_use_result=False,
    )
    assert (message.text, message.tool_results) == ("one\ntwo", (returned,))


def test_a_record_of_unclear_belonging_stays_with_the_message():
    """Of several results none gets the record: the wire does not say which it is about."""
    content = [{"type": "tool_result", "tool_use_id": "t1"}, {"type": "tool_result"}, "text"]
    message = parse({"type": "user", "message": {"content": content}, "tool_use_result": {"a": 1}})
    assert message.tool_use_result == {"a": 1}
    assert [each.tool_use_result for each in message.tool_results] == [None, None]


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
def test_content_is_found_wherever_it_is(raw):
    """Text alone, lists, and content beside the message all read the same."""
    for kind in ("assistant", "user", "user_message"):
        assert parse({"type": kind, **raw}).text == "Hello"


@pytest.mark.parametrize("key", ["isSynthetic", "isMeta"])
def test_what_no_person_wrote_is_marked(key):
    """Both marks of a made-up message are understood."""
    assert parse({"type": "user", key: True}).is_synthetic
    assert not parse({"type": "user", key: None}).is_synthetic


# The result.


def test_a_result_is_read_whole():
    """Every documented field comes from its place."""
    fields = {
        "subtype": "success",
        "is_error": False,
        "result": "Done.",
        "duration_ms": 30,
        "duration_api_ms": 20,
        "num_turns": 2,
        "total_cost_usd": 0.5,
        "cost_usd": 0.25,
        "usage": {"input_tokens": 7},
        "permission_denials": ({"tool_name": "Bash"},),
        "structured_output": {"answer": 4},
        "stop_reason": "end_turn",
        "terminal_reason": "completed",
        "api_error_status": 529,
        "ttft_ms": 7.5,
        "origin": {"kind": "task-notification"},
        "user_message_uuids": ("u1", "u2"),
        "local_command": "compact",
    }
    models = {"some-model": {"costUSD": 0.5}}
    told = {
        name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()
    }
    message = result(**told, modelUsage=models)
    assert message == Result(**fields, model_usage=models)
    assert (message.text, message.origin_kind) == ("Done.", "task-notification")
    nulls = dict.fromkeys([*told, "modelUsage"])
    assert result(**nulls) == result() == Result()
    assert result().origin_kind is None


def test_a_refused_call_has_attributes():
    """Beside the keys of the wire."""
    denial = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "ls"}}
    (refused,) = result(permission_denials=[denial, "junk"]).permission_denials
    assert refused == denial
    assert (refused.tool_name, refused.tool_use_id) == ("Bash", "t1")
    assert refused.tool_input["command"] == "ls"
    (refused,) = result(permission_denials=[{}]).permission_denials
    assert (refused.tool_name, refused.tool_input) == ("", {})


def test_a_cost_is_a_number():
    """The turn's, where the CLI or the client knows it; else the total of the process."""
    assert result(cost_usd=0.25, total_cost_usd=1).cost_usd == 0.25
    assert result(total_cost_usd="0.5").cost_usd == 0.5
    assert Result.read({"total_cost_usd": 1.0}, cost_usd=0.0).cost_usd == 0.0
    assert result().cost_usd is None


def test_a_single_uuid_is_a_list_of_one():
    """CLIs that report one uuid, or an empty list beside it, are understood."""
    assert result(user_message_uuid="u1").user_message_uuids == ("u1",)
    assert result(user_message_uuid="u1", user_message_uuids=[]).user_message_uuids == ("u1",)


def test_the_forms_of_an_error_are_understood():
    """One text or object, or a list of both; an empty result is a text, a missing one is none."""
    assert result(error="Limit reached").errors == ("Limit reached",)
    assert result(error={"message": "Limit reached"}).text == "Limit reached"
    assert result(error="short", errors=["long"]).errors == ("long",)
    assert result(errors=[{"message": "a"}, "b", None]).text == "a\nb"
    assert result(result="", errors=["e"]).text == ""
    assert result(result={"not": "text"}).result is None


def test_what_the_cli_says_of_failure_stands():
    """is_error is the CLI's word, even against the subtype; without it the subtype decides."""
    assert result(subtype="error_max_turns", is_error=False).is_error is False
    assert result(subtype="success", is_error=True).is_error is True
    assert result(subtype="error_max_turns").is_error is True
    assert result(subtype="success", error="but").is_error is True
    assert result(subtype="success").is_error is False


# The stream.


def test_a_stream_event_is_handed_on_as_it_is():
    """The event is the CLI's own object; what is no event is an empty one."""
    event = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}}
    raw = {"type": "stream_event", "event": event, "parent_tool_use_id": "t0"}
    message = parse(raw)
    assert message == StreamEvent(event)
    assert message.event is event
    assert (message.event_type, message.parent_tool_use_id) == ("content_block_delta", "t0")
    for event in (None, "text", [1], 5):
        assert parse({"type": "stream_event", "event": event}) == StreamEvent({})
    assert StreamEvent({}, {"event_type": "message_stop"}).event_type == "message_stop"
    assert StreamEvent({"type": ["x"]}).event_type == ""


# Around the conversation.

LIMIT = {
    "status": "allowed_warning",
    "resetsAt": 1700000000,
    "rateLimitType": "five_hour",
    "utilization": 0.9,
    "overageStatus": "rejected",
    "overageResetsAt": 1700000001,
    "overageDisabledReason": "off",
    "isUsingOverage": False,
}
PROGRESS = {"tool_use_id": "t1", "tool_name": "Bash", "elapsed_time_seconds": 3, "task_id": "k1"}


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        (
            "rate_limit_event",
            {"rate_limit_info": LIMIT},
            RateLimit(
                "allowed_warning", 1.7e9, "five_hour", 0.9, "rejected", 1.7e9 + 1, "off", False
            ),
        ),
        ("rate_limit_event", {"rate_limit_info": 5}, RateLimit()),
        (
            "tool_progress",
            {**PROGRESS, "heartbeat": 1},
            ToolProgress("t1", "Bash", 3.0, "k1", True),
        ),
        (
            "tool_use_summary",
            {"summary": "read", "preceding_tool_use_ids": ["t1"]},
            ToolUseSummary("read", ("t1",)),
        ),
        (
            "auth_status",
            {"isAuthenticating": True, "output": ["open"], "error": {"message": "no"}},
            AuthStatus(True, ("open",), "no"),
        ),
        ("prompt_suggestion", {"suggestion": "next?"}, PromptSuggestion("next?")),
        (
            "conversation_reset",
            {"new_conversation_id": "c2", "trigger": "clear"},
            ConversationReset("c2", "clear"),
        ),
        (
            "command_lifecycle",
            {"command_uuid": "u1", "state": "started"},
            CommandLifecycle("u1", "started"),
        ),
        (
            "transcript_mirror",
            {"filePath": "x.jsonl", "entries": [{"a": 1}]},
            TranscriptMirror("x.jsonl", ({"a": 1},)),
        ),
        ("keep_alive", {}, KeepAlive()),
        (
            "error",
            {"error": {"type": "busy_error", "message": "b"}},
            ErrorMessage("b", "busy_error"),
        ),
        ("error", {"error": "busy"}, ErrorMessage("busy")),
        ("error", {"message": "busy"}, ErrorMessage("busy")),
        ("error", {"payload": {"code": "GONE", "message": "gone"}}, ErrorMessage("gone", "GONE")),
        ("error", {}, ErrorMessage("")),
        ("hologram", {}, Unknown("hologram")),
        ("session.nonsense", {}, Unknown("session.nonsense")),
        (None, {}, Unknown("")),
        (["assistant"], {}, Unknown("")),
        (5, {}, Unknown("5")),
        ("system", {}, System("")),
        ("system", {"subtype": {"a": 1}}, System("")),
    ],
)
def test_each_type_has_its_class(kind, fields, expected):
    """A message of each type is read into its class."""
    message = parse({"type": kind, **fields})
    assert message == expected
    assert type(message) is type(expected)


def test_a_type_that_is_not_known_shows_its_type_and_its_fields():
    """Everything is an attribute, under its own name or in snake_case; what is not there is not."""
    message = parse({"type": "hologram", "colorDepth": 3, "tint": None})
    assert repr(message) == "Unknown(type='hologram')"
    assert (message.color_depth, message.colorDepth, message.tint) == (3, 3, None)
    for name in ("depth", "_private", "__deepcopy__"):
        assert not hasattr(message, name)


INIT = {
    "cwd": "project",
    "model": "some-model",
    "tools": ("Read", "Bash"),
    "mcp_servers": ({"name": "files", "status": "connected"},),
    "slash_commands": ("compact",),
    "output_style": "default",
    "agents": ("planner",),
    "skills": ("drawing",),
    "plugins": ({"name": "extra"},),
    "capabilities": ("interrupt_receipt_v1",),
    "user_message_uuids": ("u1",),
}
ASKED = {"tool_name": "Bash", "tool_use_id": "t1", "message": "no"}
RETRY = {"attempt": 2, "max_retries": 10, "retry_delay_ms": 500.5, "error_status": 529}
HOOK = {"hook_id": "h1", "hook_name": "lint", "hook_event": "PostToolUse", "output": "ab"}
TASK = {"task_id": "k1", "run_id": "r1", "tool_use_id": "t1", "description": "count"}
STARTED = {"task_type": "local_agent", "is_backgrounded": True, "spawn_depth": 1, "prompt": "count"}


@pytest.mark.parametrize(
    ("expected", "fields"),
    [
        (Init, INIT),
        (Status, {"status": "compacting", "message": "Testing", "compact_result": "failed"}),
        (SessionStateChanged, {"state": "idle", "sdk_host_only": True}),
        (ApiRetry, {**RETRY, "error": "busy", "no_response": {}}),
        (PermissionDenied, {**ASKED, "agent_id": "a", "decision_reason": "rule"}),
        (LocalCommandOutput, {"content": "printed"}),
        (ThinkingTokens, {"estimated_tokens": 9, "estimated_tokens_delta": 4}),
        (Notification, {"key": "k", "text": "look", "priority": "low"}),
        (TaskStarted, {**TASK, **STARTED, "subagent_type": "counter", "ambient": True}),
        (TaskProgress, {**TASK, "usage": {"tool_uses": 2}, "last_tool_name": "R", "summary": "s"}),
        (TaskNotification, {**TASK, "status": "completed", "output_file": "out", "reason": "r"}),
        (CompactBoundary, {"summary": "so far"}),
    ],
)
def test_fields_are_named_as_on_the_wire(expected, fields):
    """Each field of a system message is found under the name the CLI gave it."""
    (subtype,) = (name for name, each in SUBTYPES.items() if each is expected)
    told = {
        name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()
    }
    assert system(subtype, **told) == expected(subtype=subtype, **fields)
    assert system(subtype) == expected(subtype=subtype)


def test_fields_with_another_name_on_the_wire():
    """Those are in snake_case too, and what an old CLI does not report is None."""
    init = system("init", permissionMode="plan", apiKeySource="none", claude_code_version="9.8.7")
    assert (init.permission_mode, init.api_key_source, init.cli_version) == (
        "plan",
        "none",
        "9.8.7",
    )
    assert (system("init").cli_version, system("init").capabilities) == (None, None)
    assert system("init", capabilities=[]).capabilities == ()
    assert system("init", agents=[{"name": "planner"}, "other"]).agents == ("planner", "other")
    status = system("status", permissionMode="plan", compact_error={"message": "too short"})
    assert (status.permission_mode, status.compact_error) == ("plan", "too short")
    metadata = {"trigger": "auto", "pre_tokens": 900, "post_tokens": 30}
    boundary = system("compact_boundary", compact_metadata=metadata)
    assert (boundary.trigger, boundary.pre_tokens, boundary.post_tokens) == ("auto", 900, 30)
    assert boundary.compact_metadata == metadata


@pytest.mark.parametrize("subtype", ["hook_started", "hook_progress", "hook_response"])
def test_the_run_of_a_hook_is_one_class(subtype):
    """The subtype tells how far it is."""
    run = system(subtype, **HOOK, stdout="a", stderr="b", exit_code=2, outcome="error")
    assert run == HookRun(subtype, **HOOK, stdout="a", stderr="b", exit_code=2, outcome="error")


def test_a_rare_subtype_has_its_fields_as_attributes():
    """Without a class."""
    message = system("memory_recall", mode="select", memories=[{"path": "m"}])
    assert type(message) is System
    assert (message.subtype, message.mode) == ("memory_recall", "select")
    assert message.memories[0]["path"] == "m"
    with pytest.raises(AttributeError, match="memory"):
        message.memory  # noqa: B018
    assert pickle.loads(pickle.dumps(message)).mode == "select"


# Tasks.


def test_an_update_of_a_task_has_only_what_changed():
    """The patch is read; a status it does not touch is None, not a guess."""
    ended = system("task_updated", task_id="k1", patch={"status": "killed", "error": "stopped"})
    assert isinstance(ended, TaskUpdated)
    assert (ended.task_id, ended.status, ended.error, ended.is_over) == (
        "k1",
        "killed",
        "stopped",
        True,
    )
    patch = {"description": "sum", "is_backgrounded": True, "end_time": 3}
    changed = system("task_updated", task_id="k1", patch=patch, status="completed")
    assert (changed.description, changed.status, changed.is_over) == ("sum", None, False)
    assert (changed.is_backgrounded, changed.end_time, changed.patch) == (True, 3.0, patch)


@pytest.mark.parametrize(
    ("status", "over"),
    [("completed", True), ("failed", True), ("stopped", True), ("killed", True), ("paused", False)],
)
def test_a_task_knows_whether_it_is_over(status, over):
    """Every way a task can end counts as over, a pause does not."""
    assert system("task_notification", status=status).is_over is over


def test_news_of_one_task_share_a_base():
    """A handler of tasks can rely on its fields; a task runs until something else is reported."""
    for subtype in ("task_started", "task_progress", "task_updated", "task_notification"):
        task = system(subtype, task_id="k1")
        assert isinstance(task, Task)
        assert (task.task_id, task.is_over) == ("k1", False)
    assert system("task_started").status == "running"


# Envelopes.

ENVELOPES = sorted(name for name, each in TYPES.items() if each is Envelope)


@pytest.mark.parametrize("kind", ENVELOPES)
def test_an_envelope_has_its_payload(kind):
    """With its id and its session, and the fields of the payload as attributes."""
    raw = {"type": kind, "id": 1, "session_id": "s", "payload": {"sdk_session_id": "x"}}
    message = parse(raw)
    assert (message.type, message.id, message.session_id) == (kind, "1", "s")
    assert (message.payload, message.sdk_session_id) == ({"sdk_session_id": "x"}, "x")
    for payload in (None, 3, "text", [], [{}], {"type": 3}, {"message": []}):
        message = parse({"type": kind, "payload": payload})
        assert type(message) is Envelope
        assert repr(message)


def test_what_the_cli_said_is_in_its_envelope():
    """It is the message it was; other envelopes may have a message too."""
    inner = {"type": "assistant", "message": {"content": "Hello"}}
    message = parse({"type": "sdk.message", "payload": inner}).message
    assert isinstance(message, Assistant)
    assert message.raw is inner
    assert isinstance(parse({"type": "sdk.message"}).message, Unknown)
    assert parse({"type": "session.send", "payload": {"message": "more"}}).message == "more"


def test_envelopes_are_opened_one_at_a_time():
    """However deep they are nested."""
    raw = {"type": "x"}
    for _ in range(10_000):
        raw = {"type": "sdk.message", "payload": raw}
    message = parse(raw)
    for _ in range(10_000):
        message = message.message
        assert isinstance(message, Message)
    assert message == Unknown("x")
