"""Texts: short, visible, and in the other case."""

from __future__ import annotations

from tables import each

from claude_sync.support.text import camel_case, short, short_json, snake_case, visible


class Broken:
    """An object whose repr raises."""

    def __repr__(self):
        raise RuntimeError("no")


def test_a_short_repr():
    """It has a limit, and a repr that fails is none of ours."""
    assert short({"a": 1}) == "{'a': 1}"
    assert short("x" * 78) == repr("x" * 78)
    assert short("x" * 79) == "'" + "x" * 76 + "..."
    assert short(Broken()) == "<Broken>"
    assert len(short(10**5000)) <= 80  # more digits than Python 3.11 prints


def test_short_json():
    """As JSON where that can be, else the repr."""
    assert short_json({"a": [None, True, "ä"]}) == '{"a": [null, true, "ä"]}'
    assert short_json({1, 2}) == "{1, 2}"
    assert short_json("x" * 78) == f'"{"x" * 78}"'
    assert len(short_json("x" * 79)) == 80
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert short_json(deep) == "<list>"


def test_control_characters_are_visible():
    """Everything that a terminal would obey, and what turns text around, is an escape."""
    evil = "\x1b[2J\x07\r\x00\x7f\x9b\u202e\u2028\ufeff\ud800\U000e0041"
    assert visible(evil).isprintable()
    assert visible("plain") == "plain"
    assert visible("\x1b[2J\u202e") == "\\x1b[2J\\u202e"
    assert visible("é\t\n漢\u00a0 ok") == "é\t\n漢\u00a0 ok"
    assert visible("a\tb\n", keep="\t") == "a\tb\\n"


@each(
    ("snake", "camel"),
    [("max_turns", "maxTurns"), ("reason", "reason"), ("read_2_files", "read2Files")],
)
def test_camel_case(snake, camel):
    """Names that are so already stay."""
    assert camel_case(snake) == camel == camel_case(camel)


def test_snake_case():
    """Names that are so already stay."""
    assert snake_case("hookSpecificOutput") == "hook_specific_output"
    assert snake_case("max_turns") == "max_turns"
