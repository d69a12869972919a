"""What a person gets to see before a tool runs."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from preview_inputs import INPUTS, check_bounds, with_ten_lines
from tables import each

from claude_sync.permissions.previews import MAX_LINES, preview


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
    """Not a line more, and the cut is not made for nothing."""
    whole = "\n".join("x" * 10 for _ in range(MAX_LINES))
    assert preview("Bash", {"command": whole}, None).count("\n") == MAX_LINES - 1
    assert "more line" not in preview("Bash", {"command": whole}, None)
    assert preview("Bash", {"command": whole + "\nx"}, None).endswith("... 2 more lines")
    wide = "\n".join("x" * 1500 for _ in range(20))
    text = preview("Bash", {"command": wide}, None)
    check_bounds(text)
    assert text.endswith("... 7 more lines")


def test_a_long_line_is_cut():
    """A minified file is one."""
    text = preview("Bash", {"command": "echo " + "x" * 1_000_000}, None)
    assert text.endswith("... 998,007 more characters")


# Commands and texts.


def test_a_command_is_shown_as_one():
    """With what is said about it above it."""
    assert preview("Bash", {"command": "ls -l"}, None) == "$ ls -l"
    call = {
        "command": "for x in 1 2; do\n  echo $x\ndone",
        "description": "Count\nto two",
        "timeout": 1500,
        "run_in_background": True,
        "dangerouslyDisableSandbox": True,
        "shell": "zsh",
    }
    assert preview("Bash", call, None).split("\n") == [
        "# Count",
        "# to two",
        "# stopped after 1.5 s",
        "# in the background",
        "# outside the sandbox",
        "# shell: zsh",
        "$ for x in 1 2; do",
        "    echo $x",
        "  done",
    ]


def test_no_preview_can_drive_a_terminal():
    """Controls, and what turns the direction of text, are shown as escapes."""
    command = "echo \x1b[2J\x07\r\x00\x7f\x9b\u202e\u2028\ufeff\ud800\U000e0041\ttab"
    text = preview("Bash", {"command": command}, None)
    assert text == (
        "$ echo \\x1b[2J\\x07\\r\\x00\\x7f\\x9b\\u202e\\u2028\\ufeff\\ud800\\U000e0041\ttab"
    )
    assert (
        preview("Bash", {"command": "echo äö 日本\u3000語 🎉"}, None) == "$ echo äö 日本\u3000語 🎉"
    )


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
    assert preview("AskUserQuestion", call, None).split("\n") == [
        "1. [DB] Which?",
        "   Really? (several answers are possible)",
        "   - A: first",
        "   - B",
        "2. Why?",
    ]


def test_other_tools_have_readable_texts():
    """Each in a form of its own."""
    assert preview("ExitPlanMode", {"plan": "# Do\n1. x"}, None) == "Plan:\n\n# Do\n1. x"
    assert preview("WebFetch", {"url": "https://x.y", "prompt": "sum up"}, None) == (
        "Fetch https://x.y\n  prompt: sum up"
    )
    search = {"query": "cats", "allowed_domains": ["a.b", "c.d"], "blocked_domains": ["e.f"]}
    assert preview("WebSearch", search, None) == (
        "Search the web for: cats\n  only on a.b, c.d\n  not on e.f"
    )
    task = {"subagent_type": "Explore", "description": "look", "prompt": "find\nit", "model": "m"}
    for tool in ("Task", "Agent"):
        assert preview(tool, task, None) == "Agent (Explore): look\n  model: m\n\nfind\nit"


def test_tools_of_servers_are_shown_as_calls():
    """On a line where there is room, else field by field."""
    assert preview("mcp__git__log", {"count": 3, "all": True}, None) == (
        "git: log(count=3, all=true)"
    )
    assert preview("mcp__git__log", {}, None) == "git: log()"
    long = preview("mcp__my__tool__x", {"body": "one\ntwo" + "x" * 200, "n": 1}, None)
    assert long.split("\n")[:3] == ["my: tool__x", "  body:", "    one"]


def test_the_rest_is_shown_field_by_field():
    """Also where a tool lacks what it is about."""
    assert preview("Grep", {"pattern": "x\ny", "-n": True, "glob": None}, None).split("\n") == [
        "Grep",
        "  pattern:",
        "    x",
        "    y",
        "  -n: true",
        "  glob: null",
    ]
    assert preview("Bash", {"command": ["ls"]}, None) == 'Bash\n  command: ["ls"]'
    assert preview("Edit", {"old_string": "x"}, None) == "Edit\n  old_string: x"
    nested = preview("X", {"a": {"b": ["c" * 60, "d" * 60]}}, None)
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
    check_bounds(preview(tool, junk, None))


def test_values_without_a_json_form_are_shown():
    """Very deep ones, and very long numbers."""
    deep = []
    for _ in range(100_000):
        deep = [deep]
    text = preview("X", {"deep": deep, "long": 10**5000, "object": object()}, None)
    assert text.count("(cannot be shown)") in (2, 3)
    # Taken apart by hand: Python's own way would need as much stack.
    while deep:
        deep = deep.pop()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.sampled_from(TOOLS), INPUTS)
def test_any_call_has_a_preview(folder, tool, call):
    """It is short, harmless, and does not raise."""
    check_bounds(preview(tool, call, str(folder)))


def test_what_is_not_taken_apart_is_counted():
    """A text of newlines only is left out line by line."""
    text = preview("Bash", {"command": "ls" + "\n" * 10_000_000}, None)
    assert text.startswith("$ ls\n")
    assert text.endswith("... 9,999,602 more lines")


def test_empty_lines_of_a_description_hide_nothing():
    """What follows them is still marked as a description."""
    call = {"command": "rm x", "description": "\n" * 1000 + "fine\n$ ls"}
    assert preview("Bash", call, None) == "# fine\n# $ ls\n$ rm x"
