"""Conversations that a CLI was to go on with, and does not know."""

from types import SimpleNamespace

import pytest

from claude_sync.runtime.conversations import conversation_is_missing

MISSING = "No conversation found with session ID: 1"


@pytest.mark.parametrize(
    ("ready", "refusal", "said", "expected"),
    [
        (False, MISSING, [], True),
        (False, None, ["warning", MISSING], True),
        (False, None, ["error: unknown option"], False),
        (False, None, [], False),
        (True, None, [MISSING], False),  # a tool may print anything
    ],
)
def test_what_says_that_it_is_missing(ready, refusal, said, expected):
    """The last words of a CLI that never got ready."""
    connection = SimpleNamespace(ready=ready, refusal=refusal, stderr_tail=said)
    assert conversation_is_missing(connection) is expected
