"""Replies of the CLI: what they have, and that nothing in them can fail."""

from __future__ import annotations

import pickle

import pytest
from tables import each

import claude_sync
from claude_sync.messages import replies

CLASSES = [getattr(claude_sync, name) for name in replies.__all__]
GARBAGE = [None, True, -1, 1e300, float("nan"), "", "text", [], [None], [[1]], [{}], {}, {"a": []}]


def fields_of(reply_class):
    """The fields of a reply by name: the key, and the object that it is within."""
    return {
        name: field for name, field in vars(reply_class).items() if isinstance(field, replies.Field)
    }


@each("reply_class", CLASSES)
@each("garbage", GARBAGE)
def test_garbage_makes_no_reply_fail(reply_class, garbage):
    """Each field, and each object around one, may be anything at all."""
    for name, field in fields_of(reply_class).items():
        nothing = getattr(reply_class(), name)
        inner = {field.within: {field.key: garbage}} if field.within else {}
        for raw in ({field.within or field.key: garbage}, inner, garbage):
            reply = reply_class(raw)
            # Of the type of "nothing", or the one that None allows.
            if nothing is not None:
                assert type(getattr(reply, name)) is type(nothing), name
            assert name in repr(reply)


@each("reply_class", CLASSES)
def test_a_reply_without_anything_is_nothing(reply_class):
    """What the CLI does not say is None, empty or False."""
    reply = reply_class({})
    assert not [name for name in fields_of(reply_class) if getattr(reply, name)]
    assert pickle.loads(pickle.dumps(reply)) == reply == reply_class()
    assert hash(reply) == hash(reply_class())
    assert reply != reply_class({"a": 1})
    for name in fields_of(reply_class):
        with pytest.raises(AttributeError):
            setattr(reply, name, 1)


def test_what_has_no_attribute_is_read_by_its_key():
    """A reply keeps the whole object."""
    reply = claude_sync.Acknowledgement({"new": 1})
    assert (reply["new"], reply.raw) == (1, {"new": 1})
    with pytest.raises(KeyError):
        reply["old"]


def test_servers_are_listed_once():
    """Some CLIs list a server twice, with each of its tools twice."""
    server = {
        "name": "small",
        "status": "connected",
        "serverInfo": {"name": "Small", "version": "1.0"},
        "tools": [{"name": "double"}, {"name": "double"}, {"name": "halve"}],
    }
    status = claude_sync.McpStatus({"mcpServers": [server, server, {"name": "other"}]})
    assert [each.name for each in status.servers] == ["small", "other"]
    small = status.get("small")
    assert small.tools == ("double", "halve")
    assert (small.server_name, small.server_version) == ("Small", "1.0")
    assert status.get("nowhere") is None


def test_the_reason_why_a_server_failed():
    """Errors of servers are texts by name."""
    raw = {"added": ["a"], "errors": {"a": "no such file", "b": {"message": "no"}, "c": None}}
    change = claude_sync.McpServersChange(raw)
    assert change.errors == {"a": "no such file", "b": "no", "c": ""}
    assert (change.added, change.removed) == (("a",), ())


def test_fields_within_another_object():
    """Sums are in "session", what became of settings is in "applied"."""
    session = {"total_cost_usd": 0.25, "total_duration_ms": 1500, "model_usage": {"opus": {}}}
    report = claude_sync.UsageReport({"session": session})
    assert (report.cost_usd, report.duration_ms) == (0.25, 1500)
    assert report.model_usage == {"opus": {}}
    raw = {
        "sources": [{"source": "flagSettings", "settings": {"model": "haiku"}}],
        "applied": {"model": "claude-haiku", "effort": None},
    }
    settings = claude_sync.SettingsReport(raw)
    assert (settings.model, settings.effort) == ("claude-haiku", None)
    assert settings.sources[0].settings == {"model": "haiku"}


def test_names_of_the_wire_become_names_of_python():
    """And a side answer is its text."""
    category = {"id": "messages", "name": "Messages", "tokens": 12, "kind": "used"}
    usage = claude_sync.ContextUsage({"totalTokens": 12, "categories": [category]})
    assert (usage.total_tokens, usage.max_tokens) == (12, None)
    assert usage.categories[0].tokens == 12
    rewind = claude_sync.RewindReport({"canRewind": True, "filesChanged": ["a"], "deletions": 2})
    assert (rewind.can_rewind, rewind.files_changed, rewind.deletions) == (True, ("a",), 2)
    assert str(claude_sync.SideAnswer({"response": "seven"})) == "seven"
