"""What is said in each dialect, word for word."""

from __future__ import annotations

import json

import pytest

from claude_sync.errors import UsageError
from claude_sync.options.fields import DIALECTS
from claude_sync.prompts import user_message
from claude_sync.protocol.codec import encode_question
from claude_sync.protocol.dialects import (
    CALLBACK,
    CLI,
    USER_MESSAGE,
    dialect_of,
    refuse_settings,
)

BLOCKS = [{"type": "text", "text": "hi"}]


def said(dialect, prompt):
    """The question as it goes over the wire."""
    line = dialect.encode_question(user_message(prompt), "u-1")
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    return json.loads(line)


def test_every_name_that_can_be_chosen_is_a_dialect():
    """And there is no dialect that cannot be chosen."""
    assert [dialect_of(name).name for name in DIALECTS] == list(DIALECTS)
    with pytest.raises(KeyError):
        dialect_of("klingon")


def test_the_default_is_not_wrapped():
    """Questions are on the way of every answer: the default calls the quick function itself."""
    assert CLI.encode_question is encode_question


@pytest.mark.parametrize("prompt", ["hi", "/compact now", BLOCKS])
def test_real_clis_get_a_uuid(prompt):
    """By which the result finds its question."""
    assert said(CLI, prompt) == {**user_message(prompt), "uuid": "u-1"}


@pytest.mark.parametrize("prompt", ["hi", "/compact now", BLOCKS])
def test_a_bare_question_has_nothing_that_identifies_it(prompt):
    """No uuid and no session."""
    assert said(CALLBACK, prompt) == {
        "type": "user",
        "message": {"role": "user", "content": prompt},
        "parent_tool_use_id": None,
    }


@pytest.mark.parametrize(
    "prompt", ["hi", "compact this", "/compactor", "x /compact", " /context", BLOCKS]
)
def test_a_user_message_is_its_content(prompt):
    """And nothing else."""
    assert said(USER_MESSAGE, prompt) == {"type": "user_message", "content": prompt}


@pytest.mark.parametrize(
    ("prompt", "fields"),
    [
        ("/compact", {}),
        (" /compact  ", {}),
        ("/compact the tests", {"custom_instructions": "the tests"}),
        ("/compact\nkeep names \n", {"custom_instructions": "keep names"}),
    ],
)
def test_compacting_is_a_request_beside_user_messages(prompt, fields):
    """It has no id, because nothing replies to it."""
    assert said(USER_MESSAGE, prompt) == {
        "type": "control_request",
        "request": {"subtype": "compact", **fields},
    }


def test_what_stops_a_turn():
    """Its name and its fields; and whether a reply can be waited for."""
    assert (CLI.interrupt, CLI.answers_requests) == (("interrupt", {"cancel_queued": True}), True)
    assert (CALLBACK.interrupt, CALLBACK.answers_requests) == (("interrupt", {}), True)
    assert (USER_MESSAGE.interrupt, USER_MESSAGE.answers_requests) == (("cancel", {}), False)


def test_only_real_clis_begin_turns_by_themselves():
    """Elsewhere a result is always that of the question before it."""
    assert [d.begins_turns for d in (CLI, CALLBACK, USER_MESSAGE)] == [True, False, False]


# Greetings.


def test_real_clis_are_told_everything():
    """The greeting is what was to be said."""
    fields = {"hooks": {"Stop": []}, "jsonSchema": {}, "skills": []}
    assert CLI.greeting(fields, True) == fields


def test_the_greeting_with_four_fields():
    """All four are always there; the preset can be added to."""
    preset = {"type": "preset", "preset": "claude_code"}
    empty = {"mcp_servers": {}, "agents": {}, "hooks": {}}
    assert CALLBACK.greeting({}, False) == {"system_prompt": preset, **empty}
    agents = {"a": {"description": "x", "prompt": "y"}}
    long = {"agents": agents, "appendSystemPrompt": "Be kind."}
    assert CALLBACK.greeting(long, False) == {
        **empty,
        "system_prompt": {**preset, "append": "Be kind."},
        "agents": agents,
    }


def test_a_prompt_on_the_command_line_is_not_contradicted():
    """The preset is left out, and what would be added to it is refused."""
    assert "system_prompt" not in CALLBACK.greeting({}, True)
    with pytest.raises(UsageError, match="append_system_prompt"):
        CALLBACK.greeting({"appendSystemPrompt": "x"}, True)


@pytest.mark.parametrize(
    ("field", "setting"),
    [
        ("hooks", "hooks"),
        ("sdkMcpServers", "tools"),
        ("sdkMcpServerManifests", "tools"),
        ("jsonSchema", "returns"),
        ("skills", "skills"),
        ("forwardSubagentText", "forward_subagent_text"),
        ("excludeDynamicSections", "exclude_dynamic_sections"),
        ("systemPromptSnapshot", "snapshot"),
    ],
)
def test_what_has_no_words_is_refused(field, setting):
    """Rather than left out in silence; the text names the setting and the way out."""
    with pytest.raises(UsageError, match=rf"{setting}.*dialect='cli'"):
        CALLBACK.greeting({field: 1}, False)


def test_without_a_greeting_there_is_none():
    """So nothing waits for its reply."""
    assert USER_MESSAGE.greeting is None


def test_nothing_to_refuse_is_no_error():
    """Several are named at once, each once."""
    refuse_settings("callback", [])
    with pytest.raises(UsageError, match=r"no words for hooks, tools\. "):
        refuse_settings("callback", ["hooks", "sdkMcpServers", "sdkMcpServerManifests"])
