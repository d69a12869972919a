"""What a hook is told, for every event there is."""

from __future__ import annotations

import dataclasses
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_sync import hook_events
from claude_sync.hook_events import EVENT_CLASSES, HOOK_EVENTS, HookEvent, parse_hook_event

BASE = {
    "session_id": "s",
    "transcript_path": "/t.jsonl",
    "cwd": "/w",
    "permission_mode": "default",
    "agent_id": "a",
    "agent_type": "Explore",
    "prompt_id": "p",
    "effort": {"level": "high"},
}

# What each event brings, as the wire has it; an attribute has the same name unless given.
EXTRAS = {
    "PreToolUse": {"mcp_server": "s"},
    "PostToolUse": {"tool_response": {"stdout": "x"}, "duration_ms": 3.5},
    "PostToolUseFailure": {"error": "no", "is_interrupt": True, "duration_ms": 1.0},
    "PostToolBatch": {"tool_calls": ({"tool_name": "Read"},)},
    "PermissionRequest": {"permission_suggestions": ({"type": "addRules"},)},
    "PermissionDenied": {"reason": "rule"},
    "UserPromptSubmit": {"prompt": "hi", "source": "x", "session_title": "t"},
    "UserPromptExpansion": {
        "expansion_type": "slash_command",
        "command_name": "c",
        "command_args": "a",
        "command_source": "s",
        "prompt": "p",
    },
    "Stop": {
        "stop_hook_active": True,
        "last_assistant_message": "bye",
        "background_tasks": ({"id": 1},),
        "session_crons": (),
    },
    "SubagentStop": {"stop_hook_active": True, "agent_transcript_path": "/a"},
    "StopFailure": {"error": "e", "error_details": "d", "last_assistant_message": "m"},
    "SubagentStart": {},
    "SessionStart": {
        "source": "resume",
        "model": "opus",
        "session_title": "t",
        "seconds_since_last_response": 2.0,
        "context_tokens": 5,
    },
    "SessionEnd": {"reason": "logout"},
    "Setup": {"trigger": "init"},
    "PreCompact": {"trigger": "manual", "custom_instructions": "c"},
    "PostCompact": {"trigger": "auto", "compact_summary": "s"},
    "PreModelSwitch": {
        "from_model": "a",
        "to_model": "b",
        "requested_model": "c",
        "source": "s",
        "context_tokens": 3,
        "prompt_cache_warm": True,
        "cache_ttl": "1h",
        "estimated_cache_write_usd": 0.5,
        "pricing": {"input": 1},
    },
    "PostModelSwitch": {"from_model": "a", "to_model": "b"},
    "Notification": {"message": "m", "title": "t", "notification_type": "idle_prompt"},
    "MessageDisplay": {
        "turn_id": "t",
        "message_id": "m",
        "index": 2,
        "final": True,
        "delta": "d",
    },
    "Elicitation": {
        "mcp_server_name": "s",
        "message": "m",
        "mode": "url",
        "url": "u",
        "elicitation_id": "e",
        "requested_schema": {"type": "object"},
    },
    "ElicitationResult": {"mcp_server_name": "s", "action": "accept", "content": {"a": 1}},
    "TaskCreated": {
        "task_id": "1",
        "task_subject": "s",
        "task_description": "d",
        "teammate_name": "t",
        "team_name": "n",
    },
    "TaskCompleted": {"task_id": "1", "task_subject": "s"},
    "TeammateIdle": {"teammate_name": "t", "team_name": "n"},
    "ConfigChange": {"source": "user", "file_path": "f"},
    "InstructionsLoaded": {
        "file_path": "f",
        "memory_type": "m",
        "load_reason": "l",
        "globs": ("*.py",),
    },
    "WorktreeCreate": {"name": "n"},
    "WorktreeRemove": {"worktree_path": "p"},
    "CwdChanged": {"old_cwd": "a", "new_cwd": "b"},
    "FileChanged": {"file_path": "f"},
    "DirectoryAdded": {"directory": "d", "source": "s"},
}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


def as_sent(value):
    """A value as JSON has it."""
    return list(value) if isinstance(value, tuple) else value


