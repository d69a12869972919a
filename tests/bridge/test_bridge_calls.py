"""Requests as calls: the document's words, and none."""

from __future__ import annotations

import pytest

from claude_sync.bridge.calls import call_of, reply_body, reply_code, reply_text


@pytest.mark.parametrize(
    ("subtype", "fields", "method", "args"),
    [
        ("set_model", {"model": None}, "setModel", [None]),
        ("set_permission_mode", {"mode": "plan"}, "setPermissionMode", ["plan"]),
        ("set_max_thinking_tokens", {"max_thinking_tokens": 5}, "setMaxThinkingTokens", [5]),
        ("mcp_status", {}, "mcpServerStatus", []),
        ("rewind_files", {"user_message_id": "u"}, "rewindFiles", ["u"]),
        (
            "rewind_files",
            {"user_message_id": "u", "dry_run": True},
            "rewindFiles",
            ["u", {"dryRun": True}],
        ),
    ],
)
def test_the_documents_words(subtype, fields, method, args):
    """A plain backend is called by what is documented."""
    assert call_of(subtype, fields) == {"method": method, "args": args}


@pytest.mark.parametrize("subtype", ["get_settings", "side_question", "nonsense"])
def test_where_there_is_no_word(subtype):
    """What a plain backend does not know is told by name."""
    assert subtype in call_of(subtype, {})


def test_fields_that_have_no_place_are_not_dropped():
    """A documented method with more than its arguments is no documented call."""
    fields = {"model": "opus", "surprise": 1}
    assert "set_model" in call_of("set_model", fields)


def test_what_a_call_returned_is_a_reply():
    """Objects as they are; lists and nothing in the form that the CLI has."""
    assert reply_body("set_model", {"model": "opus"}) == {"model": "opus"}
    assert reply_body("set_model", None) == {}
    assert reply_body("mcp_status", [1]) == {"mcpServers": [1]}
    assert reply_body("other", [1]) == {"result": [1]}


def test_why_a_call_failed():
    """The CLI's words and code are preferred."""
    assert reply_text({"error": "no"}) == "no"
    assert reply_text({"error": "it said no", "details": {"text": "no"}}) == "no"
    assert reply_text({}) == "the backend does not say why"
    assert reply_code({}) is None
    assert reply_code({"details": {"code": 5}}) is None
    assert reply_code({"details": {"code": "busy"}}) == "busy"
