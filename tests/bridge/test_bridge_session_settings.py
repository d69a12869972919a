"""What session.create asks for: the document's names, others, and what cannot be said."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_sync import Options, UsageError
from claude_sync.bridge.transport import document_payload, raw_payload


def options_of(**settings):
    """The options of the payload, in the document's words."""
    return document_payload(Options(**settings))["options"]


def test_an_idle_session_in_the_documents_words():
    """Nothing but what is documented; text while it is written is asked for."""
    assert document_payload(Options(cwd=Path("/x"))) == {
        "prompt": "",
        "cwd": "/x",
        "options": {"include_partial_messages": True},
    }


def test_every_documented_option():
    """Each has the document's name and form."""
    settings = {
        "model": "opus",
        "permission_mode": "plan",
        "allowed_tools": ["Read"],
        "disallowed_tools": ["Bash"],
        "system_prompt": "Be short.",
        "max_turns": 3,
        "max_budget_usd": 1.5,
        "max_thinking_tokens": 1000,
        "include_partial_messages": False,
        "enable_file_checkpointing": True,
        "add_dirs": [Path("/a")],
        "mcp_servers": {"files": {"command": "x", "args": ("y",)}},
        "agents": {"helper": {"description": "d", "prompt": "p", "tools": ["Read"]}},
        "sandbox": {"enabled": True, "network": {"allowLocalBinding": True}},
        "setting_sources": [],
        "betas": ["b"],
        "returns": {"type": "object"},
        "fallback_model": "sonnet",
    }
    told = options_of(**settings)
    changed = {"add_dirs", "returns", "mcp_servers", "sandbox"}
    for name in set(settings) - changed:
        assert told[name] == settings[name]
    assert len(told) == len(settings)
    assert told["additional_directories"] == ["/a"]
    assert told["mcp_servers"] == {"files": {"command": "x", "args": ["y"]}}
    assert told["sandbox"] == {"enabled": True, "network": {"allow_local_binding": True}}
    assert told["output_format"] == {"type": "json_schema", "schema": {"type": "object"}}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"append_system_prompt": "more"},
            {"system_prompt": {"type": "preset", "preset": "claude_code", "append": "more"}},
        ),
        (
            {"system_prompt": {"type": "preset", "append": "more"}},
            {"system_prompt": {"type": "preset", "preset": "claude_code", "append": "more"}},
        ),
        ({"system_prompt": {"type": "custom", "prompt": "own"}}, {"system_prompt": "own"}),
        (
            {"system_prompt": {"type": "file", "path": Path("/p")}},
            {"system_prompt": {"type": "file", "path": "/p"}},
        ),
    ],
)
def test_prompts(settings, expected):
    """The document's form where there is one."""
    told = options_of(**settings)
    prompts = ("system_prompt", "append_system_prompt")
    assert {name: told[name] for name in prompts if name in told} == expected


def test_what_has_no_word_is_refused_by_name():
    """Nothing that was asked for is dropped in silence."""
    with pytest.raises(UsageError, match=r"effort, resume.*extensions"):
        options_of(resume="x", effort="high")
    with pytest.raises(UsageError, match="append_system_prompt"):
        options_of(system_prompt="own", append_system_prompt="more")
    with pytest.raises(UsageError, match="tools"):
        options_of(tools=[print])


def test_a_backend_of_this_library_gets_their_own_names():
    """Also of what the document has other names for; functions come with the greeting."""
    given = Options(resume="x", add_dirs=["/a"], env={"A": "b"}, tools=[print], returns={"a": 1})
    assert raw_payload(given)["options"] == {
        "include_partial_messages": True,
        "resume": "x",
        "add_dirs": ["/a"],
        "env": {"A": "b"},
        "output_format": {"type": "json_schema", "schema": {"a": 1}},
    }


@pytest.mark.parametrize("payload_of", [raw_payload, document_payload])
def test_a_dialect_is_the_backends_business(payload_of):
    """Only one is spoken here."""
    with pytest.raises(UsageError, match="dialect"):
        payload_of(Options(dialect="callback"))
