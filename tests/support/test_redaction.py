"""Secrets in texts that people see; whole commands are in test_command.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each

from claude_sync.support import redact as redaction
from claude_sync.support.redact import (
    hide_secrets,
    is_secret_name,
    known_secrets,
    redact_argv,
    redact_lines,
    redact_text,
    redact_value,
    remember_secrets,
)

ROWS = Path(__file__).with_name("redaction_cases.json")
CASES = json.loads(ROWS.read_text(encoding="utf-8"))

# None of these was ever valid; in parts, so that no scanner takes them for real ones.
LETTERS = "Ab3" * 14
KEYS = [
    "sk-ant-api03-" + LETTERS,
    "ghp_" + LETTERS,
    "eyJhbGciOiJIUzI1NiJ9." + LETTERS + "." + LETTERS,
    "-----BEGIN RSA PRIVATE KEY-----\nMII" + LETTERS + "\n-----END RSA PRIVATE KEY-----",
]


@each("text", CASES["texts with a secret"])
def test_a_secret_is_hidden_wherever_it_stands(text):
    """Alone, and in the middle of a line."""
    for line in (text, f"before {text}\nafter"):
        shown = redact_text(line)
        assert "hunter2" not in shown
        assert "***" in shown


@each("text", CASES["texts without"])
def test_harmless_text_is_left_alone(text):
    """What is no secret stays readable."""
    assert redact_text(text) == text


def test_the_end_of_a_private_key_may_be_missing():
    """A text that was cut shows nothing of it."""
    shown = redact_text('"-----BEGIN PRIVATE KEY-----\\nMII' + LETTERS + '", "a"')
    assert shown == '"***", "a"'


@pytest.mark.parametrize(
    "before",
    [
        *("\x1b[31m", "\x1b[01;31m\x1b[K", "\x1b[m", "\\u001b[31m", "a%3D", "Bearer%20"),
        *("a\\u003d", "a\\x3d"),
    ],
)
def test_a_key_after_an_escape(before):
    """As grep colours it, in an address, and in the text of JSON."""
    for key in KEYS[:3]:
        assert redact_text(f"{before}{key}\x1b[m") == f"{before}***\x1b[m"


def test_hiding_twice_changes_nothing():
    """What was hidden once stays as it is."""
    for text in ('{"apiKey": "abc"} TOKEN=abc', "(password=abc)", "Cookie: abc", *KEYS):
        once = redact_text(text)
        assert redact_text(once) == once


@pytest.mark.parametrize("text", ["(password=<secret-1>)", "TOKEN=***.", "'token': '<secret-12>'"])
def test_what_stands_for_a_secret_stays(text):
    """A recording that is recorded, or logged, does not change."""
    assert hide_secrets(text, lambda secret: "hidden again") == text


def test_json_stays_json():
    """A message with a secret in it can still be parsed."""
    message = {
        "env": {"API_KEY": 'a"b\\c', "LANG": "C"},
        "text": "Bearer abc",
        "url": "http://a:80",
        "next": "b@c",
        "nested": json.dumps({"password": 'a"b', "x": "http://me:abc@host"}),
    }
    assert json.loads(redact_text(json.dumps(message))) == {
        "env": {"API_KEY": "***", "LANG": "***"},
        "text": "Bearer ***",
        "url": "http://a:80",
        "next": "b@c",
        "nested": '{"password": "***", "x": "http://me:***@host"}',
    }


@given(st.dictionaries(st.sampled_from(["a", "token", "env", "password"]), st.text()))
def test_json_of_anything_stays_json(message):
    """Whatever the values are, quotes and backslashes included."""
    shown = json.loads(redact_text(json.dumps(message)))
    assert set(shown) == set(message)


def test_whoever_hides_sees_each_secret():
    """A recording numbers them: it gets the secrets, and nothing else."""
    seen = []

    def hide(secret):
        seen.append(secret)
        return f"<secret-{len(secret)}>"

    text = "TOKEN=abc and 'password': 'd e f', http://me:ghij@host"
    assert hide_secrets(text, hide) == (
        "TOKEN=<secret-3> and 'password': '<secret-5>', http://me:<secret-4>@host"
    )
    assert sorted(seen) == ["abc", "d e f", "ghij"]


@each(("name", "secret"), CASES["names"])
def test_names_of_secrets(name, secret):
    """How a name ends decides."""
    assert is_secret_name(name) is secret


@each(("flag", "value", "shown"), CASES["flags"])
def test_the_flag_decides_what_its_value_shows(flag, value, shown):
    """Values of secret flags and JSON are hidden whole, others in part."""
    assert redact_value(flag, value) == shown
    assert redact_argv([f"{flag}={value}"]) == [f"{flag}={shown}"]
    assert redact_argv([flag, value]) == [flag, shown]


def test_backslashes_do_not_take_for_ever():
    """A quoted secret of backslashes without an end is hidden, not tried in every way."""
    assert redact_text('token": "' + "\\" * 300_001) == 'token": "***'


def test_a_run_is_not_tried_from_each_of_its_characters():
    """Whether it is short or long, a line takes as many steps as it has characters."""
    # Not timed: each of these took minutes when its run was tried again from each character.
    assert redact_text("-u " + "=" * 300_000).startswith("-u ==")
    assert redact_text("token " + "-" * 300_000).startswith("token --")


def test_lines_are_redacted_together():
    """A key goes over many of them; what is before and behind it stays."""
    remember_secrets({"A_KEY": "several\nlines-1"})
    said = [
        "boom",
        *KEYS[-1].split("\n"),
        "TOKEN=abc",
        "say several",
        "lines-1",
        "password:",
        "end",
    ]
    assert redact_lines(said) == ["boom", "***", "TOKEN=***", "say ***", "password:", "end"]


# Known secrets.


@pytest.fixture(autouse=True)
def forgetful(monkeypatch):
    """What is remembered in a test is forgotten after it."""
    monkeypatch.setattr(redaction, "VARIABLES", set())
    monkeypatch.setattr(redaction, "KNOWN", set())


def test_secrets_of_the_environment_are_remembered():
    """They are hidden wherever they turn up, whatever they look like."""
    remember_secrets({"MY_TOKEN": "swordfish-1", "LANG": "en_US.UTF-8"})
    remember_secrets({"MY_TOKEN": "swordfish-123", "PATH": "/usr/bin"})
    assert redact_text("swordfish-123, swordfish-1") == "***, ***"
    assert redact_text("en_US.UTF-8 /usr/bin") == "en_US.UTF-8 /usr/bin"
    assert redact_argv(["claude", "--x=swordfish-1"]) == ["claude", "--x=***"]


def test_a_known_secret_in_another_one():
    """The other is hidden whole."""
    remember_secrets({"MY_SECRET": "Ab3Ab3Ab3"})
    assert redact_text(f"use {KEYS[0]}x") == "use ***"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("hunter2;more,stuff99", "MY_SECRET=hunter2;more,stuff99"),
        ("hunter2;more,stuff99", "'hunter2;more,stuff99xyz'"),
        ('q"zz\\w0rdzz8', json.dumps({"a": 'q"zz\\w0rdzz8'})),
        ('q"zz\\w0rdzz8', json.dumps({"a": json.dumps(['q"zz\\w0rdzz8'])})),
        ("abcd/Efgh+ijk=", '{"a":"abcd\\/Efgh+ijk="}'),
        ("abcd/Efgh+ijk=", "https://x?k=abcd%2FEfgh%2Bijk%3D"),
        ("abcd/Efgh+ijk=", "https://x?k=abcd%2fEfgh%2bijk%3d"),
        ("two words-1", "https://x?k=two+words-1"),
    ],
)
def test_a_known_secret_however_it_is_written(value, text):
    """In JSON, in JSON inside JSON, in an address; and where a pattern finds a part of it."""
    remember_secrets({"MY_SECRET": value})
    shown = redact_text(text)
    assert "***" in shown
    for part in ("stuff99", "w0rdzz8", "Efgh", "words"):
        assert part not in shown


@pytest.mark.parametrize(
    "environment",
    [
        {"LANG": "en_US.UTF-8"},
        {"MY_TOKEN": "sh0rt-1"},
        {"PGPASSWORD": "postgres"},
        {"KEY": "/etc/keys/1"},
        {"KEY": "C:\\keys\\1"},
    ],
)
def test_ordinary_values_are_no_known_secrets(environment):
    """A word that may stand anywhere, and where a key is, are left alone."""
    assert known_secrets(environment) == set()
