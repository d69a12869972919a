"""Replies of the CLI: what they have, and that nothing in them can fail."""

from __future__ import annotations

import pickle

import pytest
from tables import each

import claude_sync
from claude_sync.messages import replies
from claude_sync.messages.fields import plan_of

CLASSES = [replies.ControlReply, *replies.ControlReply.__subclasses__()]
GARBAGE = [None, True, -1, 1e300, float("nan"), "", "text", [], [None], [[1]], [{}], {}, {"a": []}]


@each("kind", CLASSES)
def test_nothing_in_a_reply_can_fail(kind):
    """What the CLI does not say, and anything of a wrong type, is None, empty or False."""
    nothing = vars(kind())
    assert not any(nothing.values())
    keys = {key: place for place, fields in plan_of(kind).places for _, _, key, _ in fields}
    for garbage in GARBAGE:
        for key, within in keys.items():
            raw = {within: {key: garbage}} if within else {key: garbage}
            for reply in (kind(raw), kind({within: garbage}), kind(garbage)):
                for name, value in vars(reply).items():
                    assert nothing[name] is None or type(value) is type(nothing[name]), name
                    assert name == "raw" or name in repr(reply)


@each("kind", CLASSES)
def test_a_reply_is_a_value(kind):
    """It is compared by its fields, and cannot be changed."""
    reply = kind({"a": 1})
    assert pickle.loads(pickle.dumps(reply)) == reply == kind({"a": 1})
    assert (reply["a"], reply.raw) == (1, {"a": 1})
    with pytest.raises(KeyError):
        reply["b"]
    for name in vars(reply):
        with pytest.raises(AttributeError, match="cannot assign"):
            setattr(reply, name, 1)


def test_servers_are_listed_once():
    """And their tools: some CLIs repeat both."""
    files = {
        "name": "files",
        "status": "connected",
        "tools": [{"name": "read"}, "list", "read"],
        "serverInfo": {"name": "fs", "version": "1.2"},
    }
    status = claude_sync.McpStatus({"mcpServers": [files, {"name": "web"}, {"name": "files"}]})
    assert [server.name for server in status.servers] == ["files", "web"]
    server = status.get("files")
    assert (server.status, server.tools) == ("connected", ("read", "list"))
    assert (server.server_name, server.server_version) == ("fs", "1.2")
    assert status.get("else") is None
    change = claude_sync.McpServersChange(
        {"added": ["a"], "errors": {"a": "no such file", "b": {"message": "no"}, "c": None}}
    )
    assert change.errors == {"a": "no such file", "b": "no", "c": ""}
    assert (change.added, change.removed) == (("a",), ())


def test_fields_are_found_where_the_wire_has_them():
    """Within other objects, in lists of objects, and in camelCase."""
    session = {"total_cost_usd": 0.25, "total_duration_ms": 1500, "model_usage": {"opus": {}}}
    report = claude_sync.UsageReport({"session": session})
    assert (report.cost_usd, report.duration_ms) == (0.25, 1500)
    assert report.model_usage == {"opus": {}}
    settings = claude_sync.SettingsReport(
        {
            "sources": [{"source": "flagSettings", "settings": {"model": "haiku"}}],
            "applied": {"model": "claude-haiku", "effort": None},
        }
    )
    assert (settings.model, settings.effort) == ("claude-haiku", None)
    assert settings.sources[0].settings == {"model": "haiku"}
    category = {"id": "messages", "name": "Messages", "tokens": 12, "kind": "used"}
    usage = claude_sync.ContextUsage({"totalTokens": 12, "categories": [category]})
    assert (usage.total_tokens, usage.max_tokens, usage.categories[0].tokens) == (12, None, 12)
    rewind = claude_sync.RewindReport({"canRewind": True, "filesChanged": ["a"], "deletions": 2})
    assert (rewind.can_rewind, rewind.files_changed, rewind.deletions) == (True, ("a",), 2)
    assert str(claude_sync.SideAnswer({"response": "seven"})) == "seven"
    model = claude_sync.ModelInfo({"supportedEffortLevels": ["low"], "displayName": "Opus"})
    assert (model.effort_levels, model.display_name) == (("low",), "Opus")
