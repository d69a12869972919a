"""JSON objects to messages: never an exception, whatever the CLI sends."""

from hypothesis import given, settings
from hypothesis import strategies as st

from claude_sync.messages.base import SUBTYPES, TYPES, Message, _Open
from claude_sync.messages.blocks import BLOCKS
from claude_sync.messages.parsing import parse

WORDS = """
agent_id capabilities code compact_metadata content data duration_ms error errors event event_type
id input isReplay isSynthetic is_error kind media_type message metadata model modelUsage name
num_turns origin parent_tool_use_id patch payload permission_denials rate_limit_info resetsAt result
session_id signature source status stop_reason subagent_type subtype task_id tasks text thinking
title tool_use_id tool_use_result tools total_cost_usd type url usage user_message_uuid
user_message_uuids utilization uuid
"""
NAMES = WORDS.split()
STARTS = [
    *({"type": kind} for kind in sorted(TYPES)),
    *({"type": "system", "subtype": subtype} for subtype in sorted(SUBTYPES)),
]
KINDS = sorted({*BLOCKS, "web_search_tool_result", "mcp_tool_result", "x_error", "base64", "url"})
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.just(10**400),
        st.floats(),
        st.text(max_size=5),
        st.sampled_from(KINDS),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
        st.builds(
            lambda kind, fields: {**fields, "type": kind},
            st.sampled_from(KINDS),
            st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
        ),
    ),
    max_leaves=12,
)
FIELDS = st.dictionaries(st.sampled_from(NAMES), JSON, max_size=8)


def properties_of(thing):
    """The value of every property of *thing*."""
    names = [name for name in dir(type(thing)) if not name.startswith("_")]
    if isinstance(thing, _Open):
        names += [name for name in thing.raw if not name.startswith("_")]
    return {name: getattr(thing, name) for name in names}


def check(raw):
    """*raw* becomes a message that keeps it and answers every question about itself."""
    message = parse(raw)
    assert isinstance(message, Message)
    assert message.raw is raw
    for value in properties_of(message).values():
        if isinstance(value, tuple):
            for item in value:
                properties_of(item)


@settings(max_examples=150, deadline=None, database=None)
@given(st.sampled_from([*STARTS, {}]), FIELDS)
def test_nothing_makes_parsing_fail(start, fields):
    """Any JSON object is some message, known types with any fields among them."""
    check({**fields, **start})


@settings(max_examples=60, deadline=None, database=None)
@given(st.sampled_from(["assistant", "user"]), st.lists(JSON, max_size=4))
def test_no_block_is_dropped(kind, content):
    """There are as many blocks as the CLI sent, whatever they are."""
    message = parse({"type": kind, "message": {"content": content}})
    assert len(message.content) == len(content)
    for block, raw in zip(message.content, content):
        assert block.raw is raw or not isinstance(raw, dict)
        properties_of(block)
