"""What stands behind %claude is read as it was meant, or refused with advice."""

import pytest

from claude_sync.errors import UsageError
from claude_sync.notebook.arguments import USAGE, Arguments, parse

LINES = [
    ("what is this?", None, Arguments("what is this?")),
    ("  what   is\tthis? ", None, Arguments("what   is\tthis?")),
    ("", "line one\n  line two\n", Arguments("line one\n  line two")),
    ("first", "second\n", Arguments("first\nsecond")),
    ("--new", None, Arguments(new=True)),
    ("--new hello", None, Arguments("hello", new=True)),
    ("--model sonnet hello", None, Arguments("hello", model="sonnet")),
    ("--model=sonnet hello", None, Arguments("hello", model="sonnet")),
    ("--tools a,b,a --new x", None, Arguments("x", new=True, tools=("a", "b"))),
    ("--returns City", "which?", Arguments("which?", returns="City")),
    ("-- --new is a word", None, Arguments("--new is a word")),
    ("what does --new do?", None, Arguments("what does --new do?")),
    ("", "   \n\n", Arguments("")),
    ("", "    indented\n", Arguments("    indented")),
]


def test_settings_come_first_and_the_question_stays_as_it_is():
    """Up to the first word that is no setting."""
    assert [(line, cell, parse(line, cell)) for line, cell, _ in LINES] == LINES


WRONG = [
    ("--modle sonnet hello", "did you mean --model"),
    ("--frobnicate", "--model, --new, --returns, --tools"),
    ("--model", "Write --model sonnet"),
    ("--model --new hello", "Write --model sonnet"),
    ("--model= hello", "Write --model sonnet"),
    ("--new=yes hello", "--new takes no value"),
    ("--tools a,b() hello", "Write --tools population,area"),
    ("--tools a, b hello", "Write --tools population,area"),
    ("--returns", "Write --returns City"),
]


def test_what_is_wrong_is_said_with_advice():
    """Nothing is guessed."""
    for line, advice in WRONG:
        with pytest.raises(UsageError, match=r"[.?]$") as caught:
            parse(line)
        assert advice in str(caught.value), line


def test_only_settings_that_do_something_count_without_a_question():
    """--returns is about a question."""
    assert parse("--new").has_settings
    assert parse("--model x").has_settings
    assert parse("--tools f").has_settings
    assert not parse("--returns City").has_settings
    assert not parse("").has_settings


def test_the_help_has_everything():
    """What can be written is listed."""
    settings = ("--model", "--new", "--tools", "--returns", "{name}", "{{")
    assert [setting for setting in settings if setting not in USAGE] == []
