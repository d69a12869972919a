"""What stands behind %claude is read as it was meant, or refused with advice."""

from typing import List, Optional

import pytest
from tables import each

from claude_sync.errors import UsageError
from claude_sync.notebook.arguments import USAGE, Arguments, parse, type_named


class City:
    """A class of the notebook."""


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
    ("--attach a.png,b.pdf what?", None, Arguments("what?", attach=("a.png", "b.pdf"))),
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
    ("--frobnicate", "--attach, --model, --new, --returns, --tools"),
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


@each(
    ("text", "found"),
    [
        ("City", City),
        ("List[City]", List[City]),
        ("dict[str,City]", dict[str, City]),
        ("City|None", Optional[City]),
    ],
)
def test_types_are_written_as_in_python(text, found):
    """Names, what is in brackets, and what is one or the other."""
    names = {"City": City, "List": List, "dict": dict, "str": str}
    assert type_named(text, names.__getitem__) == found


@each("text", ["City(", "City()", "[City]", "5", "City.x", "f'{City}'", "City[0]"])
def test_a_type_is_not_evaluated(text):
    """Calls and the like are refused."""
    with pytest.raises(UsageError, match="is not a type"):
        type_named(text, {"City": City}.__getitem__)
