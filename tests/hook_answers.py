"""Answers of hooks, for the tests of them."""

from __future__ import annotations

import pytest

from claude_sync.errors import UsageError
from claude_sync.hooks import hook_output


def specific(event, **fields):
    """An answer in the form that depends on the event."""
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def refusal(event, returned):
    """What is said about an answer that cannot be."""
    with pytest.raises(UsageError) as caught:
        hook_output(event, returned)
    return str(caught.value)
