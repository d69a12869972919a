"""Secrets in texts that people see; whole commands are in test_command.py."""

from __future__ import annotations

import json

import pytest

from claude_sync.runtime.redaction import redact_argv, redact_text, redact_value


@pytest.mark.parametrize(
    "text",
    [
        "sk-ant-api03-hunter2-hunter2",
        "authorization: Bearer hunter2",
        "Authorization: Basic hunter2==",
        '{"client_secret":"hunter2"}',
        "{'password': 'hunter2'}",
        '"{\\"token\\": \\"hunter2\\"}"',
        "GITHUB_TOKEN=hunter2",
        "--api-key=hunter2",
        "aws_secret_access_key: hunter2",
        "http://user:hunter2@proxy.example.com",
        "Cookie: hunter2",
    ],
)
def test_a_secret_is_hidden_wherever_it_stands(text):
    """Alone, and in the middle of a line."""
    for line in (text, f"before {text} after"):
        shown = redact_text(line)
        assert "hunter2" not in shown
        assert "***" in shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "used 12 tokens",
        "input_tokens and output_tokens",
        "the secret is out",
        "https://example.com:8080/path?a=b",
        "C:\\Users\\me\\project",
    ],
)
def test_harmless_text_is_left_alone(text):
    """What is no secret stays readable."""
    assert redact_text(text) == text


def test_hiding_twice_changes_nothing():
    """What was hidden once stays as it is."""
    once = redact_text('{"apiKey": "abc"} TOKEN=abc')
    assert redact_text(once) == once


def test_json_stays_json():
    """A message with a secret in it can still be parsed, so recordings can be replayed."""
    message = {"env": {"API_KEY": 'a"b\\c', "LANG": "C"}, "text": "Bearer abc"}
    assert json.loads(redact_text(json.dumps(message))) == {
        "env": {"API_KEY": "***", "LANG": "C"},
        "text": "Bearer ***",
    }


@pytest.mark.parametrize(
    ("flag", "value", "shown"),
    [
        ("--model", "opus", "opus"),
        ("--api-key", "abc", "***"),
        ("--settings", '{"a": 1}', "***"),
        ("--settings", "file.json", "file.json"),
        ("--agents", "[1]", "***"),
        ("--append-system-prompt", "TOKEN=abc", "TOKEN=***"),
    ],
)
def test_the_flag_decides_what_its_value_shows(flag, value, shown):
    """Values of secret flags and JSON are hidden whole, others in part."""
    assert redact_value(flag, value) == shown
    assert redact_argv([f"{flag}={value}"]) == [f"{flag}={shown}"]
    assert redact_argv([flag, value]) == [flag, shown]
