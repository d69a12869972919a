"""JSON objects to messages: every type and every form, and what a program can ask of them."""

from __future__ import annotations

import dataclasses
import math
import pickle

import pytest
from tables import each

import claude_sync
from claude_sync import (
    Assistant,
    Envelope,
    Result,
    StreamEvent,
    System,
    Task,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    Unknown,
    User,
)
from claude_sync.messages.base import SUBTYPES, TYPES
from claude_sync.messages.parsing import parse

CLASSES = sorted({*TYPES.values(), *SUBTYPES.values()}, key=str)
ENVELOPES = sorted(name for name, kind in TYPES.items() if kind is Envelope)


def system(subtype, **fields):
    """A system message of that subtype."""
    return parse({"type": "system", "subtype": subtype, **fields})


def result(**fields):
    """A result with these fields."""
    return parse({"type": "result", **fields})


def as_sent(fields):
    """Fields as the wire has them: a list where the message has a tuple."""
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()
    }


# Every message.


def test_a_class_registers_itself_and_is_public():
    """Declaring a class is all there is to do."""
    assert {each.__name__ for each in CLASSES} <= set(claude_sync.__all__)

    class Dream(System, subtype="dream nightmare"):
        color_depth: int = 0

    try:
        assert system("dream", colorDepth=3) == Dream("dream", 3)
        assert type(system("nightmare")) is Dream
    finally:
        del SUBTYPES["dream"], SUBTYPES["nightmare"]


@each("kind", CLASSES)
def test_a_message_is_frozen_and_keeps_its_object(kind):
    """A handler cannot alter what the next one sees; ``raw`` stays out of repr() and ==."""
    raw = {"type": "x", "uuid": "u1", "session_id": "s1", "parent_tool_use_id": "t1"}
    message = kind.read(raw)
    assert message.raw is raw
    assert (message.uuid, message.session_id, message.parent_tool_use_id) == ("u1", "s1", "t1")
    assert kind.read({"color": "blue"}) == kind.read({"color": "red"})
    # Without anything it has nothing; only a task runs until something else is reported.
    assert {name for name, value in vars(kind()).items() if value} <= {"status"}
    assert "blue" not in repr(kind.read({"color": "blue"}))
    with pytest.raises(dataclasses.FrozenInstanceError):
        message.raw = {}
    copy = pickle.loads(pickle.dumps(message))
    assert (copy, copy.raw) == (message, raw)


@each(
    ("key", "read"),
    [
        ("subtype", [(5, "5"), (True, ""), (["a"], ""), (10**6000, ""), ({"name": "n"}, "n")]),
        ("subtype", [({"type": "t", "message": None, "text": "a", "name": "n"}, "a")]),
        ("result", [("", ""), (False, None), (1.5, "1.5")]),
        ("duration_ms", [("7", 0), (7.9, 7), (-1, -1), (2**70, 2**70), (True, 0), (math.nan, 0)]),
        ("ttft_ms", [(2, 2.0), ({}, None), (True, None), (10**400, None), (math.inf, None)]),
        ("is_error", [("maybe", False), ([1], False)]),
        ("usage", [([("a", 1)], {}), ({"a": 1}, {"a": 1})]),
        ("origin", [("a", None), ({}, {})]),
        ("errors", [(["a", 5, None, {"name": "n"}, []], ("a", "5", "n")), ("a", ("a",)), ({}, ())]),
        ("structured_output", [([5], [5])]),
    ],
)
def test_a_field_has_its_type_whatever_was_sent(key, read):
    """What can be understood is; anything else is the value for nothing."""
    for junk, meant in read:
        value = getattr(result(**{key: junk}), key)
        assert (value, type(value)) == (meant, type(meant))


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
    content = [
        {"type": "tool_result", "tool_use_id": "t1", "content": "out"},
        {"type": "text", "text": "one"},
        {"type": "text", "text": "two"},
    ]
    raw = {
        "type": "user",
        "message": {"content": content},
        "parent_tool_use_id": "t0",
        "agent_id": "a1",
        "tool_use_result": False,
        "origin": {"kind": "human"},
        "isReplay": True,
    }
    message = parse(raw)
    returned = ToolResult("t1", "out", False, "t0", "a1", False)
    texts = (TextBlock("one"), TextBlock("two"))
    assert message == User(
        content=(returned, *texts),
        parent_tool_use_id="t0",
        agent="a1",
        is_replay=True,
        origin={"kind": "human"},
        tool_use_result=False,
    )
    assert (message.text, message.tool_results) == ("one\ntwo", (returned,))
    # Of several results none gets the record: the wire does not say which it is about.
    several = parse({**raw, "message": {"content": [*content, {"type": "tool_result"}]}})
    assert several.tool_use_result is False
    assert [each.tool_use_result for each in several.tool_results] == [None, None]
    assert parse({"type": "user", "isMeta": True}).is_synthetic
    assert parse({"type": "user", "isSynthetic": True}).is_synthetic


