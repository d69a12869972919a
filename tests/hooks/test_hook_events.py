"""What the handler of a hook gets, for every event there is."""

from __future__ import annotations

import copy
import dataclasses
import threading

import pytest
from tables import each

from claude_sync.hooks import HookEvent, parse_hook_event
from claude_sync.hooks.events import OWN_FIELDS

BASH = {
    "hook_event_name": "PreToolUse",
    "session_id": "s",
    "transcript_path": "/t.jsonl",
    "cwd": "/w",
    "permission_mode": "default",
    "agent_id": "a",
    "agent_type": "Explore",
    "prompt_id": "p",
    "effort": {"level": "high"},
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "inside",
}


def test_the_fields_that_all_events_share():
    """The conversation, the folder, the tool, and who waits for the answer."""
    cancelled = threading.Event()
    event = parse_hook_event(BASH, "beside", cancelled)
    assert dataclasses.asdict(dataclasses.replace(event, cancelled=None)) == {
        "event": "PreToolUse",
        "tool": "Bash",
        "tool_input": {"command": "ls"},
        "tool_use_id": "beside",
        "session_id": "s",
        "cwd": "/w",
        "transcript_path": "/t.jsonl",
        "permission_mode": "default",
        "agent_id": "a",
        "agent_type": "Explore",
        "prompt_id": "p",
        "effort": "high",
        "raw": BASH,
        "cancelled": None,
    }
    assert event.cancelled is cancelled
    assert event.raw is BASH
    assert parse_hook_event(BASH).tool_use_id == "inside"
    assert parse_hook_event({"effort": "low"}).effort == "low"


@each("name", sorted(OWN_FIELDS))
def test_an_events_own_fields_are_attributes(name):
    """As the CLI sent them; None where it left one out."""
    key = "event" if name == "change" else name
    sent = parse_hook_event({"hook_event_name": "Stop", key: [name]})
    assert getattr(sent, name) == [name]
    assert key in dir(sent)
    assert getattr(parse_hook_event({"hook_event_name": "Stop"}), name) is None


def test_a_field_that_the_event_does_not_have():
    """An AttributeError; also while a copy is made."""
    event = parse_hook_event({"hook_event_name": "Stop"})
    with pytest.raises(AttributeError, match=r"'promt'.*event\.raw"):
        event.promt  # noqa: B018
    assert not hasattr(HookEvent.__new__(HookEvent), "_own")
    assert copy.copy(event) == event


def test_an_event_of_a_later_cli():
    """What it brings is there all the same, also to be compared and shown; nobody changes it."""
    event = parse_hook_event({"hook_event_name": "Tomorrow", "when": 1})
    assert (event.event, event.when) == ("Tomorrow", 1)
    assert "when" in dir(event)
    assert event != parse_hook_event({"hook_event_name": "Tomorrow", "when": 2})
    assert repr(event) == "HookEvent('Tomorrow', when=1)"
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.event = "another"


def test_what_is_missing_or_wrong_counts_as_nothing():
    """The event that was registered counts where the input names none; made-up ids do not."""
    assert parse_hook_event({}, event="Stop").stop_hook_active is None
    assert parse_hook_event({"hook_event_name": "Setup"}, event="Stop").event == "Setup"
    assert parse_hook_event({"hook_event_name": "Stop"}, "made-up").tool_use_id is None
    for junk in (None, 3, "x", []):
        event = parse_hook_event(junk, 3)
        assert (event.event, event.tool, event.raw) == ("", None, {})
        assert not event.cancelled.is_set()
