"""What session.create asks for: the document's names, others, and what cannot be said."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from claude_sync import Options, UsageError
from claude_sync.bridge.session_settings import (
    DEFAULTS,
    DOCUMENTED,
    KEPT,
    NOT_SENT,
    create_payload,
    shared_out,
)


def options_of(extensions=False, **settings):
    """The options of the payload."""
    return create_payload(Options(**settings), extensions)["options"]


def test_an_idle_session_in_the_documents_words():
    """Nothing but what is documented; text while it is written is asked for."""
    assert create_payload(Options(cwd=Path("/x")), False) == {
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
    assert set(told) == DOCUMENTED - {"hooks"}
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
            {"system_prompt": {"type": "custom", "prompt": "own", "append": "more"}},
            {"system_prompt": "own", "append_system_prompt": "more"},
        ),
        (
            {"system_prompt": "own", "append_system_prompt": "more"},
            {"system_prompt": "own", "append_system_prompt": "more"},
        ),
        (
            {"system_prompt": {"type": "file", "path": Path("/p")}},
            {"system_prompt": {"type": "file", "path": "/p"}},
        ),
    ],
)
def test_prompts(settings, expected):
    """The document's form where there is one."""
    told = options_of(extensions=True, **settings)
    prompts = ("system_prompt", "append_system_prompt")
    assert {name: told[name] for name in prompts if name in told} == expected


def test_what_has_no_word_is_refused_by_name():
    """Nothing that was asked for is dropped in silence."""
    with pytest.raises(UsageError, match=r"effort, resume.*extensions"):
        options_of(resume="x", effort="high")


def test_other_settings_go_by_their_own_names():
    """A backend of this library takes them."""
    told = options_of(extensions=True, resume="x", effort="high", env={"A": "b"})
    assert told["resume"] == "x"
    assert told["effort"] == "high"
    assert told["env"] == {"A": "b"}


def test_functions_need_more_than_the_document():
    """tools are refused where nobody could call them."""
    with pytest.raises(UsageError, match="tools"):
        options_of(tools=[print])
    assert "tools" not in options_of(extensions=True, tools=[print])


def test_a_dialect_is_the_backends_business():
    """Only one is spoken here."""
    with pytest.raises(UsageError, match="dialect"):
        options_of(dialect="callback")


def test_the_client_keeps_what_it_needs():
    """Servers, prompts and variables are nothing for this machine; the rest stays."""
    given = Options(cwd="/nowhere", model="opus", effort="high", budget_usd=2, resume="x")
    own, elsewhere = shared_out(given)
    assert elsewhere == {"effort": "high"}
    assert own == Options(cwd="/nowhere", model="opus", budget_usd=2, resume="x")
    assert own.replace(**elsewhere) == given


def test_every_setting_is_somewhere():
    """No setting is forgotten: it is kept, sent, or both."""
    names = {field.name for field in dataclasses.fields(Options)}
    assert set(KEPT) <= names
    assert set(NOT_SENT) <= names
    assert set(DEFAULTS) == names
    assert not set(NOT_SENT) - set(KEPT)