@each(
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


# The result.


def test_a_result_is_read_whole():
    """Every documented field comes from its place; without any it is an empty one."""
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
    message = result(**as_sent(fields), modelUsage=models)
    assert message == Result(**fields, model_usage=models)
    assert (message.text, message.origin_kind) == ("Done.", "task-notification")
    assert result(**dict.fromkeys([*fields, "modelUsage"])) == result() == Result()
    assert (result().origin_kind, result().cost_usd) == (None, None)
    assert result().usage is not result().usage


def test_a_refused_call_has_attributes():
    """Beside the keys of the wire."""
    denial = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "ls"}}
    refused, empty = result(permission_denials=[denial, "junk", {}]).permission_denials
    assert refused == denial
    assert (refused.tool_name, refused.tool_use_id) == ("Bash", "t1")
    assert refused.tool_input["command"] == "ls"
    assert (empty.tool_name, empty.tool_use_id, empty.tool_input) == ("", "", {})


@each(
    ("sent", "read"),
    [
        # The turn's cost, or else the total of the process.
        ({"cost_usd": 0, "total_cost_usd": 1}, {"cost_usd": 0.0}),
        ({"total_cost_usd": 0.5}, {"cost_usd": 0.5}),
        ({"user_message_uuid": "u1"}, {"user_message_uuids": ("u1",)}),
        # An error is a text or an object; the list of them goes before.
        ({"error": "no"}, {"errors": ("no",), "text": "no", "is_error": True}),
        ({"error": {"message": "no"}, "subtype": "success"}, {"text": "no", "is_error": True}),
        ({"error": "short", "errors": ["long", "er"]}, {"text": "long\ner"}),
        ({"errors": ["e"], "result": ""}, {"text": ""}),
        # is_error is the CLI's word, even against the subtype; without it the subtype decides.
        ({"subtype": "error_max_turns", "is_error": False}, {"is_error": False}),
        ({"subtype": "success", "is_error": True}, {"is_error": True}),
        ({"subtype": "error_max_turns"}, {"is_error": True}),
        ({"subtype": "success"}, {"is_error": False}),
    ],
)
def test_a_result_of_any_cli_is_understood(sent, read):
    """Fields that are missing, or have other names."""
    message = result(**sent)
    assert {name: getattr(message, name) for name in read} == read
    assert Result.read(sent, cost_usd=0.125).cost_usd == 0.125


def test_a_stream_event_is_handed_on_as_it_is():
    """The event is the CLI's own object; what is no event is an empty one."""
    event = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a"}}
    message = parse({"type": "stream_event", "event": event, "parent_tool_use_id": "t0"})
    assert message == StreamEvent(event)
    assert message.event is event
    assert (message.event_type, message.parent_tool_use_id) == ("content_block_delta", "t0")
    for event in (None, "text", [1], 5):
        assert parse({"type": "stream_event", "event": event}) == StreamEvent({})
    assert StreamEvent({}, raw={"event_type": "message_stop"}).event_type == "message_stop"


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
LIMIT_READ = ("allowed_warning", 1.7e9, "five_hour", 0.9, "rejected", 1.7e9 + 1, "off", False)
OUTSIDE = [
    ("rate_limit_event", {"rate_limit_info": LIMIT}, LIMIT_READ),
    ("rate_limit_event", {"rate_limit_info": 5}, ()),
    ("prompt_suggestion", {"suggestion": "next?"}, ("next?",)),
    ("error", {"error": {"type": "busy_error", "message": "b"}}, ("b", "busy_error")),
    ("error", {"error": "busy"}, ("busy",)),
    ("error", {"message": "busy"}, ("busy",)),
    ("error", {"payload": {"code": "GONE", "message": "gone"}}, ("gone", "GONE")),
    ("error", {}, ("",)),
    ("system", {}, ("",)),
    ("system", {"subtype": {"a": 1}}, ("",)),
    ("hologram", {}, ("hologram",)),
    ("session.nonsense", {}, ("session.nonsense",)),
    (None, {}, ("",)),
    (["assistant"], {}, ("",)),
    (5, {}, ("5",)),
]


@each(("kind", "fields", "values"), OUTSIDE)
def test_each_type_has_its_class(kind, fields, values):
    """A message of each type is read into its class, another one into an Unknown."""
    message = parse({"type": kind, **fields})
    assert type(message) is TYPES.get(str(kind), Unknown)
    assert message == type(message)(*values)


