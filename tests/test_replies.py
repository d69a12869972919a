"""Replies of the CLI: what they have, and that nothing in them can fail."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

import claude_sync
from claude_sync import replies
from claude_sync.wire_fields import build

CLASSES = [
    getattr(replies, name) for name in replies.__all__ if name not in ("ControlReply", "McpStatus")
]
GARBAGE = [None, True, -1, 1e300, float("nan"), "", "text", [], [None], [[1]], [{}], {}, {"a": []}]


def keys_of(reply_class):
    """The keys that a reply is read from: those of the object, and those within another."""
    for field in dataclasses.fields(reply_class):
        if "wire" in field.metadata:
            _, key, within = field.metadata["wire"]
            yield key or field.name, within


@pytest.mark.parametrize("reply_class", [*CLASSES, replies.McpStatus], ids=lambda c: c.__name__)
@pytest.mark.parametrize("garbage", GARBAGE, ids=repr)
def test_garbage_makes_no_reply_fail(reply_class, garbage):
    """Each field, and each object around one, may be anything at all."""
    empty = build(reply_class, {})
    for key, within in keys_of(reply_class):
        for raw in ({within or key: garbage}, {within: {key: garbage}} if within else {}):
            reply = build(reply_class, raw)
            assert reply.raw is raw
            for field in dataclasses.fields(reply_class):
                found, nothing = getattr(reply, field.name), getattr(empty, field.name)
                # Of the type of "nothing", or the one that an Optional allows.
                if isinstance(nothing, (tuple, str, bool)):
                    assert type(found) is type(nothing), field.name
            repr(reply)


@pytest.mark.parametrize("reply_class", [*CLASSES, replies.McpStatus], ids=lambda c: c.__name__)
def test_a_reply_without_anything_is_nothing(reply_class):
    """What the CLI does not tell is None, empty or False."""
    reply = build(reply_class, {})
    for field in dataclasses.fields(reply_class):
        assert not getattr(reply, field.name)
    assert reply == reply_class()
    assert isinstance(reply, claude_sync.ControlReply)
    assert pickle.loads(pickle.dumps(reply)) == reply
    with pytest.raises(dataclasses.FrozenInstanceError):
        reply.raw = {}


def test_every_reply_is_public():
    """Whatever a method returns can be named from the package."""
    assert set(replies.__all__) <= set(claude_sync.__all__)


def test_servers_are_listed_once():
    """Some CLIs list a server twice, with each of its tools twice."""
    server = {
        "name": "small",
        "status": "connected",
        "serverInfo": {"name": "Small", "version": "1.0"},
        "tools": [{"name": "double"}, {"name": "double"}, {"name": "halve"}],
    }
    status = build(replies.McpStatus, {"mcpServers": [server, server, {"name": "other"}]})
    assert [each.name for each in status.servers] == ["small", "other"]
    small = status.get("small")
    assert small.tools == ("double", "halve")
    assert (small.server_name, small.server_version) == ("Small", "1.0")
    assert status.get("nowhere") is None


def test_the_reason_why_a_server_failed():
    """Errors of servers are texts by name."""
    raw = {"added": ["a"], "removed": [], "errors": {"a": "no such file", "b": {"message": "no"}}}
    change = build(replies.McpServersChange, raw)
    assert change.errors == {"a": "no such file", "b": "no"}
    assert (change.added, change.removed) == (("a",), ())


def test_usage_is_read_from_the_session():
    """Sums are inside an object of their own."""
    session = {"total_cost_usd": 0.25, "total_duration_ms": 1500, "model_usage": {"opus": {}}}
    report = build(replies.UsageReport, {"session": session, "rate_limits": None})
    assert (report.cost_usd, report.duration_ms) == (0.25, 1500)
    assert report.model_usage == {"opus": {}}
    assert report.rate_limits is None


def test_settings_tell_model_and_effort():
    """What became of the settings is inside an object of its own."""
    raw = {
        "effective": {"model": "haiku"},
        "sources": [{"source": "flagSettings", "settings": {"model": "haiku"}}],
        "applied": {"model": "claude-haiku", "effort": None},
    }
    report = build(replies.SettingsReport, raw)
    assert (report.model, report.effort) == ("claude-haiku", None)
    assert report.sources[0].settings == report.effective == {"model": "haiku"}


def test_a_side_answer_is_its_text():
    """str() of it is what was answered."""
    assert str(build(replies.SideAnswer, {"response": "seven"})) == "seven"
    assert str(build(replies.SideAnswer, {"response": None})) == ""


def test_context_and_rewind():
    """Names of the wire become names of Python."""
    category = {"id": "messages", "name": "Messages", "tokens": 12, "kind": "used"}
    usage = build(
        replies.ContextUsage, {"totalTokens": 12, "maxTokens": 100, "categories": [category]}
    )
    assert (usage.total_tokens, usage.max_tokens) == (12, 100)
    assert usage.categories[0].tokens == 12
    rewind = build(replies.RewindReport, {"canRewind": True, "filesChanged": ["a"], "deletions": 2})
    assert (rewind.can_rewind, rewind.files_changed, rewind.deletions) == (True, ("a",), 2)
