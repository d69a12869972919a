"""A request of ours that waits for the CLI's reply."""

import pytest
from patience import PATIENCE

from claude_sync import CliExited, ControlTimeout
from claude_sync.protocol.control import Reply
from claude_sync.runtime.pending import PendingReply


def test_the_reply_is_handed_over():
    """To whoever waits, and to whoever wanted to be called."""
    told = []
    pending = PendingReply("mend", told.append)
    reply = Reply({"request_id": "1", "response": {"a": 1}})
    pending.settle(reply)
    assert pending.wait(PATIENCE) is reply
    assert told == [reply]


def test_a_reply_that_never_comes():
    """The end of the CLI is raised; nobody is called."""
    told = []
    pending = PendingReply("mend", told.append)
    pending.settle(CliExited("gone"))
    with pytest.raises(CliExited, match="gone"):
        pending.wait(PATIENCE)
    assert told == []


def test_a_wait_has_an_end():
    """ControlTimeout, and the request is forgotten."""
    pending, forgotten = PendingReply("mend"), []
    pending.forget = lambda: forgotten.append(True)
    with pytest.raises(ControlTimeout, match="mend"):
        pending.wait(0.01)
    assert forgotten == [True]


def test_a_refusal_has_no_secrets_in_it():
    """Its text becomes that of an exception."""
    pending = PendingReply("mend")
    pending.settle(Reply({"subtype": "error", "request_id": "1", "error": "bad sk-ant-abcdef"}))
    assert "abcdef" not in str(pending.wait(PATIENCE).error)