def test_all_events_are_known():
    """There are 33, each with a class of its name."""
    assert len(HOOK_EVENTS) == 33
    assert set(HOOK_EVENTS) == set(EXTRAS)
    for name in HOOK_EVENTS:
        assert getattr(hook_events, name) is EVENT_CLASSES[name]
        assert issubclass(EVENT_CLASSES[name], HookEvent)


@pytest.mark.parametrize("name", HOOK_EVENTS)
def test_what_an_event_brings_is_an_attribute(name):
    """Each field of the wire is there under its name, in its type."""
    extras = EXTRAS[name]
    raw = {**BASE, "hook_event_name": name, **{key: as_sent(extras[key]) for key in extras}}
    event = parse_hook_event(raw, None, None)
    assert type(event) is EVENT_CLASSES[name]
    assert {key: getattr(event, key) for key in extras} == extras
    assert event.raw is raw


@pytest.mark.parametrize("name", HOOK_EVENTS)
def test_an_event_that_brings_nothing_is_still_one(name):
    """Missing fields have the value for nothing."""
    event = parse_hook_event({"hook_event_name": name}, None, None)
    assert (event.event, event.tool, event.tool_input, event.cwd) == (name, None, {}, "")
    for field in dataclasses.fields(event):
        assert hasattr(event, field.name)


def test_the_fields_that_all_events_share():
    """The conversation, the folder, the tool, and whoever waits."""
    cancelled = threading.Event()
    raw = {
        **BASE,
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_use_id": "inside",
    }
    event = parse_hook_event(raw, "beside", cancelled)
    assert (event.tool, event.tool_input, event.tool_use_id) == (
        "Bash",
        {"command": "ls"},
        "beside",
    )
    assert (event.session_id, event.cwd, event.transcript_path) == ("s", "/w", "/t.jsonl")
    assert (event.permission_mode, event.prompt_id, event.effort) == ("default", "p", "high")
    assert (event.agent_id, event.agent_type) == ("a", "Explore")
    assert event.cancelled is cancelled
    assert parse_hook_event(raw, None, cancelled).tool_use_id == "inside"


def test_a_file_change_tells_how():
    """The wire's name for it is taken by what happens."""
    event = parse_hook_event({"hook_event_name": "FileChanged", "event": "unlink"}, None, None)
    assert (event.event, event.change) == ("FileChanged", "unlink")


def test_effort_may_be_a_plain_text():
    """As an object or as a word."""
    assert parse_hook_event({"effort": "low"}, None, None).effort == "low"


def test_an_unknown_event_is_a_plain_one():
    """Everything it brings is in raw."""
    event = parse_hook_event({"hook_event_name": "Tomorrow", "x": 1}, None, None)
    assert type(event) is HookEvent
    assert (event.event, event.raw["x"]) == ("Tomorrow", 1)


def test_the_registered_event_counts_where_the_input_names_none():
    """The handler gets the class it expects."""
    assert type(parse_hook_event({}, event="Stop")) is hook_events.Stop
    named = parse_hook_event({"hook_event_name": "Setup"}, event="Stop")
    assert named.event == "Setup"


@pytest.mark.parametrize("junk", [None, 3, "x", []])
def test_an_input_that_is_no_object_is_an_empty_one(junk):
    """Nothing makes it fail."""
    assert parse_hook_event(junk, 3, None) == HookEvent()


@given(st.sampled_from(HOOK_EVENTS), st.data())
def test_fields_of_any_type_are_read(name, data):
    """Wrong types take the value for nothing, or are kept where anything may come."""
    fields = [*BASE, *EXTRAS[name], "tool_name", "tool_input", "tool_use_id", "event"]
    raw = data.draw(st.dictionaries(st.sampled_from(fields), JSON))
    event = parse_hook_event({**raw, "hook_event_name": name}, None, None)
    assert type(event) is EVENT_CLASSES[name]
    assert isinstance(event.tool_input, dict)
    assert event.tool is None or isinstance(event.tool, str)
    assert repr(event).startswith(f"{name}(")


def test_an_event_cannot_be_changed():
    """Several handlers see the same one."""
    event = parse_hook_event({"hook_event_name": "Stop"}, None, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.event = "another"


def test_an_id_beside_an_event_without_a_tool_means_nothing():
    """The CLI makes one up, which no tool use has."""
    event = parse_hook_event({"hook_event_name": "Stop"}, "made-up", None)
    assert event.tool_use_id is None
