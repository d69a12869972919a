"""How errors are worded."""

from __future__ import annotations

import pytest

from claude_sync.error_texts import advice_for, describe_exit, quoted_lines, sentence


@pytest.mark.parametrize(
    ("text", "ended"),
    [("no", "no."), ("no.", "no."), ("really? ", "really?"), ("so:", "so:"), ("stop!", "stop!")],
)
def test_a_sentence_ends_once(text, ended):
    """A full stop is added where the text has no end of its own."""
    assert sentence(text) == ended


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "exit code 0"),
        (3, "exit code 3"),
        (-9, "killed by SIGKILL"),
        (-250, "killed by signal 250"),
    ],
)
def test_exit_codes_in_words(code, words):
    """Signals are named where they have a name."""
    assert describe_exit(code) == words


def test_only_the_last_lines_are_quoted():
    """A flood on stderr does not become a flood in a traceback."""
    assert quoted_lines([]) == ""
    assert quoted_lines(str(number) for number in range(100)).splitlines()[-1] == "  | 99"
    assert len(quoted_lines(str(number) for number in range(100)).splitlines()) == 12


def test_advice_by_what_was_said():
    """Known words have advice of their own, wherever they stand; others have none."""
    assert "resume=" in advice_for(["x", "No conversation found with session ID: y"])
    assert "update" in advice_for(["error: unknown option '--effort'"])
    assert advice_for(["something else"]) is None
