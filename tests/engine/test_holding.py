"""How much of a text can be shown, whatever follows."""

from __future__ import annotations

import pytest

from claude_sync.engine.recording.holding import safe_length, start_of_word


@pytest.mark.parametrize(
    ("safe", "held"),
    [
        ("", "word"),
        ("One ", "tw"),
        ("One more ", ""),
        ("say ", "password: "),
        ("say ", "password: hun"),
        ("say password: hunter-2 ", "an"),
        ("say ", 'MY_TOKEN = "a b'),
        ('say "token" : "a b" ', ""),
        ("a\n", '"env": {"A": "b", '),
        ("a ", '"headers" '),
        ("a ", "Authorization: a b "),
        ("a ", "-u "),
        ("a ", "Bearer "),
        ("a ", "-----BEGIN "),
        ("a ", "-----BEGIN EC PRIVATE KEY-----\na b "),
        ("-----BEGIN CERTIFICATE-----\na ", "b"),
        ("a ", "C:\\Users\\John "),
        ("a ", "two wor"),
        ("a ", "token: -u "),
    ],
)
def test_what_is_held(safe, held):
    """The last word, and whatever a secret may follow."""
    assert safe_length(safe + held, ["two words of mine"])[0] == len(safe)


def test_long_texts_end_at_more_than_blanks():
    """If there are none."""
    assert safe_length("a,b,cd", [])[0] == 0
    assert safe_length("a,b,cd", [], is_dense=True)[0] == 4
    assert safe_length('a,"token":"b,c', [], is_dense=True)[0] == 2


def test_a_chain_of_names_is_held_whole():
    """It is not followed for ever."""
    assert safe_length("a " + "token: " * 50, [])[0] == 0


def test_where_a_word_begins():
    """The one in which a place is, or that ends there."""
    assert start_of_word("one two", 7) == 4
    assert start_of_word("one two", 5) == 4
    assert start_of_word("one\ttwo", 3) == 0
