"""What session.create asks for: the document's names, others, and what cannot be said."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_sync import Options, UsageError
from claude_sync.bridge.envelopes import Envelope
from claude_sync.bridge.settings import Policy, plan_of
from claude_sync.bridge.transport import document_payload, raw_payload


def options_of(**settings):
    """The options of the payload, in the document's words."""
    return document_payload(Options(**settings))["options"]


# What a client wants; the names that the backend reads as they are.
SETTINGS = {
    "model": "opus",
    "permission_mode": "plan",
    "allowed_tools": ["Read"],
    "disallowed_tools": ["Bash"],
    "max_turns": 3,
    "max_budget_usd": 1.5,
    "max_thinking_tokens": 1000,
    "include_partial_messages": True,
    "enable_file_checkpointing": True,
    "add_dirs": [Path("/a")],
    "mcp_servers": {"files": {"command": "x", "args": ["y"]}},
    "agents": {"helper": {"description": "d", "prompt": "p", "tools": ["Read"]}},
    "sandbox": {"enabled": True, "network": {"allowLocalBinding": True}},
    "setting_sources": [],
    "betas": ["b"],
    "returns": {"type": "object"},
    "fallback_model": "sonnet",
}
DOCUMENTED = {
    "additional_directories": ["/a"],
    "sandbox": {"enabled": True, "network": {"allow_local_binding": True}},
    "output_format": {"type": "json_schema", "schema": {"type": "object"}},
}


def test_settings_are_those_of_the_other_side_too():
    """What one side says in the document's words, the other understands."""
    payload = document_payload(Options(cwd=Path("/x"), **SETTINGS))
    own = {name: value for name, value in SETTINGS.items() if name not in ("add_dirs", "returns")}
    assert payload["options"] == {**own, **DOCUMENTED}
    understood = plan_of(Envelope("session.create", payload), Policy()).settings
    assert Options(**understood) == Options(
        **{**SETTINGS, "cwd": "/x", "returns_retries": 0, "add_dirs": ["/a"]},
    )


MORE = {"type": "preset", "preset": "claude_code", "append": "more"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"append_system_prompt": "more"}, MORE),
        ({"system_prompt": {"type": "preset", "append": "more"}}, MORE),
        ({"system_prompt": {"type": "custom", "prompt": "own"}}, "own"),
    ],
)
def test_prompts_have_the_form_of_the_document(settings, expected):
    """Where it has one; the two settings are one there."""
    told = options_of(**settings)
    assert told.pop("system_prompt") == expected
    assert told == {"include_partial_messages": True}


def test_a_backend_of_this_library_gets_all_settings():
    """Also those for which the document has no words."""
    given = Options(cwd="/x", resume="x", env={"A": "b"}, tools=[print], **SETTINGS)
    payload = raw_payload(given)
    understood = plan_of(Envelope("session.create", payload), Policy(trusted=True)).settings
    assert Options(**{**understood, "tools": [print], "returns_retries": 1}) == given.replace(
        add_dirs=["/a"]
    )


def test_what_has_no_word_is_refused_by_name():
    """Nothing that was asked for is dropped in silence."""
    with pytest.raises(UsageError, match=r"effort, resume.*extensions"):
        options_of(resume="x", effort="high")
    with pytest.raises(UsageError, match="append_system_prompt"):
        options_of(system_prompt="own", append_system_prompt="more")
    with pytest.raises(UsageError, match="tools"):
        options_of(tools=[print])


@pytest.mark.parametrize("payload_of", [raw_payload, document_payload])
def test_a_dialect_is_the_backends_business(payload_of):
    """Only one is spoken here."""
    with pytest.raises(UsageError, match="dialect"):
        payload_of(Options(dialect="callback"))
