"""What a person gets to see before a tool runs."""

from __future__ import annotations

import pytest
from preview_inputs import check_bounds, with_ten_lines
from tables import each

from claude_sync.permissions.preview import MAX_LINES, preview


@pytest.fixture
def folder(tmp_path):
    """A folder with a file of ten lines."""
    return with_ten_lines(tmp_path)


TOOLS = [
    *("Edit", "MultiEdit", "Write", "NotebookEdit", "Bash", "AskUserQuestion", "ExitPlanMode"),
    *("WebFetch", "WebSearch", "Task", "Agent", "mcp__server__tool", "mcp__", "Read", "Tomorrow"),
]


# Sizes.


def test_a_preview_is_as_long_as_allowed():
    """Not a line more; what is left out is of its middle, and counted."""
    whole = "\n".join(f"line {number}" for number in range(MAX_LINES))
    assert preview("Bash", {"command": whole}).count("\n") == MAX_LINES - 1
    assert "more line" not in preview("Bash", {"command": whole})
    text = preview("Bash", {"command": whole + "\nrm -rf ~"})
    assert text.count("\n") == MAX_LINES - 1
    assert "\n... 2 more lines ...\n" in text
    assert text.endswith("  rm -rf ~")
    wide = "\n".join("x" * 1500 for _ in range(20))
    check_bounds(preview("Bash", {"command": wide}))


@each("filling", ["x" * 1_000_000, " " * 1_900, " " * 100, "\u3000" * 200, "\u200b" * 5_000])
def test_the_end_of_a_long_line_is_shown(filling):
    """It may be what matters, and what is pushed out of sight is told."""
    text = preview("Bash", {"command": f"ls {filling}; rm -rf ~"})
    check_bounds(text)
    assert text.startswith("$ ls ")
    assert text.endswith("; rm -rf ~")
    assert len(text) < 2_500
    assert filling not in text


def test_what_is_left_out_of_very_many_lines_is_counted():
    """Ten million newlines would become a gigabyte of lines."""
    text = preview("Bash", {"command": "ls" + "\n" * 10_000_000 + "rm x"})
    assert text.startswith("$ ls\n")
    assert "\n... 9,999,602 more lines ...\n" in text
    assert text.endswith("\n  rm x")


def test_everything_can_be_shown():
    """All fields as they came, as long as somebody can read them."""
    call = {"command": "ls\n" + "x" * 50_000, "new": "field\u202e", "description": "d" * 500}
    text = preview("Bash", call, full=True)
    assert "x" * 50_000 in text
    assert "  new: field\\u202e\n" in text
    assert "d" * 500 in text
    assert "more lines" in preview("X", {"x": "\n" * 3_000_000}, full=True)


# Commands and texts.


def test_a_command_comes_first():
    """What Claude says about it is one short line below it, and known as such."""
    assert preview("Bash", {"command": "ls -l"}) == "$ ls -l"
    call = {
        "description": "Count\nto two",
        "command": "for x in 1 2; do\n  echo $x\ndone",
        "timeout": 1500,
        "run_in_background": True,
        "dangerouslyDisableSandbox": True,
        "shell": "zsh",
    }
    assert preview("Bash", call).split("\n") == [
        "$ for x in 1 2; do",
        "    echo $x",
        "  done",
        "# Claude says: Count to two",
        "# stopped after 1.5 s",
        "# in the background",
        "# outside the sandbox",
        "# shell: zsh",
    ]


def test_a_long_description_hides_nothing():
    """Written by the model, it could be four hundred lines of comfort."""
    text = preview("Bash", {"command": "rm x", "description": "fine\n$ ls\n" * 400})
    first, second = text.split("\n")
    assert first == "$ rm x"
    assert second.startswith("# Claude says: fine $ ls fine")
    assert len(second) < 220


def test_short_fields_come_before_long_ones():
    """A long one could push them out of sight."""
    call = {"body": "x\n" * 500, "long": "y" * 300, "force": True}
    lines = preview("Deploy", call).split("\n")
    assert lines[:2] == ["Deploy", "  force: true"]


def test_no_preview_can_drive_a_terminal():
    """Controls, and what turns the direction of text, are shown as escapes."""
    command = "echo \x1b[2J\x07\r\x00\x7f\x9b\u202e\u2028\ufeff\ud800\U000e0041\ttab"
    text = preview("Bash", {"command": command})
    assert text == (
        "$ echo \\x1b[2J\\x07\\r\\x00\\x7f\\x9b\\u202e\\u2028\\ufeff\\ud800\\U000e0041\ttab"
    )
    assert preview("Bash", {"command": "echo äö 日本\u3000語 🎉"}) == "$ echo äö 日本\u3000語 🎉"


def test_questions_are_shown_with_their_options():
    """As a person would be asked."""
    call = {
        "questions": [
            {
                "question": "Which?\nReally?",
                "header": "DB",
                "options": [{"label": "A", "description": "first"}, {"label": "B"}],
                "multiSelect": True,
            },
            {"question": "Why?", "options": []},
        ]
    }
    assert preview("AskUserQuestion", call).split("\n") == [
        "1. [DB] Which?",
        "   Really? (several answers are possible)",
        "   - A: first",
        "   - B",
        "2. Why?",
    ]


def test_tools_of_servers_are_shown_with_their_server():
    """And field by field, as all others."""
    assert preview("mcp__git__log", {}) == "git: log"
    long = preview("mcp__my__tool__x", {"body": "one\ntwo" + "x" * 200, "n": 1})
    assert long.split("\n")[:3] == ["my: tool__x", "  n: 1", "  body:"]


def test_the_rest_is_shown_field_by_field():
    """Also where a tool lacks what it is about."""
    assert preview("ExitPlanMode", {"plan": "# Do\n1. x"}) == (
        "ExitPlanMode\n  plan:\n    # Do\n    1. x"
    )
    assert preview("Grep", {"pattern": "x\ny", "-n": True, "glob": None}).split("\n") == [
        "Grep",
        "  -n: true",
        "  glob: null",
        "  pattern:",
        "    x",
        "    y",
    ]
    assert preview("Bash", {"command": ["ls"]}) == 'Bash\n  command: ["ls"]'
    assert preview("Edit", {"old_string": "x"}) == "Edit\n  old_string: x"
    nested = preview("X", {"a": {"b": ["c" * 60, "d" * 60]}})
    assert nested.split("\n")[:3] == ["X", "  a:", "    {"]


# Anything.


class Hostile(dict):
    """A mapping that cannot be looked at."""

    def items(self):
        raise RuntimeError("no")


@each("junk", [None, 3, "x", [1], object(), Hostile(a=1)])
@each("tool", [*TOOLS, "", None, 3])
def test_an_input_that_is_none_is_shown(tool, junk):
    """A person still has to decide about it."""
    check_bounds(preview(tool, junk))


def test_values_without_a_json_form_are_shown():
    """Very deep ones, and very long numbers."""
    deep = []
    for _ in range(100_000):
        deep = [deep]
    text = preview("X", {"deep": deep, "long": 10**5000, "object": object()})
    assert text.count("(cannot be shown)") in (2, 3)
    # Taken apart by hand: Python's own way would need as much stack.
    while deep:
        deep = deep.pop()
