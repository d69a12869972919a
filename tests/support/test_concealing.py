"""What a recording shows of a message, and what it does not."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import each

from claude_sync.support import conceal as concealing
from claude_sync.support.conceal import Concealer, TooDeep

ROWS = Path(__file__).with_name("redaction_cases.json")
CASES = json.loads(ROWS.read_text(encoding="utf-8"))


@pytest.fixture
def concealer():
    """One of a CLI at home in /srv/people/carol."""
    return Concealer({"HOME": "/srv/people/carol"})


# Names of fields.


@each("message", CASES["messages with a secret"])
def test_a_field_is_hidden_by_its_name(concealer, message):
    """Secrets, and what is known about the account, however deep they are."""
    shown = concealer.message(message)
    assert "hunter2" not in json.dumps(shown)
    assert shown != message


@each("message", CASES["messages without"])
def test_a_useful_field_stays(concealer, message):
    """Token counts, ids, names of files and of models; numbers stay numbers."""
    assert concealer.message(message) == message


def test_a_schema_stays_a_schema(concealer):
    """The properties of a JSON Schema are names, not values."""
    schema = {
        "type": "object",
        "properties": {"token": {"type": "string"}, "account": {"type": "string"}},
        "required": ["token"],
    }
    assert concealer.message(schema) == schema


def test_a_picture_stays(concealer):
    """What is in a picture is not looked at; in any other text it is."""
    picture = {"type": "base64", "media_type": "image/png", "data": "token=abc"}
    assert concealer.message(picture) == picture
    assert concealer.message({"data": "token=abc"}) == {"data": "token=<secret-1>"}


def test_deep_messages_are_refused(concealer):
    """Whoever records them does it otherwise, and the stack is never exhausted."""
    for key in ("a", "token"):
        deep = "x"
        for _ in range(5000):
            deep = {key: [deep]}
        with pytest.raises(TooDeep):
            concealer.message(deep)


# Numbers.


def test_the_same_secret_is_the_same_text(concealer):
    """Whoever reads a recording can tell which ones are the same."""
    shown = concealer.message([{"token": "abc"}, "TOKEN=abc", {"token": "def"}, "a=b"])
    assert shown == [
        {"token": "<secret-1>"},
        "TOKEN=<secret-1>",
        {"token": "<secret-2>"},
        "a=b",
    ]
    assert concealer.text("write to me@example.com") == "write to <email-1>"


def test_the_numbers_do_not_grow_for_ever(monkeypatch, concealer):
    """Of very many secrets the oldest are forgotten; a number is never used twice."""
    monkeypatch.setattr(concealing, "MOST_SECRETS", 3)
    shown = [concealer.secret(str(number)) for number in range(5)]
    assert len(set(shown)) == 5
    assert len(concealer._numbers) == 3
    assert concealer.secret("4") == shown[4]


# Known secrets.


def test_secrets_of_the_environment_are_known():
    """They are hidden wherever they turn up, whatever they look like."""
    concealer = Concealer({"MY_TOKEN": "correct-horse-1", "DB_PASS": "staple battery 2"})
    text = "it printed correct-horse-1 and staple battery 2."
    assert concealer.text(text) == "it printed <secret-2> and <secret-1>."


def test_secrets_of_servers_are_known():
    """Those of MCP servers, agents and settings; of a header also what follows its kind."""
    servers = {
        "a": {"command": "x", "env": {"A_KEY": "leak-one-1", "NODE_ENV": "production-1"}},
        "b": {"url": "http://x", "headers": {"Authorization": "Bearer leak-two-2"}},
    }
    concealer = Concealer({}, [servers, None, [{"apiKey": "leak-three-3"}]])
    shown = concealer.text("leak-one-1 leak-two-2 leak-three-3 production-1")
    assert "leak" not in shown
    assert shown.endswith(" production-1")


def test_another_process_may_have_other_secrets(concealer):
    """A restart adds to what is known; what was known stays known."""
    concealer.learn({"HOME": "/srv/people/dave", "A_TOKEN": "swordfish-1"})
    text = "/srv/people/carol /srv/people/dave swordfish-1"
    assert concealer.text(text) == "~ ~ <secret-1>"


def test_names_of_fields_are_looked_at_again(concealer):
    """What was harmless may be the home of another process."""
    assert concealer.message({"/srv/people/dave": 1}) == {"/srv/people/dave": 1}
    concealer.learn({"HOME": "/srv/people/dave"})
    assert concealer.message({"/srv/people/dave": 1}) == {"~": 1}


# Homes.


@each(("text", "shown"), CASES["homes"])
def test_whose_home_it_is_is_hidden(concealer, text, shown):
    """In texts, in paths, and in the names that the CLI makes of paths."""
    assert concealer.text(text) == shown
    assert concealer.message({"cwd": [text]}) == {"cwd": [shown]}


@each("text", CASES["other paths"])
def test_other_paths_stay(concealer, text):
    """What is nobody's home is left alone."""
    assert concealer.text(text) == text


def test_paths_as_names_of_fields(concealer):
    """Two of them that differ in the home only do not become one."""
    shown = concealer.message({"/home/alice/x": 1, "/home/bob/x": 2, "y": 3})
    assert shown == {"~/x": 1, "~/x'": 2, "y": 3}


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
def test_a_home_that_is_a_link(tmp_path):
    """The CLI says where it leads to."""
    (tmp_path / "people-carol").mkdir()
    (tmp_path / "link-carol").symlink_to(tmp_path / "people-carol")
    concealer = Concealer({"HOME": f"{tmp_path}/link-carol"})
    assert concealer.text(f"{tmp_path}/people-carol/x {tmp_path}/link-carol/x") == "~/x ~/x"


def test_a_home_on_windows():
    """However its separators are written."""
    concealer = Concealer({"USERPROFILE": "D:\\people\\dave"})
    for text in ("D:\\people\\dave\\x", "D:\\\\people\\\\dave\\\\x", "D:/people/dave/x"):
        assert concealer.text(text).startswith("~")


def test_a_run_of_backslashes_is_tried_once(concealer):
    """As a home may begin with many of them; not timed, it took minutes otherwise."""
    text = "home " + "\\" * 300_000
    assert concealer.text(text) == text


# Addresses.


@each(("text", "shown"), CASES["addresses"])
def test_addresses_are_hidden(text, shown):
    """Anywhere in a text, also after the two characters that are a line end in JSON."""
    assert Concealer().text(text) == shown


@each("text", CASES["no addresses"])
def test_what_is_no_address_stays(concealer, text):
    """Repositories, pictures, decorators and versions."""
    assert concealer.text(text) == text


# Any value.

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "token", "env", "account"]), inner, max_size=3),
    ),
    max_leaves=10,
)


def shape(value):
    """The kinds of all values in *value*."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return type(value)


@given(VALUES)
def test_any_value_keeps_its_shape(value):
    """A string stays a string, a list a list of as many."""
    assert shape(Concealer().message(value)) == shape(value)
