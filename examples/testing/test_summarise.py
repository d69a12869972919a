"""The tests of summarise.py: the fixtures come from claude_sync, see conftest.py."""

import pytest
from summarise import may_read, summarise


def test_the_file_is_named_in_the_question(claude):  # an open client, whose CLI echoes
    assert summarise(claude, "a.txt") == "echo: Summarise a.txt in one line."


def test_a_summary_is_one_line(claude, scripted_cli):  # a CLI that says what we want
    @scripted_cli.play
    def script(cli):
        cli.accept()
        cli.answer("A shopping list:\n  milk, bread\n", prompt="Summarise a.txt in one line.")

    assert summarise(claude, "a.txt") == "A shopping list: milk, bread"


@pytest.mark.parametrize("tool, output", [("Read", "offline"), ("Write", "only Read is allowed")])
def test_only_reading_is_allowed(claude, tool, output):  # the echo can be told to use a tool
    claude.on_permission(may_read)
    answer = claude.ask(f'[[tool {tool} {{"file_path": "a.txt"}}]]')
    assert answer.tool_uses[0][1].text.startswith(output)


@pytest.mark.usefixtures("recording")  # made once by pytest --claude-record, played ever after
def test_what_the_cli_really_says(claude):
    assert summarise(claude, "poem.txt") == "A short poem about threads that wait."