TASK = {
    "task_id": "k1",
    "run_id": "r1",
    "tool_use_id": "t1",
    "description": "count",
    "subagent_type": "counter",
    "task_type": "local_agent",
    "is_backgrounded": True,
    "usage": {"tool_uses": 2},
    "summary": "s",
    "error": "e",
}
SYSTEM = {
    "init": {
        "cwd": "project",
        "model": "some-model",
        "tools": ("Read", "Bash"),
        "mcp_servers": ({"name": "files"},),
        "permission_mode": "plan",
        "slash_commands": ("compact",),
        "api_key_source": "none",
        "output_style": "default",
        "agents": ("planner",),
        "skills": ("drawing",),
        "plugins": ({"name": "extra"},),
        "capabilities": (),
        "user_message_uuids": ("u1",),
    },
    "status": {"status": "compacting", "message": "Testing", "compact_result": "failed"},
    "api_retry": {
        "attempt": 2,
        "max_retries": 10,
        "retry_delay_ms": 500.5,
        "error_status": 529,
        "error": "busy",
        "no_response": {},
    },
    "compact_boundary": {"summary": "so far", "compact_metadata": {"a": 1}},
    "task_started": TASK,
    "task_progress": TASK,
    "task_notification": {**TASK, "status": "completed"},
    "task_updated": {"task_id": "k1", "status": None},
}


@each(("subtype", "fields"), SYSTEM.items())
def test_each_subtype_has_its_class(subtype, fields):
    """Its fields are found under the names of the wire; without any it is an empty one."""
    kind = SUBTYPES[subtype]
    message = system(subtype, **as_sent(fields))
    assert type(message) is type(system(subtype)) is kind
    assert message == kind(subtype=subtype, **fields)
    nothing = {"status": None} if subtype == "task_updated" else {}
    assert system(subtype) == kind(subtype=subtype, **nothing)
    assert isinstance(message, Task) is subtype.startswith("task_")
    assert set(SYSTEM) == set(SUBTYPES)


def test_fields_with_another_name_or_place_on_the_wire():
    """What an old CLI does not report is None."""
    init = system("init", permissionMode="plan", claude_code_version="9.8.7")
    assert (init.permission_mode, init.cli_version) == ("plan", "9.8.7")
    assert (system("init").cli_version, system("init").capabilities) == (None, None)
    assert system("init", agents=[{"name": "planner"}, "other"]).agents == ("planner", "other")
    metadata = {"trigger": "auto", "pre_tokens": 900, "post_tokens": 30}
    boundary = system("compact_boundary", compact_metadata=metadata)
    assert (boundary.trigger, boundary.pre_tokens, boundary.post_tokens) == ("auto", 900, 30)


def test_an_update_of_a_task_has_only_what_changed():
    """The patch is read; a status it does not touch is None, not a guess."""
    patch = {"description": "sum", "is_backgrounded": True, "error": "e"}
    changed = system("task_updated", task_id="k1", patch=patch, status="completed")
    assert (changed.description, changed.is_backgrounded, changed.error) == ("sum", True, "e")
    assert (changed.status, changed.is_over, changed.patch) == (None, False, patch)
    assert system("task_progress").status == "running"
    for status in ("completed", "failed", "stopped", "killed"):
        assert system("task_updated", patch={"status": status}).is_over
    assert not system("task_updated", patch={"status": "paused"}).is_over


def test_what_has_no_class_has_its_fields_as_attributes():
    """Under their own names or in snake_case; what is not there is not."""
    for message in (parse({"type": "hologram", "colorDepth": 3}), system("s", colorDepth=3)):
        assert "colorDepth" not in repr(message)
        copy = pickle.loads(pickle.dumps(message))
        assert (copy.color_depth, copy.colorDepth) == (3, 3)
        for name in ("depth", "_private", "__deepcopy__"):
            assert not hasattr(message, name)
        with pytest.raises(AttributeError, match=r"'depth'.*\.raw"):
            message.depth  # noqa: B018
    assert repr(parse({"type": "hologram"})) == "Unknown(type='hologram')"


# Envelopes.


@each("kind", ENVELOPES)
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
    """It is the message it was, opened one at a time; other envelopes may have a message too."""
    inner = {"type": "assistant", "message": {"content": "Hello"}}
    message = parse({"type": "sdk.message", "payload": inner}).message
    assert isinstance(message, Assistant)
    assert message.raw is inner
    assert isinstance(parse({"type": "sdk.message"}).message, Unknown)
    assert parse({"type": "session.send", "payload": {"message": "more"}}).message == "more"
