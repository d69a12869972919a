"""What follows from one message."""

from __future__ import annotations

import json

import pytest

from claude_sync.bridge.steps import Step, as_line


def test_a_message_for_the_client_is_one_line():
    """As the CLI would have printed it."""
    step = Step()
    step.say({"type": "x", "text": "a\nb \u2028"})
    (line,) = step.to_client
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"type": "x", "text": "a\nb \u2028"}


@pytest.mark.parametrize("value", [10**30, 1e-7, [[]] * 3])
def test_numbers_are_kept(value):
    """Also those beyond all bounds."""
    assert json.loads(as_line({"value": value})) == {"value": value}
